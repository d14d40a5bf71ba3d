import type { Findings } from "../report.js";
import type { Effort } from "../rounds.js";

/** What a section gets. */
export interface Setting {
  readonly effort: Effort;
  /** How long the soak takes. */
  readonly minutes: number;
  /** Where it may keep files, also from one run to the next. */
  readonly folder: string;
  /** Tells the person who waits what is going on. */
  readonly progress: (line: string) => void;
}

/** A part of the benchmark that can be run alone. */
export type Section = (setting: Setting) => Promise<Findings>;

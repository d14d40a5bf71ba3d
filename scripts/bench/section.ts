import type { Findings } from "./report.js";

/** How long to measure. */
export interface Effort {
  readonly rounds: number;
  /** One subject in one round. */
  readonly roundMs: number;
  /** Load on each subject before the first round, for the compiler and the caches. */
  readonly warmUpMs: number;
}

/** What a section gets. */
export interface Setting {
  readonly effort: Effort;
  /** Folder for files, kept from run to run. */
  readonly folder: string;
  readonly progress: (line: string) => void;
  /** Stops what the section started when it ends, in reverse order. */
  readonly keep: <T extends { stop(): Promise<void> }>(started: T) => T;
}

/** A part of the benchmark that can run alone. */
export type Section = (setting: Setting) => Promise<Findings>;

import type { Build } from "@routewright/runtime/server";
import { parseRunResults, type RunResultsReading } from "../manifest/run-results.js";
import { isAddress } from "../manifest/source.js";
import { FollowedSource } from "./followed-source.js";
import { follow } from "./schedule.js";

export interface RunResultsOptions {
  /** File or http(s) address of dbt's `run_results.json`. */
  readonly source: string;
  readonly intervalSeconds: number;
  /** Takes one line that says why nothing was read; a problem that lasts is told once. */
  readonly onProblem: (problem: string) => void;
}

/** Takes what an invocation has built. One may build a part of the project only: what others have built still holds. */
export type OnBuilds = (builds: readonly Build[]) => void;

/** A `run_results.json` that may change. */
export interface RunResults {
  /**
   * Gives at once what has been read already, and from then on what is new: the source is looked at every interval, a
   * local file also as soon as it changes. Returns what ends it.
   */
  follow(onBuilds: OnBuilds): () => Promise<void>;
}

/**
 * Looks at a local file, so that the first answer of a server has its version; an address may keep one waiting, and is
 * left to `follow`.
 */
export async function openRunResults(options: RunResultsOptions): Promise<RunResults> {
  const { source, intervalSeconds } = options;
  const reader = new Reader(options);
  const early = isAddress(source) ? [] : await reader.news();
  return {
    follow(onBuilds) {
      if (early.length > 0) onBuilds(early);
      const look = async (): Promise<void> => {
        const builds = await reader.news();
        if (builds.length > 0) onBuilds(builds);
      };
      return follow({ source, intervalSeconds, look });
    },
  };
}

class Reader {
  readonly #source: FollowedSource;
  readonly #onProblem: (problem: string) => void;
  /** Hash of what was last read. */
  #known: string | null = null;
  /** The problem that there is, as it was told. */
  #told: string | null = null;
  #hasBuilt = false;

  constructor({ source, onProblem }: RunResultsOptions) {
    this.#source = new FollowedSource(source);
    this.#onProblem = onProblem;
  }

  /** The builds of a file that is new. */
  async news(): Promise<readonly Build[]> {
    const look = await this.#source.look(this.#known);
    if (look.kind !== "text") return this.#tell(look.kind === "error" ? look.detail : null);
    this.#known = look.hash;
    const reading = parseRunResults(look.text, look.shown);
    this.#hasBuilt ||= reading.ok && reading.builds.length > 0;
    this.#tell(reading.ok && this.#hasBuilt ? null : problemOf(reading, look.shown));
    return reading.ok ? reading.builds : [];
  }

  #tell(problem: string | null): readonly Build[] {
    if (problem !== null && problem !== this.#told) this.#onProblem(problem);
    this.#told = problem;
    return [];
  }
}

/** A file without a build is no problem once others had some: it is a test's, or of a run that failed. */
function problemOf(reading: RunResultsReading, shown: string): string {
  if (!reading.ok) return reading.problem;
  const command = reading.command === null ? "" : ` (it is of \`dbt ${reading.command.slice(0, 40)}\`)`;
  return `${shown} tells of no successful build${command}: give the one that \`dbt build\` writes.`;
}

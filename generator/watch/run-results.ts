import type { Build, TestRun } from "@routewright/runtime/server";
import { parseRunResults } from "../manifest/run-results.js";
import { isAddress } from "../manifest/source.js";
import { BuildMemory } from "./build-memory.js";
import { FollowedSource } from "./followed-source.js";
import { follow } from "./schedule.js";

export interface RunResultsOptions {
  /** File or http(s) address of dbt's `run_results.json`. */
  readonly source: string;
  readonly intervalSeconds: number;
  /** Takes one line that says why nothing was read; a problem that lasts is told once. */
  readonly onProblem: (problem: string) => void;
  /** File that keeps the builds for the next start. */
  readonly memory: string;
  /** Takes one line that says why they cannot be kept. */
  readonly onNotKept: (problem: string) => void;
}

/** Takes what an invocation has built. One may build a part of the project only: what others have built still holds. */
export type OnBuilds = (builds: readonly Build[], tests: readonly TestRun[]) => void;

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
  const early = isAddress(source) ? NOTHING : await reader.poll();
  return {
    follow(onBuilds) {
      const pass = ({ builds, tests }: Results): void => {
        if (builds.length + tests.length > 0) onBuilds(builds, tests);
      };
      pass(early);
      const look = async (): Promise<void> => pass(await reader.poll());
      return follow({ source, intervalSeconds, look });
    },
  };
}

interface Results {
  readonly builds: readonly Build[];
  readonly tests: readonly TestRun[];
}

const NOTHING: Results = { builds: [], tests: [] };

class Reader {
  readonly #options: RunResultsOptions;
  readonly #source: FollowedSource;
  readonly #memory: BuildMemory;
  /** Results of earlier runs of the server, until the source has been read once: it may report newer ones. */
  #remembered: Results;
  #lastProblem: string | null = null;
  #isKept = true;

  constructor(options: RunResultsOptions) {
    this.#options = options;
    this.#source = new FollowedSource(options.source);
    this.#memory = new BuildMemory(options.memory, options.source);
    const { builds, tests } = this.#memory;
    this.#remembered = { builds, tests };
  }

  /** The results that the caller does not know yet. */
  async poll(): Promise<Results> {
    const look = await this.#source.poll(this.#memory.hash);
    if (look.kind === "error") return this.#report(look.detail);
    if (look.kind === "unchanged") {
      this.#report(null);
      return this.#takeRemembered();
    }
    const reading = parseRunResults(look.text, look.shown);
    if (!reading.ok) return this.#report(reading.problem);
    this.#record(look.hash, reading);
    this.#report(this.#memory.builds.some(({ failed }) => !failed) ? null : noBuild(reading, look.shown));
    const { builds, tests } = this.#takeRemembered();
    return { builds: [...builds, ...reading.builds], tests: [...tests, ...reading.tests] };
  }

  #takeRemembered(): Results {
    const remembered = this.#remembered;
    this.#remembered = NOTHING;
    return remembered;
  }

  #record(hash: string, { builds, tests }: Results): void {
    try {
      this.#memory.record(hash, builds, tests);
      this.#isKept = true;
    } catch (error) {
      if (this.#isKept) this.#options.onNotKept(`${(error as Error).message}. ${NOT_KEPT}`);
      this.#isKept = false;
    }
  }

  #report(problem: string | null): Results {
    if (problem !== null && problem !== this.#lastProblem) this.#options.onProblem(problem);
    this.#lastProblem = problem;
    return NOTHING;
  }
}

const NOT_KEPT = "After a restart, versions are known from the builds in run_results.json alone.";

/** A file without a build is no problem once others had some: it is a test's, or of a run that failed. */
function noBuild({ command }: { readonly command: string | null }, shown: string): string {
  const written = command === null ? "" : ` (it is of \`dbt ${command.slice(0, 40)}\`)`;
  return `${shown} reports no successful build${written}: give the one that \`dbt build\` writes.`;
}

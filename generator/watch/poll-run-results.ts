import type { NodeBuild, TestRun } from "@routewright/runtime/server";
import { parseRunResults } from "../manifest/run-results.js";
import { isAddress } from "../manifest/source.js";
import { PolledSource, startPolling } from "./poll.js";

interface RunResultsOptions {
  /** File or http(s) address of dbt's `run_results.json`. */
  readonly source: string;
  readonly intervalSeconds: number;
  /** Receives one line that says why nothing was read; a lasting problem is reported once. */
  readonly onProblem: (problem: string) => void;
}

/** Receives the new results of an invocation, which may be of a part of the project: earlier ones of other nodes hold. */
type OnBuilds = (builds: readonly NodeBuild[], tests: readonly TestRun[]) => void;

/** A `run_results.json` that is polled. */
export interface RunResults {
  /**
   * Reports the results read so far, then new ones: the source is polled at every interval, a local file also when it
   * changes. Returns the function that stops this.
   */
  follow(onBuilds: OnBuilds): () => Promise<void>;
}

/**
 * Reads a local file at once, so that a server's first response has its data version. An address may be slow: `follow`
 * reads it.
 */
export async function openRunResults(options: RunResultsOptions): Promise<RunResults> {
  const { source, intervalSeconds } = options;
  const reader = new Reader(options);
  const first = isAddress(source) ? NOTHING : await reader.poll();
  return {
    follow(onBuilds) {
      const report = ({ builds, tests }: Results): void => {
        if (builds.length + tests.length > 0) onBuilds(builds, tests);
      };
      report(first);
      return startPolling({ source, intervalSeconds, poll: async () => report(await reader.poll()) });
    },
  };
}

interface Results {
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
}

const NOTHING: Results = { builds: [], tests: [] };

class Reader {
  readonly #options: RunResultsOptions;
  readonly #source: PolledSource;
  /** Of the results that were read last. */
  #hash: string | null = null;
  #hasBuild = false;
  #lastProblem: string | null = null;

  constructor(options: RunResultsOptions) {
    this.#options = options;
    this.#source = new PolledSource(options.source, "`dbt build`");
  }

  /** The results that were not reported yet. */
  async poll(): Promise<Results> {
    const polled = await this.#source.poll(this.#hash);
    if (polled.kind === "error") return this.#report(polled.detail);
    if (polled.kind === "unchanged") return this.#report(null);
    const reading = parseRunResults(polled.text, polled.location);
    if (!reading.ok) return this.#report(reading.problem);
    this.#hash = polled.hash;
    this.#hasBuild ||= reading.builds.some(({ failed }) => !failed);
    this.#report(this.#hasBuild ? null : noBuild(reading, polled.location));
    return reading;
  }

  #report(problem: string | null): Results {
    if (problem !== null && problem !== this.#lastProblem) this.#options.onProblem(problem);
    this.#lastProblem = problem;
    return NOTHING;
  }
}

/** Reported only while no build is known: later a file may come from `dbt test`, or from a failed run. */
function noBuild({ command }: { readonly command: string | null }, location: string): string {
  const writer = command === null ? "" : ` (\`dbt ${command.slice(0, 40)}\` wrote it)`;
  return `${location} reports no successful build${writer}: give the one that \`dbt build\` writes.`;
}

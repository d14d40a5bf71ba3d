import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Outcome } from "@routewright/runtime/model";
import { BuildRecords, type FreshnessCheck, type NodeBuild, type TestRun } from "@routewright/runtime/server";
import { parseFreshnessResults } from "../manifest/freshness-results.js";
import { noBuild, parseRunResults } from "../manifest/run-results.js";
import { FRESHNESS_WRITER, RUN_RESULTS_WRITER, SOURCES_WRITER } from "../artifacts/artifacts.js";
import { PolledSource } from "../artifacts/polled-source.js";
import { isAddress } from "../artifacts/source.js";
import type { ArtifactAccess } from "../artifacts/store.js";
import { type Polling, startPolling } from "./poll.js";

/** One of dbt's files of results: what writes it, how it is read, and why the results so far tell nothing. */
interface ResultsFile {
  readonly writer: string;
  readonly parse: (text: string, location: string) => Outcome<Results & { readonly command: string | null }>;
  readonly problemOf: (known: Results, command: string | null, location: string) => string | null;
}

const ofChecks = (writer: string): ResultsFile => ({
  writer,
  parse: (text, location) => {
    const checks = parseFreshnessResults(text, location);
    return checks.ok ? { ...checks, value: { ...NOTHING, checks: checks.value, command: null } } : checks;
  },
  problemOf: () => null,
});

export const RESULTS_FILES = {
  runResults: {
    writer: RUN_RESULTS_WRITER,
    parse: (text, location) => {
      const results = parseRunResults(text, location);
      return results.ok ? { ...results, value: { ...results.value, checks: [] } } : results;
    },
    problemOf: ({ builds }, command, location) => noBuild({ builds, command }, location),
  },
  sources: ofChecks(SOURCES_WRITER),
  freshness: ofChecks(FRESHNESS_WRITER),
} as const satisfies Readonly<Record<string, ResultsFile>>;

interface RunResultsOptions {
  /** What the file is; a `run_results.json` by default. */
  readonly file?: ResultsFile;
  /** File or address of it. */
  readonly source: string;
  /** It may be absent, for as long as it takes. */
  readonly isOptional?: boolean;
  readonly access?: ArtifactAccess;
  readonly intervalSeconds: number;
  /** Receives one line that says why nothing was read; a lasting problem is reported once. */
  readonly onProblem: (problem: string) => void;
  /** File that stores the builds for the next start. */
  readonly storeFile: string;
  /** Receives one line that says why they cannot be stored. */
  readonly onSaveFailed: (problem: string) => void;
}

/** Receives the new results of an invocation, which may be of a part of the project: earlier ones of other nodes hold. */
type OnBuilds = (
  builds: readonly NodeBuild[],
  tests: readonly TestRun[],
  checks: readonly FreshnessCheck[],
) => void;

/** A `run_results.json` that is polled. */
export interface RunResults {
  /**
   * Reports the results read so far, then new ones: the source is polled at every interval, a local file also when it
   * changes.
   */
  follow(onBuilds: OnBuilds): Polling;
}

/**
 * Reads a local file at once, so that a server's first response has its data version. An address may be slow: `follow`
 * reads it.
 */
export async function openRunResults(options: RunResultsOptions): Promise<RunResults> {
  const { source, intervalSeconds } = options;
  const reader = new ResultsReader(options);
  const first = isAddress(source) ? NOTHING : await reader.poll();
  return {
    follow(onBuilds) {
      const report = ({ builds, tests, checks }: Results): void => {
        if (builds.length + tests.length + checks.length > 0) onBuilds(builds, tests, checks);
      };
      report(first);
      return startPolling({
        sources: [source],
        intervalSeconds,
        poll: async () => report(await reader.poll()),
      });
    },
  };
}

interface Results {
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
  readonly checks: readonly FreshnessCheck[];
}

const NOTHING: Results = { builds: [], tests: [], checks: [] };

class ResultsReader {
  readonly #options: RunResultsOptions;
  readonly #file: ResultsFile;
  readonly #source: PolledSource;
  readonly #store: BuildStore;
  /** Results of earlier runs of the server, until the first poll reports them. */
  #stored: Results;
  #lastProblem: string | null = null;
  #isSaved = true;

  constructor(options: RunResultsOptions) {
    this.#options = options;
    this.#file = options.file ?? RESULTS_FILES.runResults;
    this.#source = new PolledSource(options.source, this.#file.writer, options.access);
    this.#store = new BuildStore(options.storeFile, options.source);
    this.#stored = this.#store.results;
  }

  /** The results that were not reported yet. */
  async poll(): Promise<Results> {
    const polled = await this.#source.poll(this.#store.hash);
    if (polled.kind === "error" || (polled.kind === "missing" && this.#options.isOptional !== true))
      return this.#report(polled.detail);
    if (polled.kind !== "text") {
      this.#report(null);
      return this.#takeStored();
    }
    const reading = this.#file.parse(polled.text, polled.location);
    if (!reading.ok) return this.#report(reading.problems.join(" "));
    this.#record(polled.hash, reading.value);
    // Reported only while no build is known: later a file may come from `dbt test`, or from a failed run.
    this.#report(this.#file.problemOf(this.#store.results, reading.value.command, polled.location));
    const { builds, tests, checks } = this.#takeStored();
    return {
      builds: [...builds, ...reading.value.builds],
      tests: [...tests, ...reading.value.tests],
      checks: [...checks, ...reading.value.checks],
    };
  }

  #takeStored(): Results {
    const stored = this.#stored;
    this.#stored = NOTHING;
    return stored;
  }

  #record(hash: string, results: Results): void {
    try {
      this.#store.record(hash, results);
      this.#isSaved = true;
    } catch (error) {
      if (this.#isSaved) this.#options.onSaveFailed(`${(error as Error).message}. ${NOT_SAVED}`);
      this.#isSaved = false;
    }
  }

  #report(problem: string | null): Results {
    if (problem !== null && problem !== this.#lastProblem) this.#options.onProblem(problem);
    this.#lastProblem = problem;
    return NOTHING;
  }
}

const NOT_SAVED = "After a restart, versions are known from the builds in run_results.json alone.";

/**
 * Stores the last build of each node and the last result of each test in a file: `dbt test` overwrites the
 * `run_results.json` of the build before it, so a server that restarts then would know no build.
 */
class BuildStore {
  readonly #file: string;
  readonly #source: string;
  readonly #builds = new BuildRecords();
  /** Hash of the run results that were read last. */
  hash: string | null;

  /** `source`: location of the run results. Stored builds of another source are ignored. */
  constructor(file: string, source: string) {
    this.#file = file;
    // Hashed, as an address may contain a password.
    this.#source = createHash("sha256").update(source).digest("hex");
    const { hash, builds, tests, checks } = read(file, this.#source);
    this.hash = hash;
    this.#builds.record(builds, tests, checks);
  }

  get results(): Results {
    const { builds, tests, checks } = this.#builds;
    return { builds: [...builds.values()], tests: [...tests.values()], checks: [...checks.values()] };
  }

  /**
   * Records and stores new results.
   *
   * @throws when the file cannot be written
   */
  record(hash: string, { builds, tests, checks }: Results): void {
    this.hash = hash;
    this.#builds.record(builds, tests, checks);
    mkdirSync(dirname(this.#file), { recursive: true });
    const temporary = `${this.#file}.${String(process.pid)}`;
    writeFileSync(temporary, JSON.stringify({ source: this.#source, hash, ...this.results }));
    renameSync(temporary, this.#file);
  }
}

type StoredResults = Results & { readonly hash: string | null };

/** Files of earlier versions have no checks. */
type StoredByAnyVersion = Omit<StoredResults, "checks"> & Partial<Pick<StoredResults, "checks">>;

/** A missing, damaged or older file counts as empty. */
function read(file: string, source: string): StoredResults {
  try {
    const stored = JSON.parse(readFileSync(file, "utf8")) as StoredByAnyVersion & {
      readonly source: unknown;
    };
    const { hash, builds, tests, checks = [] } = stored;
    if (stored.source === source && [builds, tests, checks].every(Array.isArray))
      return { hash, builds, tests, checks };
  } catch {
    // Said above.
  }
  return { hash: null, ...NOTHING };
}

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { BuildRecords, type NodeBuild, type TestRun } from "@routewright/runtime/server";

/**
 * Stores the last build of each node and the last result of each test in a file: `dbt test` overwrites the
 * `run_results.json` of the build before it, so a server that restarts then would know no build.
 */
export class BuildStore {
  readonly #file: string;
  readonly #source: string;
  readonly #builds = new BuildRecords();
  #hash: string | null = null;

  /** `source`: location of the run results. Stored builds of another source are ignored. */
  constructor(file: string, source: string) {
    this.#file = file;
    // Hashed, as an address may contain a password.
    this.#source = createHash("sha256").update(source).digest("hex");
    const { hash, builds, tests } = read(file, this.#source);
    this.#hash = hash;
    this.#builds.record(builds, tests);
  }

  /** Hash of the run results that were read last. */
  get hash(): string | null {
    return this.#hash;
  }

  get builds(): readonly NodeBuild[] {
    return this.#builds.allBuilds;
  }

  get tests(): readonly TestRun[] {
    return this.#builds.allTests;
  }

  /**
   * Records and stores new results.
   *
   * @throws when the file cannot be written
   */
  record(hash: string, builds: readonly NodeBuild[], tests: readonly TestRun[]): void {
    this.#hash = hash;
    this.#builds.record(builds, tests);
    mkdirSync(dirname(this.#file), { recursive: true });
    const temporary = `${this.#file}.${String(process.pid)}`;
    const { builds: allBuilds, tests: allTests } = this;
    writeFileSync(
      temporary,
      JSON.stringify({ source: this.#source, hash, builds: allBuilds, tests: allTests }),
    );
    renameSync(temporary, this.#file);
  }
}

interface StoredResults {
  readonly hash: string | null;
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
}

/** A missing, damaged or older file counts as empty. */
function read(file: string, source: string): StoredResults {
  try {
    const stored = JSON.parse(readFileSync(file, "utf8")) as StoredResults & { readonly source: unknown };
    const { hash, builds, tests } = stored;
    if (stored.source === source && Array.isArray(builds) && Array.isArray(tests))
      return { hash, builds, tests };
  } catch {
    // Said above.
  }
  return { hash: null, builds: [], tests: [] };
}

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { BuildRecords, type NodeBuild, type TestRun } from "@routewright/runtime/server";
import { isObject } from "../manifest/json.js";

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

/** A missing or damaged file counts as empty. */
function read(file: string, source: string): StoredResults {
  const nothing = { hash: null, builds: [], tests: [] };
  try {
    const json = JSON.parse(readFileSync(file, "utf8")) as unknown;
    if (!isObject(json) || json["source"] !== source || !Array.isArray(json["builds"])) return nothing;
    const { hash, builds, tests } = json;
    // A file without tests comes from an earlier version: without the hash, the source is read again.
    if (!Array.isArray(tests)) return { ...nothing, builds: builds.flatMap(buildOf) };
    return {
      hash: typeof hash === "string" ? hash : null,
      builds: builds.flatMap(buildOf),
      tests: tests.flatMap(testOf),
    };
  } catch {
    return nothing;
  }
}

function buildOf(json: unknown): readonly NodeBuild[] {
  if (!isObject(json)) return [];
  const { node, completedAt, failed, freshAt, rows = null } = json;
  if (typeof node !== "string" || typeof completedAt !== "number") return [];
  if (rows !== null && typeof rows !== "number") return [];
  return [
    {
      node,
      completedAt,
      rows,
      ...(failed === true && { failed }),
      ...(typeof freshAt === "number" && { freshAt }),
    },
  ];
}

function testOf(json: unknown): readonly TestRun[] {
  if (!isObject(json)) return [];
  const { test, status, completedAt, failures } = json;
  const known = (["pass", "warn", "fail", "error"] as const).find((each) => each === status);
  if (typeof test !== "string" || known === undefined || typeof completedAt !== "number") return [];
  return [{ test, status: known, completedAt, failures: typeof failures === "number" ? failures : null }];
}

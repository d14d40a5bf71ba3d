import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Build, BuildTimes, type TestRun } from "@routewright/runtime/server";
import { isObject, type Json } from "../manifest/json.js";

/**
 * The last build of each node and the last result of each test, kept in a file: `dbt test` overwrites the `run_results.json` of the build before it, and a
 * server that restarts after that would know of no build.
 */
export class BuildMemory {
  readonly #file: string;
  readonly #source: string;
  readonly #builds = new BuildTimes();
  #hash: string | null = null;

  /** `source`: where the run results come from. Builds that were read from another source do not count. */
  constructor(file: string, source: string) {
    this.#file = file;
    // An address may hold a password.
    this.#source = createHash("sha256").update(source).digest("hex");
    const { hash, builds, tests } = read(file, this.#source);
    this.#hash = hash;
    this.#builds.record(builds, tests);
  }

  /** Hash of the run results that were read last. */
  get hash(): string | null {
    return this.#hash;
  }

  get builds(): readonly Build[] {
    return this.#builds.all;
  }

  get tests(): readonly TestRun[] {
    return this.#builds.allTests;
  }

  /**
   * Remembers what run results say.
   *
   * @throws when the file cannot be written
   */
  record(hash: string, builds: readonly Build[], tests: readonly TestRun[]): void {
    this.#hash = hash;
    this.#builds.record(builds, tests);
    mkdirSync(dirname(this.#file), { recursive: true });
    const unfinished = `${this.#file}.${String(process.pid)}`;
    const { builds: allBuilds, tests: allTests } = this;
    writeFileSync(
      unfinished,
      JSON.stringify({ source: this.#source, hash, builds: allBuilds, tests: allTests }),
    );
    renameSync(unfinished, this.#file);
  }
}

interface Kept {
  readonly hash: string | null;
  readonly builds: readonly Build[];
  readonly tests: readonly TestRun[];
}

/** A missing or damaged file counts as empty. */
function read(file: string, source: string): Kept {
  const nothing = { hash: null, builds: [], tests: [] };
  try {
    const json = JSON.parse(readFileSync(file, "utf8")) as Json;
    if (!isObject(json) || json["source"] !== source || !Array.isArray(json["builds"])) return nothing;
    const { hash, builds, tests } = json;
    // A file without tests is of an earlier version: the source is read again for them.
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

function buildOf(json: Json): readonly Build[] {
  if (!isObject(json)) return [];
  const { node, completedAt, failed, rows = null } = json;
  if (typeof node !== "string" || typeof completedAt !== "number") return [];
  if (rows !== null && typeof rows !== "number") return [];
  return [{ node, completedAt, rows, ...(failed === true && { failed }) }];
}

function testOf(json: Json): readonly TestRun[] {
  if (!isObject(json)) return [];
  const { test, status, completedAt, failures } = json;
  const known = (["pass", "warn", "fail", "error"] as const).find((each) => each === status);
  if (typeof test !== "string" || known === undefined || typeof completedAt !== "number") return [];
  return [{ test, status: known, completedAt, failures: typeof failures === "number" ? failures : null }];
}

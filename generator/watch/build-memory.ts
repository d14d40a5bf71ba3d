import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Build, BuildTimes } from "@routewright/runtime/server";
import { isObject, type Json } from "../manifest/json.js";

/**
 * The last build of each node, kept in a file: `dbt test` overwrites the `run_results.json` of the build before it, and a
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
    const { hash, builds } = read(file, this.#source);
    this.#hash = hash;
    this.#builds.record(builds);
  }

  /** Hash of the run results that were read last. */
  get hash(): string | null {
    return this.#hash;
  }

  get builds(): readonly Build[] {
    return this.#builds.all;
  }

  /**
   * Remembers what run results say.
   *
   * @throws when the file cannot be written
   */
  record(hash: string, builds: readonly Build[]): void {
    this.#hash = hash;
    this.#builds.record(builds);
    mkdirSync(dirname(this.#file), { recursive: true });
    const unfinished = `${this.#file}.${String(process.pid)}`;
    writeFileSync(unfinished, JSON.stringify({ source: this.#source, hash, builds: this.builds }));
    renameSync(unfinished, this.#file);
  }
}

/** A missing or damaged file counts as empty. */
function read(
  file: string,
  source: string,
): { readonly hash: string | null; readonly builds: readonly Build[] } {
  const nothing = { hash: null, builds: [] };
  try {
    const json = JSON.parse(readFileSync(file, "utf8")) as Json;
    if (!isObject(json) || json["source"] !== source || !Array.isArray(json["builds"])) return nothing;
    const { hash, builds } = json;
    return { hash: typeof hash === "string" ? hash : null, builds: builds.flatMap(buildOf) };
  } catch {
    return nothing;
  }
}

function buildOf(json: Json): readonly Build[] {
  if (!isObject(json)) return [];
  const { node, completedAt, failed } = json;
  if (typeof node !== "string" || typeof completedAt !== "number") return [];
  return [{ node, completedAt, ...(failed === true && { failed }) }];
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "@routewright/runtime/server";
import type { RunQuery } from "../verify/relations.js";
import { DATA_DIR } from "./command.js";

/**
 * Runs `work` with the address of a database: `url`, or the embedded one where that is null, started unless a server runs
 * it. Returns null where there is no embedded database either: starting one only to find it empty takes a while.
 */
export async function withDatabase<Result>(
  url: string | null,
  work: (url: string) => Promise<Result>,
): Promise<Result | null> {
  if (url !== null) return work(url);
  if (!existsSync(join(DATA_DIR, "postgres"))) return null;
  const embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR });
  try {
    return await work(embedded.url);
  } finally {
    await embedded.stop();
  }
}

type QueryResult<Value> =
  | { readonly ok: true; readonly value: Value }
  /** The database cannot be reached or read. */
  | { readonly ok: false; readonly problem: string };

/** Runs `work` on one connection to the same database, and reports a failure instead of throwing it. */
export async function queryDatabase<Value>(
  url: string | null,
  work: (query: RunQuery) => Promise<Value>,
): Promise<QueryResult<Value>> {
  const result = await withDatabase(url, (address) => connected(address, work));
  return result ?? { ok: false, problem: NO_DATABASE };
}

const NO_DATABASE =
  "There is no database to compare with: set DATABASE_URL, or run `routewright serve` once.";

const TIMEOUT_MS = 30_000;

async function connected<Value>(
  url: string,
  work: (query: RunQuery) => Promise<Value>,
): Promise<QueryResult<Value>> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  // A lost connection rejects the query; without a listener the process would end.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const query: RunQuery = async (text, values = []) =>
      (await client.query(text, [...values])).rows as readonly unknown[];
    return { ok: true, value: await work(query) };
  } catch (error) {
    // An address may hold a password: only the server's own words are shown.
    return { ok: false, problem: `The database cannot be read: ${(error as Error).message}` };
  } finally {
    await client.end().catch(() => undefined);
  }
}

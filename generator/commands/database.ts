import { existsSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { clickhouseQuery, clickhouseRelations } from "../verify/clickhouse-relations.js";
import type { ReadRelations, RunQuery } from "../verify/relations.js";
import { DATA_DIR } from "./command.js";
import { type ClickhouseAddress, messageOf } from "@routewright/runtime/model";

/**
 * Calls `work` with a database URL: `url`, or, if that is null, the embedded database's, which is started if it does not
 * run yet. Returns null if no embedded database was ever created: a new one would be empty.
 */
export async function withDatabase<Result>(
  url: string | null,
  work: (url: string) => Promise<Result>,
): Promise<Result | null> {
  if (url !== null) return work(url);
  if (!existsSync(join(DATA_DIR, "postgres"))) return null;
  // A command that has a URL does not load the server.
  const { startEmbeddedPostgres } = await import("@routewright/runtime/server");
  const embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR });
  try {
    return await work(embedded.url);
  } finally {
    await embedded.stop();
  }
}

export type DatabaseOutcome<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly problem: string };

/** Calls `work` with a connection to the database of `withDatabase`. A failure is a problem, not an exception. */
export async function queryDatabase<Value>(
  url: string | null,
  work: (query: RunQuery) => Promise<Value>,
): Promise<DatabaseOutcome<Value>> {
  const result = await withDatabase(url, (databaseUrl) => withConnection(databaseUrl, work));
  return result ?? { ok: false, problem: NO_DATABASE };
}

const NO_DATABASE =
  "There is no database to compare with: set DATABASE_URL, or run `routewright serve` once.";

/** Calls `work` with what reads the relations of a ClickHouse, and what queries it. A failure is a problem, not an exception. */
export async function readClickhouse<Value>(
  address: ClickhouseAddress,
  work: (read: ReadRelations, query: RunQuery) => Promise<Value>,
): Promise<DatabaseOutcome<Value>> {
  try {
    return { ok: true, value: await work(clickhouseRelations(address), clickhouseQuery(address)) };
  } catch (error) {
    return { ok: false, problem: `Reading the database failed: ${messageOf(error)}. ${REMEDY}` };
  }
}

const TIMEOUT_MS = 30_000;

const REMEDY =
  "Check DATABASE_URL, that the server runs, and that its user may connect and read the schemas.";

async function withConnection<Value>(
  url: string,
  work: (query: RunQuery) => Promise<Value>,
): Promise<DatabaseOutcome<Value>> {
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
    // Without the URL, which may contain a password.
    return { ok: false, problem: `Reading the database failed: ${messageOf(error)}. ${REMEDY}` };
  } finally {
    await client.end().catch(() => undefined);
  }
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { CLICKHOUSE_NAMES, clickhouseQuery, clickhouseRelations } from "../verify/clickhouse-relations.js";
import { clickhouseSources } from "../verify/clickhouse-sources.js";
import { postgresSources } from "../verify/postgres-sources.js";
import type { ReadSource } from "../verify/build-promises.js";
import {
  POSTGRES_NAMES,
  postgresRelations,
  type ReadRelations,
  type RunQuery,
  type SqlNames,
} from "../verify/relations.js";
import { DATA_DIR } from "./command.js";
import {
  type ClickhouseAddress,
  clickhouseUrl,
  failed,
  messageOf,
  type Outcome,
  succeeded,
} from "@routewright/runtime/model";
import type { Warehouse } from "@routewright/runtime/server";

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

/** Which roll-ups its statements may read; none without it. */
interface WarehouseOptions {
  readonly rollUpVersion: (node: string) => string;
}

/** A database to compare with. */
export interface LiveDatabase {
  readonly readRelations: ReadRelations;
  readonly query: RunQuery;
  readonly readSource: ReadSource;
  readonly names: SqlNames;
  /** Calls `work` with the database as the server opens it. */
  readonly withWarehouse: <Value>(
    work: (warehouse: Warehouse) => Promise<Value>,
    options?: WarehouseOptions,
  ) => Promise<Value>;
}

interface DatabaseAddress {
  /** Of PostgreSQL; null for the embedded one. */
  readonly databaseUrl: string | null;
  /** The ClickHouse that is served instead; null for none. */
  readonly clickhouse: ClickhouseAddress | null;
}

/** Calls `work` with a database. A failure is a problem, not an exception. */
export async function inspectDatabase<Value>(
  { databaseUrl, clickhouse }: DatabaseAddress,
  work: (database: LiveDatabase) => Promise<Value>,
): Promise<Outcome<Value>> {
  if (clickhouse !== null) {
    const [readRelations, query] = [clickhouseRelations(clickhouse), clickhouseQuery(clickhouse)];
    return attempt(() =>
      work({
        readRelations,
        query,
        readSource: clickhouseSources(query),
        names: CLICKHOUSE_NAMES,
        withWarehouse: opened(clickhouseUrl(clickhouse)),
      }),
    );
  }
  const outcome = await withDatabase(databaseUrl, (url) => attempt(() => withConnection(url, work)));
  return outcome ?? failed(NO_DATABASE);
}

/** A command that explains nothing does not load the server. */
function opened(url: string): LiveDatabase["withWarehouse"] {
  return async (work, options) => {
    const { openWarehouse } = await import("@routewright/runtime/server");
    const warehouse = await openWarehouse(url, options);
    try {
      return await work(warehouse);
    } finally {
      await warehouse.close();
    }
  };
}

async function attempt<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return succeeded(await work());
  } catch (error) {
    // Without the URL, which may contain a password.
    return failed(`Reading the database failed: ${messageOf(error)}. ${REMEDY}`);
  }
}

const NO_DATABASE =
  "There is no database to compare with: set DATABASE_URL, or run `routewright serve` once.";

const REMEDY =
  "Check DATABASE_URL, that the server runs, and that its user may connect and read the schemas.";

const TIMEOUT_MS = 30_000;

async function withConnection<Value>(
  url: string,
  work: (database: LiveDatabase) => Promise<Value>,
): Promise<Value> {
  // A command that connects to nothing does not load the server.
  const { withServingSession } = await import("@routewright/runtime/server");
  return withServingSession(url, TIMEOUT_MS, (query, lookUp) =>
    work({
      readRelations: postgresRelations(lookUp),
      query,
      readSource: postgresSources(lookUp),
      names: POSTGRES_NAMES,
      withWarehouse: opened(url),
    }),
  );
}

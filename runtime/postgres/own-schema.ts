import type * as migrate from "node-pg-migrate";
import { readdirSync } from "node:fs";
import { PostgresClient } from "./connection/postgres-client.js";

/** A schema of our own, and the folder of its migrations. */
export interface OwnSchema {
  readonly name: string;
  readonly folder: string;
}

/** Advisory lock of a migration: of several processes that start together one migrates, the others wait. Any constant. */
const MIGRATION_LOCK = 7_262_003;

/** Migrating waits for others that migrate. */
const MIGRATION_TIMEOUT_MS = 60_000;

/**
 * Brings schemas to this version. Those that a newer version has migrated are left as they are. The library is loaded where
 * something is to be done. `what`: needs them, for the message where it is not installed.
 */
export async function migrateSchemas(
  databaseUrl: string,
  schemas: readonly OwnSchema[],
  what: string,
): Promise<void> {
  const client = new PostgresClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 3000,
    query_timeout: MIGRATION_TIMEOUT_MS,
    application_name: "routewright migrate",
  });
  await client.connect();
  try {
    for (const schema of schemas)
      if (!(await isCurrent(client, schema))) await migrateSchema(client, schema, what);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function migrateSchema(
  client: PostgresClient,
  { name, folder }: OwnSchema,
  what: string,
): Promise<void> {
  const { runner } = await loadRunner(what);
  await client.query("SELECT pg_catalog.pg_advisory_lock($1)", [MIGRATION_LOCK]);
  await runner({
    dbClient: client,
    dir: folder,
    direction: "up",
    migrationsSchema: name,
    createMigrationsSchema: true,
    migrationsTable: "migrations",
    noLock: true,
    checkOrder: true,
    verbose: false,
    log: () => undefined,
  });
  await client.query("SELECT pg_catalog.pg_advisory_unlock($1)", [MIGRATION_LOCK]);
}

/** `name` is a constant of ours. */
async function isCurrent(client: PostgresClient, { name, folder }: OwnSchema): Promise<boolean> {
  const table = `${name}.migrations`;
  const [found] = (await client.query<{ isThere: boolean }>(IS_THERE, [table])).rows;
  if (!found?.isThere) return false;
  const hasRun = `SELECT FROM ${table} WHERE name OPERATOR(pg_catalog.=) $1`;
  return (await client.query(hasRun, [newestMigration(folder)])).rows.length > 0;
}

const IS_THERE = `SELECT pg_catalog.to_regclass($1) IS NOT NULL AS "isThere"`;

const newestMigration = (folder: string): string =>
  readdirSync(folder)
    .sort()
    .at(-1)
    ?.replace(/\.sql$/, "") ?? "";

async function loadRunner(what: string): Promise<Pick<typeof migrate, "runner">> {
  try {
    return await import("node-pg-migrate");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(`${what} need a package that is not installed: run \`npm install node-pg-migrate\`.`, {
      cause: error,
    });
  }
}

import type * as migrate from "node-pg-migrate";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The build does not copy the SQL files: the compiled program reads them from the source folder. */
const MIGRATIONS = fileURLToPath(
  new URL(
    import.meta.url.includes("/dist/") ? "../../../server/accounts/migrations" : "./migrations",
    import.meta.url,
  ),
);

/** Advisory lock of a migration: of several processes that start together one migrates, the others wait. Any constant. */
const MIGRATION_LOCK = 7_262_003;

/** Migrating waits for others that migrate. */
const MIGRATION_TIMEOUT_MS = 60_000;

/**
 * Brings the schema of the keys to this version. A database that a newer version has migrated is left as it is. The library is
 * loaded where something is to be done.
 */
export async function migrateKeys(databaseUrl: string): Promise<void> {
  const { PostgresClient } = await import("../../postgres/connection/postgres-client.js");
  const client = new PostgresClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 3000,
    query_timeout: MIGRATION_TIMEOUT_MS,
    application_name: "routewright keys migrate",
  });
  await client.connect();
  try {
    const [{ isThere } = { isThere: false }] = (await client.query<{ isThere: boolean }>(IS_THERE)).rows;
    const run = isThere ? (await client.query(HAS_RUN, [newestMigration()])).rows : [];
    if (run.length > 0) return;
    const { runner } = await loadRunner();
    await client.query("SELECT pg_catalog.pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await runner({
      dbClient: client,
      dir: MIGRATIONS,
      direction: "up",
      migrationsSchema: "routewright_keys",
      createMigrationsSchema: true,
      migrationsTable: "migrations",
      noLock: true,
      checkOrder: true,
      verbose: false,
      log: () => undefined,
    });
  } finally {
    await client.end().catch(() => undefined);
  }
}

const IS_THERE = `SELECT pg_catalog.to_regclass('routewright_keys.migrations') IS NOT NULL AS "isThere"`;
const HAS_RUN = "SELECT FROM routewright_keys.migrations WHERE name OPERATOR(pg_catalog.=) $1";

const newestMigration = (): string =>
  readdirSync(MIGRATIONS)
    .sort()
    .at(-1)
    ?.replace(/\.sql$/, "") ?? "";

async function loadRunner(): Promise<Pick<typeof migrate, "runner">> {
  try {
    return await import("node-pg-migrate");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(
      "keys in a database need a package that is not installed: run `npm install node-pg-migrate`.",
      {
        cause: error,
      },
    );
  }
}

/** The last one of the years that four digits write. */
export const LAST_TIME = Date.parse("9999-12-31T23:59:59Z");

/** PostgreSQL reads no other years in this form. What ended before 1970 has ended. */
export function storableTime(milliseconds: number | null): string | null {
  if (milliseconds === null) return null;
  return new Date(Math.min(Math.max(milliseconds, 0), LAST_TIME)).toISOString();
}

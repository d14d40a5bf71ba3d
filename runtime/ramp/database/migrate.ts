import { runner } from "node-pg-migrate";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { seedCurrencies } from "./seed-currencies.js";

/** Advisory lock of a migration: of several processes that start together one migrates, the others wait. Any constant. */
const MIGRATION_LOCK = 7_262_001;

/** The build does not copy the SQL files: the compiled program reads them from the source folder. */
const MIGRATIONS = fileURLToPath(
  new URL(
    import.meta.url.includes("/dist/") ? "../../../ramp/database/migrations" : "./migrations",
    import.meta.url,
  ),
);

/** Before the first release the schema was made by other migrations. */
const OTHER_SCHEMA =
  "The ramp's tables were made by a version before the first release. Delete `.data/`, or set RAMP_DATABASE_URL to a new database.";

/** Runs one statement and gives its rows. */
export type RunStatement = <R extends object>(text: string) => Promise<readonly R[]>;

/**
 * Brings a database to the newest schema and returns the names of the migrations that ran.
 * @param check called first, with the schema of before; when it throws, nothing is written
 */
export async function migrate(
  databaseUrl: string,
  check?: (rows: RunStatement) => Promise<void>,
): Promise<readonly string[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
    application_name: "routewright-ramp migrate",
  });
  // A lost connection rejects the query; without a listener the process would end.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await check?.(async <R extends object>(text: string) => (await client.query<R>(text)).rows);
    const ran = await runner({
      dbClient: client,
      dir: MIGRATIONS,
      direction: "up",
      migrationsSchema: "ramp",
      createMigrationsSchema: true,
      migrationsTable: "migrations",
      noLock: true,
      checkOrder: true,
      verbose: false,
      log: () => undefined,
    }).catch((error: unknown) => {
      throw String(error).includes("preceding already run") ? new Error(OTHER_SCHEMA) : error;
    });
    await seedCurrencies(client);
    return ran.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

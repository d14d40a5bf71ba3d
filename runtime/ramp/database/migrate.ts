import { runner } from "node-pg-migrate";
import { PostgresClient } from "@routewright/runtime/internal/postgres/connection/postgres-client.js";
import { writeAssets } from "./assets.js";
import { continueEvents, type RestoreOptions } from "./continue-events.js";
import { MIGRATIONS } from "./migration-files.js";
import { RELIED_ON } from "./ramp-database.js";
import { ensureRights } from "./rights.js";

/** Advisory lock of a migration: of several processes that start together one migrates, the others wait. Any constant. */
const MIGRATION_LOCK = 7_262_001;

/** Before a release the migrations that are new in it can have other names. */
const OTHER_SCHEMA =
  "The ramp's tables were made by a version that was never released. Delete `.data/`, or set RAMP_DATABASE_URL to a new database.";

/** Runs one statement and gives its rows. */
export type RunStatement = <R extends object>(text: string) => Promise<readonly R[]>;

/**
 * Brings a database to the newest schema and returns the names of the migrations that ran.
 * @param assetsFile assets and chains of the operator (runtime/ramp/docs/settings.md)
 * @param check called first, with the schema of before; when it throws, nothing is written
 */
export async function migrate(
  databaseUrl: string,
  check?: (rows: RunStatement) => Promise<void>,
  assetsFile: string | null = null,
  restored: RestoreOptions = {},
): Promise<readonly string[]> {
  const client = new PostgresClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: "routewright-ramp migrate",
  });
  // A lost connection rejects the query; without a listener the process would end.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(`${RELIED_ON}; SET statement_timeout = 0`);
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
    await writeAssets(client, assetsFile);
    await ensureRights(client);
    await continueEvents(client, restored);
    return ran.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

export const EVM_ADDRESS = "^0x[a-fA-F0-9]{40}$";
/** Base58 and bech32 addresses of the main network. */
export const BITCOIN_ADDRESS = "^(bc1[a-z0-9]{25,62}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})$";

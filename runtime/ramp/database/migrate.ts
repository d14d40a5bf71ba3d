import { Logger as QueueLogger, runMigrations as migrateQueue } from "graphile-worker";
import { runner } from "node-pg-migrate";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { seedCurrencies } from "../accounts/currency.js";
import { customerIdOf } from "./id.js";

/** Where the queue keeps its tables. */
export const QUEUE_SCHEMA = "ramp_jobs";

const SILENT_QUEUE_LOG = new QueueLogger(() => () => undefined);

/** Advisory lock of a migration: of several processes that start together one migrates, the others wait. Any constant. */
const MIGRATION_LOCK = 7_262_001;

/** The build does not copy the SQL files: the compiled program reads them from the source folder. */
const MIGRATIONS = fileURLToPath(
  new URL(import.meta.url.includes("/dist/") ? "../../../ramp/migrations" : "../migrations", import.meta.url),
);

/** Brings a database to the newest schema and returns the names of the migrations that ran. */
export async function migrate(databaseUrl: string): Promise<readonly string[]> {
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
    await migrateQueue({ connectionString: databaseUrl, schema: QUEUE_SCHEMA, logger: SILENT_QUEUE_LOG });
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
    });
    await seedCurrencies(client);
    await assignCustomerIds(client);
    return ran.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/** Customers per statement. */
const CUSTOMER_BATCH = 1_000;

/** Replaces customer ids from before 0023_customer_ids.sql by UUIDs, which SQL cannot compute (version 5). */
async function assignCustomerIds(client: pg.Client): Promise<void> {
  await client.query("SET ramp.operator = 'on'");
  for (;;) {
    const { rows } = await client.query<{ project_id: string; id: string }>(
      "SELECT project_id, id FROM ramp.customers WHERE id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' LIMIT $1",
      [CUSTOMER_BATCH],
    );
    if (rows.length === 0) break;
    const values = [
      rows.map((row) => row.project_id),
      rows.map(({ id }) => id),
      rows.map((row) => customerIdOf(row.project_id, row.id)),
    ];
    const renamed = "unnest($1::uuid[], $2::text[], $3::text[]) AS r (project_id, old, new)";
    await client.query(
      `WITH renamed AS (SELECT * FROM ${renamed}),
       revoked AS (UPDATE ramp.token_revocations t SET customer_id = r.new FROM renamed r
         WHERE t.project_id = r.project_id AND t.customer_id = r.old)
       UPDATE ramp.customers c SET id = r.new FROM renamed r WHERE c.project_id = r.project_id AND c.id = r.old`,
      values,
    );
  }
  await client.query("RESET ramp.operator");
}

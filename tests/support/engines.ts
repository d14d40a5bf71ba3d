import { clickhouse, clickhouseUrl, ownDatabase } from "./clickhouse.js";
import { databaseUrl, ownSchema, query } from "./database.js";

/** The engine that this project of the test run serves from (`tests/vitest.config.ts`). */
export const engine = process.env["TEST_ENGINE"] === "clickhouse" ? "clickhouse" : "postgres";

export type Engine = typeof engine;

export function byEngine<T>(values: Readonly<Record<Engine, T>>): T {
  return values[engine];
}

/** Address of the engine's database, as the API reads it. */
export function engineUrl(): string {
  return engine === "clickhouse" ? clickhouseUrl() : databaseUrl;
}

/** A schema, or ClickHouse's database, of a test file's own, filled by SQL in which `@` stands for its name. */
export function ownTables(sql: {
  readonly postgres: string;
  readonly clickhouse: readonly string[];
}): Promise<string> {
  return engine === "clickhouse" ? ownDatabase(sql.clickhouse) : ownSchema(sql.postgres);
}

/** The rows of a query that both engines understand, as the owner of the tables. */
export function ownerQuery(sql: string): Promise<unknown> {
  return engine === "clickhouse" ? clickhouse(sql) : query(sql);
}

/** Queries of a schema that are under way or wait for their reader: on PostgreSQL transactions that hold one of its relations. */
export async function readers(schema: string): Promise<number> {
  const rows = await ownerQuery(
    byEngine({
      postgres: `SELECT count(DISTINCT pid)::int AS n FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relnamespace = '${schema}'::regnamespace`,
      clickhouse: `SELECT count() FROM system.processes WHERE query LIKE '%${schema}%' AND query NOT LIKE '%system.processes%'`,
    }),
  );
  return typeof rows === "string" ? Number(rows) : (rows as { n: number }[])[0]!.n;
}

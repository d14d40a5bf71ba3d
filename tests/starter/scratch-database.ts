import pg from "pg";
import { afterAll, beforeAll } from "vitest";

/** A PostgreSQL whose user may create databases. Tests that need it are skipped without it. */
export const SERVER_URL = process.env["TEST_DATABASE_URL"];
if (!SERVER_URL)
  console.warn("TEST_DATABASE_URL is not set: the starter's relations are not built in this run.");

/** A database for the tests of one file, dropped after them. */
export interface ScratchDatabase {
  readonly url: string;
  rows<Row>(sql: string): Promise<Row[]>;
}

/**
 * Gives the calling suite a database of its own; `name` distinguishes it from those of other suites. `rows` finds relations in
 * `schema` without naming it.
 */
export function scratchDatabase(name: string, schema = "public"): ScratchDatabase {
  const database = `routewright_test_${name}_${process.pid}`;
  const url = new URL(SERVER_URL ?? "postgres://unset");
  url.pathname = `/${database}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 2, options: `-c search_path=${schema}` });
  // Dropping the database ends idle connections; the pool need not raise that.
  pool.on("error", () => undefined);
  beforeAll(() => administer(`create database ${database}`));
  afterAll(async () => {
    await pool.end();
    await administer(`drop database ${database} with (force)`);
  });
  return { url: url.href, rows: async <Row>(sql: string) => (await pool.query(sql)).rows as Row[] };
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER_URL });
  await client.connect();
  await client.query(sql);
  await client.end();
}

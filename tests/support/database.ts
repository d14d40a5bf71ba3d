import { randomBytes } from "node:crypto";
import pg from "pg";
import { atEnd } from "./at-end.js";

/** The real PostgreSQL of this test run. */
export const databaseUrl = process.env["TEST_DATABASE_URL"] ?? "";

/** A schema of a test file's own, filled by `sql` in which `@` stands for its quoted name; dropped at the end. */
export async function ownSchema(sql: string): Promise<string> {
  const schema = `test_${randomBytes(6).toString("hex")}`;
  await query(`CREATE SCHEMA "${schema}"`);
  atEnd(async () => {
    await query(`DROP SCHEMA "${schema}" CASCADE`);
  });
  await query(sql.replaceAll("@", `"${schema}"`));
  return schema;
}

/** A database of a test's or a test file's own, dropped at the end: empty, or a copy of `template`. */
export async function ownDatabase(template?: string): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const from = template === undefined ? "" : ` TEMPLATE ${new URL(template).pathname.slice(1)}`;
  // Copied page by page it takes almost three times the processor time.
  await query(`CREATE DATABASE ${name}${from} STRATEGY FILE_COPY`);
  const url = Object.assign(new URL(databaseUrl), { pathname: `/${name}` }).href;
  atEnd(async () => {
    await endKept(url);
    await query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  return url;
}

/** Runs SQL as the database's owner and returns the rows of the last statement. */
export function query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]> {
  return queryKept(databaseUrl, sql, values);
}

/** Sessions that the next query may have, by address: a new one costs PostgreSQL more than most queries of tests do. */
const kept = new Map<string, pg.Pool>();

/** What changes its session, or ends sessions, has one of its own. */
const OF_A_SESSION = /^\s*(?:SET|BEGIN|LISTEN)\b|\b(?:TEMP|PREPARE|pg_terminate_backend)\b/i;

/** As `query`, in another database, which stays until the test or its file ends. */
export async function queryKept(
  url: string,
  sql: string,
  values?: readonly unknown[],
): Promise<Record<string, unknown>[]> {
  // The server ends sessions a moment after it has answered: a kept one would be among them, in use again.
  if (sql.includes("pg_terminate_backend")) await endKept(url);
  if (OF_A_SESSION.test(sql)) return queryAt(url, sql, values);
  let pool = kept.get(url);
  if (pool === undefined) {
    const limits = { idleTimeoutMillis: 1_000, connectionTimeoutMillis: 30_000, allowExitOnIdle: true };
    pool = new pg.Pool({ connectionString: url, ...limits });
    // A session that the server ends while nobody uses it.
    pool.on("error", () => undefined);
    kept.set(url, pool);
  }
  return rowsOf(pool, sql, values);
}

async function endKept(url: string): Promise<void> {
  const pool = kept.get(url);
  kept.delete(url);
  await pool?.end();
}

/** As `query`, in another database, in a session of its own. */
export async function queryAt(
  url: string,
  sql: string,
  values?: readonly unknown[],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 });
  // A server that is ended while it answers: the query rejects.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await rowsOf(client, sql, values);
  } finally {
    await client.end();
  }
}

/** The rows of the last statement. */
async function rowsOf(
  session: pg.Client | pg.Pool,
  sql: string,
  values?: readonly unknown[],
): Promise<Record<string, unknown>[]> {
  const result = (values ? await session.query(sql, [...values]) : await session.query(sql)) as
    pg.QueryResult | pg.QueryResult[];
  return (Array.isArray(result) ? result.at(-1)?.rows : result.rows) ?? [];
}

/** Settings that a database may have of its own, each of which changes how PostgreSQL prints something. */
const OTHER_SETTINGS = [
  "timezone=Asia/Kolkata",
  "datestyle=German",
  "intervalstyle=iso_8601",
  "bytea_output=escape",
  "extra_float_digits=0",
];

/** An address whose sessions have these settings. */
export function withSettings(url: string): string {
  const address = new URL(url);
  address.searchParams.set("options", OTHER_SETTINGS.map((setting) => `-c ${setting}`).join(" "));
  return address.href.replaceAll("+", "%20");
}

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
  await query(`CREATE DATABASE ${name}${from}`);
  atEnd(async () => {
    await query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  return Object.assign(new URL(databaseUrl), { pathname: `/${name}` }).href;
}

/** Runs SQL as the database's owner and returns the rows of the last statement. */
export function query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]> {
  return queryAt(databaseUrl, sql, values);
}

/** As `query`, in another database. */
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
    const result = (values ? await client.query(sql, [...values]) : await client.query(sql)) as
      pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(result) ? result.at(-1)?.rows : result.rows) ?? [];
  } finally {
    await client.end();
  }
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

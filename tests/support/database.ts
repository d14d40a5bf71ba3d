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

/** Runs SQL as the database's owner and returns the rows of the last statement. */
export async function query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const result = (values ? await client.query(sql, [...values]) : await client.query(sql)) as
      pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(result) ? result.at(-1)?.rows : result.rows) ?? [];
  } finally {
    await client.end();
  }
}

import { randomBytes } from "node:crypto";
import pg from "pg";
import { atEnd } from "../support/at-end.js";
import { databaseUrl, query } from "../support/database.js";

/** An empty database of a test's or a test file's own, dropped at the end. */
export async function ownDatabase(): Promise<string> {
  const name = `usage_test_${randomBytes(6).toString("hex")}`;
  await query(`CREATE DATABASE ${name}`);
  atEnd(async () => {
    await query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs SQL in a database and returns the rows of the last statement. */
export async function inDatabase(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result = (await client.query(sql)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(result) ? result.at(-1)?.rows : result.rows) ?? [];
  } finally {
    await client.end();
  }
}

/** What is recorded of each key and route, in their order. */
export function recorded(url: string): Promise<Record<string, unknown>[]> {
  return inDatabase(
    url,
    `SELECT key, route, requests::int, refused::int, errors::int, rows::int, bytes::int
     FROM routewright.usage ORDER BY day, key COLLATE "C", route COLLATE "C"`,
  );
}

/** Requests recorded in all; zero where there is no table. */
export async function requestsRecorded(url: string): Promise<number> {
  const [found] = await inDatabase(url, "SELECT to_regclass('routewright.usage') IS NOT NULL AS found");
  if (found?.["found"] !== true) return 0;
  const [sum] = await inDatabase(url, "SELECT coalesce(sum(requests), 0)::int AS n FROM routewright.usage");
  return sum?.["n"] as number;
}

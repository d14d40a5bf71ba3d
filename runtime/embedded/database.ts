import type pg from "pg";

import { SUPERUSER, type Cluster } from "./cluster.js";

const DATABASE = "routewright";

/** The application's database, made at the first start or after somebody has dropped it. */
export async function ensureDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [DATABASE]);
  if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(unlessThere);
}

/** SQLSTATE: duplicate_database; unique_violation, when two processes make it at the same time. */
function unlessThere(error: Error & { code?: string }): void {
  if (error.code !== "42P04" && error.code !== "23505") throw error;
}

/** With `sslmode`, or else a `PGSSLMODE` meant for another server would apply. */
export function urlOf(cluster: Cluster, port: number): string {
  return `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${DATABASE}?sslmode=disable`;
}

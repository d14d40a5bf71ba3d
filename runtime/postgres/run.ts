import type pg from "pg";
import type { Statement } from "../query/sql.js";
import type { Connection } from "./connections.js";
import type { QueryLimits } from "./query-watchdog.js";

/** Runs a statement under watch. */
export function run<Row extends pg.QueryResultRow>(
  { client, guard }: Connection,
  config: pg.QueryConfig | pg.QueryArrayConfig,
  terms: QueryLimits,
): Promise<pg.QueryResult<Row>> {
  return new Promise((resolve, reject) => {
    guard.begin(terms);
    client.query<Row>(config as pg.QueryConfig, (error: Error | null | undefined, result) => {
      guard.end();
      if (error) reject(error);
      else resolve(result);
    });
  });
}

/** What `pg` takes; the values are only read. */
export function queryOf({ text, values }: Statement): pg.QueryConfig {
  return { text, values: values as unknown[] };
}

import type pg from "pg";
import type { Statement } from "../query/sql.js";
import type { Connection, Connections, Waiter } from "./connections.js";
import type { Terms } from "./patrol.js";

/** Who wants a connection to himself. */
export interface Borrower extends Waiter {
  use(connection: Connection): void;
}

/** Lends connections one by one. */
export function lend(connection: Connection, waiting: Borrower[]): void {
  const next = waiting.shift();
  if (next) next.use(connection);
  else connection.release(false);
}

/** Takes a connection. Rejects when none is free in time, or none can be made. */
export function take(connections: Connections<Borrower>): Promise<Connection> {
  return new Promise((use, failed) => connections.join({ since: performance.now(), use, failed }));
}

/** Runs a statement under watch. */
export function run<Row extends pg.QueryResultRow>(
  { client, guard }: Connection,
  config: pg.QueryConfig | pg.QueryArrayConfig,
  terms: Terms,
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

/** Whether the database itself refused a statement: the connection is as good as before. */
export function isStatementFault(error: unknown): boolean {
  return (error as pg.DatabaseError).severity === "ERROR";
}

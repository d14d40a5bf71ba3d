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

/** Conditions after which the database closes the connection: it is shutting down, or the session has ended. */
const SESSION_OVER = /^(08...|57P0.|25P03)$/;

/**
 * Whether the database itself refused a statement: the connection is as good as before. What it calls an error is said in
 * the language of its server, so its code has to tell; codes of the operating system look different.
 */
export function isStatementFault(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !SESSION_OVER.test(code);
}

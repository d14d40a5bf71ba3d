import type pg from "pg";
import type { Statement } from "../query/sql.js";
import type { Connection, Connections } from "./connections.js";
import { OneRow, type Texts } from "./one-row.js";
import type { Terms } from "./patrol.js";

/** Nobody waits for the answer any more. */
export class Unwanted extends Error {
  constructor() {
    super("Nobody waits for the answer any more.");
  }
}

/** There is a result unless there is an error. */
type Told<Result> = (error: Error | null, result: Result) => void;

/** Sends a statement, and calls back once. */
export type Send<Result> = (client: pg.ClientBase, told: Told<Result>) => void;

/** Sends any statement. */
export function query<Row extends pg.QueryResultRow>(
  config: pg.QueryConfig | pg.QueryArrayConfig,
): Send<pg.QueryResult<Row>> {
  return (client, told) =>
    client.query<Row>(config as pg.QueryConfig, (error: Error | null | undefined, result) =>
      told(error ?? null, result),
    );
}

/** Sends a statement that gives one row; with a name, the database parses it once for each connection. */
export function oneRow(statement: Statement, name: string | null): Send<Texts> {
  return (client, told) => void client.query(new OneRow(statement, name, told));
}

/** Takes a connection. Rejects when none is free in time, or none can be made. */
export function take(connections: Connections): Promise<Connection> {
  return new Promise((resolve, reject) => {
    connections.take((taken) => {
      if (taken instanceof Error) reject(taken);
      else resolve(taken);
    });
  });
}

/** Runs a statement under watch. */
export function run<Result>(
  { client, guard }: Connection,
  send: Send<Result>,
  terms: Terms,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    guard.begin(terms);
    send(client, (error, result) => {
      guard.end();
      if (error === null) resolve(result);
      else reject(error);
    });
  });
}

/**
 * Takes a connection, runs one statement under watch and gives the connection back, all in one promise: this is what most
 * requests come to.
 */
export function runOnce<Result>(connections: Connections, send: Send<Result>, terms: Terms): Promise<Result> {
  return new Promise((resolve, reject) => {
    connections.take((taken) => {
      if (taken instanceof Error) return reject(taken);
      // It may have waited for long.
      if (!terms.wanted()) {
        taken.release(false);
        return reject(new Unwanted());
      }
      taken.guard.begin(terms);
      send(taken.client, (error, result) => {
        taken.guard.end();
        taken.release(error !== null && !isStatementFault(error));
        if (error === null) resolve(result);
        else reject(error);
      });
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

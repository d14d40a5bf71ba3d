import type pg from "pg";
import type { Statement } from "../query/sql.js";
import type { Patrol, Endable } from "./patrol.js";
import type { Wanted } from "./warehouse.js";

/** A connection out of a pool, ours until it is released. */
export type Connection = pg.PoolClient & Endable;

/** Nobody waits for the answer any more. */
export class Unwanted extends Error {
  constructor() {
    super("Nobody waits for the answer any more.");
  }
}

/** How long a statement may run, and who waits for it. */
export interface Terms {
  readonly timeoutMs: number;
  readonly wanted: Wanted;
}

/** Takes a connection out of a pool. Rejects when none is free in time, or none can be made. */
export function take(pool: pg.Pool): Promise<Connection> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (error) reject(error);
      else resolve(client as Connection);
    });
  });
}

/** Runs a statement under watch. */
export function run<Row extends pg.QueryResultRow>(
  client: Connection,
  statement: pg.QueryConfig | pg.QueryArrayConfig,
  terms: Terms,
  patrol: Patrol,
): Promise<pg.QueryResult<Row>> {
  return new Promise((resolve, reject) => {
    watch<Row>(client, statement, terms, patrol, (error, result) => {
      if (error === null) resolve(result);
      else reject(error);
    });
  });
}

/**
 * Takes a connection, runs one statement under watch and gives the connection back, all in one promise: this is what most
 * requests come to.
 */
export function runOnce<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: pg.QueryConfig,
  terms: Terms,
  patrol: Patrol,
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    pool.connect((failure, taken) => {
      if (failure) return reject(failure);
      const client = taken as Connection;
      // It may have waited for long.
      if (!terms.wanted()) {
        client.release();
        return reject(new Unwanted());
      }
      watch<Row>(client, statement, terms, patrol, (error, result) => {
        client.release(error !== null && !isStatementFault(error));
        if (error === null) resolve(result.rows);
        else reject(error);
      });
    });
  });
}

/** There is a result unless there is an error. */
type Told<Row extends pg.QueryResultRow> = (error: Error | null, result: pg.QueryResult<Row>) => void;

function watch<Row extends pg.QueryResultRow>(
  client: Connection,
  statement: pg.QueryConfig | pg.QueryArrayConfig,
  { timeoutMs, wanted }: Terms,
  patrol: Patrol,
  told: Told<Row>,
): void {
  const watched = patrol.begin(client, timeoutMs, wanted);
  client.query<Row>(statement as pg.QueryConfig, (error: Error | null | undefined, result) => {
    patrol.end(watched);
    told(error ?? null, result);
  });
}

/** What `pg` takes; the values are only read. */
export function queryOf({ text, values }: Statement, name: string | null = null): pg.QueryConfig {
  const query = { text, values: values as unknown[] };
  return name === null ? query : { name, ...query };
}

/** Whether the database itself refused a statement: the connection is as good as before. */
export function isStatementFault(error: unknown): boolean {
  return (error as pg.DatabaseError).severity === "ERROR";
}

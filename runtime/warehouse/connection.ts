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
  { timeoutMs, wanted }: Terms,
  patrol: Patrol,
): Promise<pg.QueryResult<Row>> {
  return new Promise((resolve, reject) => {
    const watched = patrol.begin(client, timeoutMs, wanted);
    client.query<Row>(statement as pg.QueryConfig, (error: Error | undefined, result) => {
      patrol.end(watched);
      if (error as Error | null) reject(error as Error);
      else resolve(result);
    });
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

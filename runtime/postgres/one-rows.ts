import type { Statement } from "../query/sql.js";
import { Batch, type Over, type Texts } from "./batch.js";
import { Connections, type Connection, type ConnectionSource } from "./connections.js";
import type { NamedStatement } from "./named-statements.js";
import { OneRow } from "./one-row.js";
import type { QueryLimits } from "./query-watchdog.js";
import { isStatementFault } from "./statement-fault.js";

/** Statements that go together: so many at most, and no more than are likely to take so long. */
const TOGETHER = 16;
const TOGETHER_MS = 4;
/** Where no other connection is free: then none of them would be answered sooner alone. */
const CROWDED_MS = 20;

/**
 * When one of them takes this long after all, the others must not wait for it: it loses the connection. Longer than most
 * moments in which the database does nothing at all, as after those all that was under way would be asked anew.
 */
const PATIENCE: QueryLimits = { timeoutMs: 500, wanted: () => true };

/** Nobody waits for the answer any more. */
class Unwanted extends Error {
  constructor() {
    super("Nobody waits for the answer any more.");
  }
}

/**
 * Asks statements that give one row. Those that come in the same turn of the event loop, or wait for a connection
 * together, go in one write where all of them are known to be quick: to wake the database and to be woken by it costs as
 * much as a small answer itself. When one of them takes long after all, or the connection breaks, those that were not
 * answered are asked again, each alone.
 */
export class OneRows {
  readonly connections: Connections<OneRow>;

  constructor(source: ConnectionSource) {
    this.connections = new Connections<OneRow>(source, (connection, waiting) =>
      this.#serve(connection, waiting),
    );
  }

  /** With a name, the database parses the statement once for each connection. */
  ask(statement: Statement, named: NamedStatement | null, terms: QueryLimits): Promise<Texts> {
    return new Promise((resolve, reject) => {
      const told = (error: Error | null, row: Texts): void => (error === null ? resolve(row) : reject(error));
      this.connections.join(new OneRow(statement, named, terms, told));
    });
  }

  #serve(connection: Connection, waiting: OneRow[]): void {
    for (let first; (first = waiting.shift()); first.failed(new Unwanted())) {
      // It may have waited for long.
      if (first.terms.wanted()) return this.#send(connection, this.#together(first, connection, waiting));
    }
    connection.release(false);
  }

  /** Takes those off the list that go along with the first one. */
  #together(first: OneRow, connection: Connection, waiting: OneRow[]): OneRow[] {
    const mostMs = this.connections.hasFree ? TOGETHER_MS : CROWDED_MS;
    const rows = [first];
    let ms = first.expectedMs(connection);
    for (let next; rows.length < TOGETHER && (next = waiting[0]); waiting.shift()) {
      ms += next.expectedMs(connection);
      if (ms > mostMs) break;
      rows.push(next);
    }
    return rows;
  }

  #send(connection: Connection, rows: readonly OneRow[]): void {
    const { client, guard } = connection;
    const isAlone = rows.length === 1;
    let isBroken = false;
    const started = performance.now();
    guard.begin(isAlone ? (rows[0]?.terms ?? PATIENCE) : PATIENCE);
    const over: Over = (place, error, texts) => {
      const row = rows[place];
      const isLost = error !== null && !isStatementFault(error);
      if (isLost && !isBroken) row?.named?.failed();
      isBroken ||= isLost;
      guard.end();
      if (place < rows.length - 1) guard.begin(PATIENCE);
      else {
        connection.release(isBroken);
        if (error === null) learn(connection, rows, (performance.now() - started) / rows.length);
      }
      if (error === null) row?.answered(texts);
      else if (isLost && !isAlone) this.#askAgain(row);
      else row?.failed(error);
    };
    client.query(new Batch(client, rows, over));
  }

  #askAgain(row: OneRow | undefined): void {
    if (row === undefined) return;
    row.isAlone = true;
    this.connections.join(row);
  }
}

function learn(connection: Connection, rows: readonly OneRow[], ms: number): void {
  for (const row of rows) row.took(ms, rows.length === 1, connection);
}

import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { BindValue, Statement } from "../sql.js";
import type { IsStillNeeded } from "../warehouse.js";
import { isStatementError } from "./database-errors.js";

/** How long a query may run, and whether its result is still needed. */
export interface QueryLimits {
  /** 0: only the session's limit. */
  readonly timeoutMs: number;
  readonly isStillNeeded: IsStillNeeded;
}

/** The columns of a row, as text. */
export type Texts = readonly (string | null)[];

/** Receives the rows of a statement, or its error. */
export type Done = (error: Error | null, rows: readonly Texts[]) => void;

/** Bounded (LRU), since callers choose filters and order. */
const MAX_TEXTS = 1000;

/** Growth of the remembered time per run: a statement that became slow counts as slow after some runs. */
const GROWTH = 1.1;

/** A statement that connections prepare: its name, and how long it takes. */
export class PreparedStatement {
  /** A hash of the text, so that a name means the same text on every connection. */
  readonly name: string;
  /** The shortest time of the last runs: the others also waited for the event loop or for a processor. */
  #expectedMs = Infinity;

  constructor(text: string) {
    this.name = `rw_${hash("sha1", text).slice(0, 24)}`;
  }

  /** How long it will take, in milliseconds; infinite until it has run. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  noteDuration(milliseconds: number): void {
    this.#expectedMs = Math.min(milliseconds, this.#expectedMs * GROWTH);
  }

  /** It counts as slow until its next run. */
  noteSlow(): void {
    this.#expectedMs = Infinity;
  }
}

const STATEMENTS = new LRUCache<string, PreparedStatement>({ max: MAX_TEXTS });

/** Null at the first use of a text: unique texts would only fill the database's memory. */
export function preparedStatement(text: string): PreparedStatement | null {
  const known = STATEMENTS.get(text);
  if (known === undefined) STATEMENTS.set(text, new PreparedStatement(text));
  return known ?? null;
}

/** A query of a batch. */
export interface BatchedQuery {
  readonly statement: Statement;
  readonly prepared: PreparedStatement;
  readonly limits: QueryLimits;
  readonly done: Done;
  /** Runs it on another connection. Its result here, if any, is ignored. */
  readonly retry: () => void;
}

interface BatchOptions {
  readonly client: pg.ClientBase;
  /** A query of the batch starts. */
  readonly onStart: (limits: QueryLimits) => void;
  /** The error with which a query ends. */
  readonly errorOf: (error: Error) => Error;
  /** All are answered, or the connection is broken. */
  readonly onEnd: (isBroken: boolean) => void;
}

/**
 * Sends statements to the connection on which they are prepared, in one write. Each is a transaction of its own, so that it
 * holds no lock while the next one waits. `pg` calls its methods (`pg.Submittable`), as it calls those of `pg-cursor`.
 */
export class StatementBatch implements pg.Submittable {
  readonly #options: BatchOptions;
  readonly #queries: readonly BatchedQuery[];
  /** Those without an answer, in their order. */
  readonly #pending: BatchedQuery[];
  readonly #sentAt = performance.now();
  #isSent = false;
  #isEnding = false;
  #rows: Texts[] = [];

  constructor(queries: readonly BatchedQuery[], options: BatchOptions) {
    this.#queries = queries;
    this.#pending = [...queries];
    this.#options = options;
  }

  /** Awaits the next answer. `pg` expects one for what it submits, so the batch is submitted for each of its queries. */
  awaitNext(): void {
    const [next] = this.#pending;
    if (next === undefined) return this.#end();
    this.#options.onStart(next.limits);
    this.#options.client.query(this);
  }

  submit(connection: pg.Connection): void {
    if (this.#isSent) return;
    this.#isSent = true;
    connection.stream.cork();
    for (const { statement, prepared } of this.#queries) {
      connection.bind({ statement: prepared.name, values: statement.values.map(textOf) }, true);
      connection.execute(null, true);
      connection.sync();
    }
    connection.stream.uncork();
  }

  handleDataRow({ fields }: { readonly fields: Texts }): void {
    this.#rows.push(fields);
  }

  handleCommandComplete(): void {
    // The rows are complete once the connection is ready for the next query.
  }

  handleReadyForQuery(): void {
    const query = this.#pending.shift();
    const rows = this.#rows;
    this.#rows = [];
    if (this.#isEnding) this.#abort();
    else this.awaitNext();
    query?.done(null, rows);
  }

  handleError(cause: Error): void {
    const query = this.#pending.shift();
    this.#rows = [];
    const error = this.#options.errorOf(cause);
    if (isStatementError(error) && !this.#isEnding) this.awaitNext();
    else this.#abort();
    query?.done(error, []);
  }

  /** The connection is being closed: the running query ends with it, the others run on other connections. */
  endAfterRunning(): void {
    this.#isEnding = true;
  }

  #abort(): void {
    this.#options.onEnd(true);
    for (const query of this.#pending.splice(0)) query.retry();
  }

  #end(): void {
    const milliseconds = (performance.now() - this.#sentAt) / this.#queries.length;
    for (const { prepared } of this.#queries) prepared.noteDuration(milliseconds);
    this.#options.onEnd(false);
  }

  /** Runs the other queries on other connections: the first one takes long. */
  unblock(): void {
    this.#pending[0]?.prepared.noteSlow();
    const blocked = this.#pending.splice(1);
    this.#pending.push(...blocked.map(withoutResult));
    for (const query of blocked) query.retry();
  }
}

function withoutResult(query: BatchedQuery): BatchedQuery {
  const limits = { timeoutMs: query.limits.timeoutMs, isStillNeeded: () => false };
  return { ...query, limits, done: () => undefined, retry: () => undefined };
}

/** The text form of a bind value. */
function textOf(value: BindValue): string | null {
  if (value === null || typeof value === "string") return value;
  return typeof value === "number" ? String(value) : `{${value.map(elementOf).join(",")}}`;
}

/** An element of an array in PostgreSQL's text form. */
function elementOf(text: string | null): string {
  return text === null ? "NULL" : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

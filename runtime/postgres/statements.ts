import { hash } from "node:crypto";
import { BoundedCache } from "../core/http/bounded-cache.js";
import type pg from "pg";
import type { Statement } from "../core/warehouse/sql.js";
import { executeMessages } from "./bind-message.js";
import {
  isConnectionFailure,
  isPlanRefusal,
  isSessionEnd,
  isSessionLost,
  isStatementError,
} from "./errors.js";
import type { DescribedField } from "./columns.js";
import type { RowSink, WireClient } from "./wire.js";

/** How long a query may run, and whether its result is still needed. */
export interface StatementLimits {
  /** 0: only the session's limit. */
  readonly timeoutMs: number;
  readonly isStillNeeded: () => boolean;
}

/** Receives the end of a statement. */
export type Done = (error: Error | null) => void;

/** A connection that was idle for longer may have been closed meanwhile. Otherwise its query may have broken it. */
const IDLE_MS = 100;

/** Growth of the remembered time per run: a statement that became slow counts as slow after some runs. */
const GROWTH = 1.1;

/** A statement that connections prepare: its name, and what to expect of it. */
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

/** Its name and its time. */
const STATEMENT_BYTES = 120;

/** Callers choose filters and order. */
const STATEMENTS = new BoundedCache<PreparedStatement>("statements", { sizeOf: () => STATEMENT_BYTES });

/** Null at the first use of a text: unique texts would only fill the database's memory. */
export function preparedStatement(text: string): PreparedStatement | null {
  const known = STATEMENTS.get(text);
  if (known === undefined) STATEMENTS.set(text, new PreparedStatement(text));
  return known ?? null;
}

/** Takes the rows of a statement. */
export interface StatementSink extends RowSink {
  /** Whether a slow client may read them: then there is no `statement_timeout`, which would include its time. */
  readonly mayBeLong: boolean;
  /** The formats of the fields (`fieldFormats`). */
  readonly formats: Buffer;
  /** Checks the types of the fields, which PostgreSQL names when it parses the statement; prepared, it keeps them. Throws. */
  checkFields?(fields: readonly DescribedField[]): void;
}

/** A statement that sets what differs in the transaction of the query after it; without a text where it is prepared. */
export interface SettingStatement {
  readonly name: string;
  readonly text?: string;
}

/** A statement on its connection. */
export interface WireQuery {
  readonly statement: Statement;
  readonly prepared: PreparedStatement | null;
  readonly limits: StatementLimits;
  readonly sink: StatementSink;
  /** It starts. */
  begin(): void;
  done: Done;
  /** Runs it on another connection. Its result here, if any, is ignored. */
  retry(): void;
  /** Whether it is prepared again where it runs: a plan that was prepared before was refused. */
  readonly isRenewed: boolean;
  /** Runs it once more, prepared again. */
  renew(): void;
}

/** The connection that a batch runs on. */
export interface BatchConnection {
  readonly client: WireClient;
  /** Start of its last idle time, by `performance.now()`. */
  readonly freeSince: number;
  /** Null where the settings are those of the session. */
  settingsOf(sink: StatementSink): SettingStatement | null;
  /** `mayBeLong`: without a `statement_timeout`. */
  queryStarted(limits: StatementLimits, mayBeLong: boolean): void;
  /** The error with which a query ends. */
  errorOf(error: Error): Error;
  /** All are answered, or the connection is broken. */
  batchEnded(isBroken: boolean): void;
}

/** The methods of pg's connection that `@types/pg` describes as of an older version. */
type Wire = pg.Connection & {
  parse(query: { name: string; text: string }): void;
  close(statement: { type: "S"; name: string }): void;
  describe(statement: { type: "S"; name: string }): void;
  bind(config: { statement: string; values: readonly (string | null)[] }): void;
  execute(config: object): void;
};

/**
 * Sends statements to a connection, in one write: one, or several that are prepared there. Each is a transaction of its own,
 * so that it holds no lock while the next one waits. `pg` calls its methods (`pg.Submittable`), as it calls those of `pg-cursor`.
 */
export class StatementBatch implements pg.Submittable {
  /** Of a statement to prepare: `pg` notes it once PostgreSQL has. */
  readonly name: string;
  readonly text: string;
  readonly #connection: BatchConnection;
  readonly #queries: readonly WireQuery[];
  /** Those without an answer, in their order. Null: it runs on another connection by now, and the answer is ignored. */
  readonly #pending: (WireQuery | null)[];
  readonly #sentAt = performance.now();
  /** The query that is prepared with this batch: the others were before. */
  #parsed: WireQuery | null = null;
  /** Why the rows of the running statement are not read. */
  #mismatch: Error | null = null;
  #isSent = false;
  #isEnding = false;

  constructor(queries: readonly WireQuery[], connection: BatchConnection) {
    this.#queries = queries;
    this.#pending = [...queries];
    this.#connection = connection;
    this.name = queries[0]?.prepared?.name ?? "";
    this.text = queries[0]?.statement.text ?? "";
  }

  /** Awaits the next answer. `pg` expects one for what it submits, so the batch is submitted again after an answer that `pg` has taken. */
  awaitNext(): void {
    const { client } = this.#connection;
    client.tap.next = null;
    if (this.#pending.length === 0) {
      client.tap.sink = null;
      return this.#end();
    }
    this.#begin();
    client.query(this);
  }

  #begin(): void {
    const { tap } = this.#connection.client;
    const [next] = this.#pending;
    tap.sink = next?.sink ?? null;
    tap.bound = 0;
    this.#connection.queryStarted(next?.limits ?? IGNORED, next?.sink.mayBeLong === true);
    next?.begin();
  }

  /** A statement has its answer, and others follow: `pg` takes the end of the last one only. */
  readonly #goOn = (): boolean => {
    if (this.#pending.length < 2 || this.#isEnding || this.#mismatch !== null) return false;
    const query = this.#pending.shift();
    this.#begin();
    query?.done(null);
    return true;
  };

  submit(connection: pg.Connection): void {
    const { client } = this.#connection;
    client.tap.next = this.#goOn;
    if (this.#isSent) return;
    this.#isSent = true;
    const wire = connection as Wire;
    wire.stream.cork();
    for (const query of this.#queries) {
      const { statement, prepared, sink } = query;
      const name = prepared?.name ?? "";
      const settings = this.#connection.settingsOf(sink);
      if (settings !== null) {
        if (settings.text !== undefined) wire.parse({ name: settings.name, text: settings.text });
        wire.bind({ statement: settings.name, values: [] });
        wire.execute({});
      }
      if (prepared === null || query.isRenewed || !client.hasPrepared(name)) {
        this.#parsed = query;
        // Of a name that this session does not have, PostgreSQL closes nothing.
        if (prepared !== null) wire.close({ type: "S", name });
        wire.parse({ name, text: statement.text });
        wire.describe({ type: "S", name });
      }
      wire.stream.write(executeMessages(name, statement.values, sink.formats));
    }
    wire.stream.uncork();
  }

  handleRowDescription({ fields }: { readonly fields: readonly DescribedField[] }): void {
    try {
      this.#pending[0]?.sink.checkFields?.(fields);
    } catch (error) {
      // Its rows are not read; the statements after it are answered. The plan is not for the types that its text names.
      this.#connection.client.forget(this.name);
      this.#mismatch = error as Error;
      this.#connection.client.tap.sink = null;
    }
  }

  /** Rows without a sink: of a query that runs elsewhere by now. */
  handleDataRow(): void {
    // Ignored.
  }

  handleCommandComplete(): void {
    // The rows are complete once the connection is ready for the next query.
  }

  handleReadyForQuery(): void {
    const query = this.#pending.shift();
    const error = this.#mismatch;
    this.#mismatch = null;
    if (this.#isEnding) this.#abort();
    else this.awaitNext();
    query?.done(error);
  }

  handleError(cause: Error): void {
    const query = this.#pending.shift();
    this.#mismatch = null;
    const error = this.#connection.errorOf(cause);
    // Whatever a query fails with after it is bound to its values is its own failure.
    const isUnbound = query != null && !this.#isBound(query);
    const isLost = isUnbound && this.#isLost(query, error);
    const runsAgain =
      isUnbound && !isLost && (this.#refusesPlan(query, error) || this.#hasEndedBefore(query, error));
    if (isStatementError(error) && !isLost && !this.#isEnding) this.awaitNext();
    else this.#abort();
    if (isLost) query.retry();
    else if (runsAgain) query.renew();
    else query?.done(error);
  }

  #isBound({ sink }: WireQuery): boolean {
    return this.#connection.client.tap.bound >= (this.#connection.settingsOf(sink) === null ? 1 : 2);
  }

  /**
   * Whether the session has lost what was prepared in it before, and with it its settings, as a pooler's `DISCARD ALL` does: it ends,
   * and the query runs in another one.
   */
  #isLost(query: WireQuery, error: Error): boolean {
    if (!isSessionLost(error)) return false;
    const settings = this.#connection.settingsOf(query.sink);
    if (settings !== null && this.#connection.client.tap.bound === 0) return settings.text === undefined;
    return this.#parsed !== query;
  }

  /**
   * Whether PostgreSQL refuses a plan that it made before, of columns, relations or functions that have changed since, or that a
   * pooler has given to another session. What one change refuses of a session, it refuses of its other statements: all are prepared
   * again, so that a change repeats one of them.
   */
  #refusesPlan({ prepared }: WireQuery, error: Error): boolean {
    if (prepared === null || !isPlanRefusal(error)) return false;
    const { client } = this.#connection;
    const isOlder = this.#parsed?.prepared !== prepared;
    if (isOlder) client.forgetAll();
    else client.forget(prepared.name);
    return isOlder;
  }

  /** Whether the session has ended before it took the query, such as one that was idle for too long: its last words may be lost. */
  #hasEndedBefore({ isRenewed }: WireQuery, error: Error): boolean {
    const wasIdle = this.#sentAt - this.#connection.freeSince > IDLE_MS;
    return !isRenewed && (isSessionEnd(error) || (wasIdle && isConnectionFailure(error)));
  }

  /** The connection is being closed: the running query ends with it, the others run on other connections. */
  endAfterRunning(): void {
    this.#isEnding = true;
  }

  /** The session is no longer as it was set up: the running query ends with it, with the error if any. */
  sessionChanged(error: Error | null): void {
    this.#mismatch ??= error;
    this.endAfterRunning();
  }

  #abort(): void {
    this.#connection.client.tap.sink = this.#connection.client.tap.next = null;
    this.#connection.batchEnded(true);
    for (const query of this.#pending.splice(0)) query?.retry();
  }

  #end(): void {
    const milliseconds = (performance.now() - this.#sentAt) / this.#queries.length;
    for (const { prepared } of this.#queries) prepared?.noteDuration(milliseconds);
    this.#connection.batchEnded(false);
  }

  /** Runs the other queries on other connections: the first one takes long. */
  unblock(): void {
    this.#pending[0]?.prepared?.noteSlow();
    const blocked = this.#pending.splice(1);
    this.#pending.push(...blocked.map(() => null));
    for (const query of blocked) query?.retry();
  }
}

const IGNORED: StatementLimits = { timeoutMs: 0, isStillNeeded: () => false };

import type pg from "pg";
import { QueryAbandoned, QueryTimeout } from "../core/warehouse/query-errors.js";
import { asTooLarge } from "./errors.js";
import { BACKEND_NOTICE, type Session, type SessionSetup, UNLIMITED } from "./session.js";
import {
  type BatchConnection,
  type PreparedStatement,
  type StatementLimits,
  type SettingStatement,
  StatementBatch,
  type StatementSink,
  type WireQuery,
} from "./statements.js";
import type { WireClient } from "./wire.js";

/** Time beyond `statement_timeout` after which the database counts as hanging. */
const GRACE_MS = 2000;

/** The share of its time limit after which a query counts as cancelled by it: the database has another clock. */
const CLOCKS = 0.9;

/** Time after which a running query counts as blocking the others of its batch (runtime/docs/limits.md). */
const BLOCKING_MS = 50;

export interface ConnectionOptions {
  /** The session's `statement_timeout`; 0: no limit. */
  readonly statementTimeoutMs: number;
  readonly setup: SessionSetup;
  /** Cancels the query of a backend. */
  readonly cancelBackend: (pid: number) => void;
}

class EncodingChanged extends Error {
  constructor() {
    super("An expression of the relation changes client_encoding: its rows cannot be read.");
  }
}

/** A client of the pool. */
export type PooledClient = WireClient & pg.PoolClient;

/** A database connection, and the limits of the query that runs on it. */
export class Connection implements BatchConnection {
  readonly client: PooledClient;
  readonly #session: Session;
  readonly #options: ConnectionOptions;
  readonly #release: (isBroken: boolean) => void;
  #preparedLength = 0;
  #batch: StatementBatch | null = null;
  #limits: StatementLimits | null = null;
  /** Start of its query; of a stream, its last rows. */
  #startedAt = 0;
  /** Start of the query's `statement_timeout`; `Infinity` where it has none. The database counts the time of its reader too. */
  #limitedSince = Infinity;
  #isPaused = false;
  #canceled: Error | null = null;
  #isChanged = false;
  #backendPid: number;
  /** Start of the idle time, by `performance.now()`. */
  freeSince = performance.now();

  constructor(
    client: PooledClient,
    session: Session,
    options: ConnectionOptions,
    release: (isBroken: boolean) => void,
  ) {
    this.client = client;
    this.#session = session;
    this.#backendPid = session.pid;
    this.#options = options;
    this.#release = release;
    if (session.isPooled) client.on("notice", ({ message }) => this.#readBackend(message ?? ""));
    else client.onSetting((name) => this.#settingChanged(name));
  }

  /** Its backend changes per transaction (`BACKEND_NOTICE`). */
  #readBackend(message: string): void {
    if (message.startsWith(BACKEND_NOTICE)) this.#backendPid = Number(message.slice(BACKEND_NOTICE.length));
  }

  /**
   * An expression of a view has changed the session (`set_config`), or the server has read its configuration again: the session ends
   * with its query. Rows in another encoding are not served. The server reports what changes the text of values; it does not report
   * other settings, such as `statement_timeout`.
   */
  #settingChanged(name: string): void {
    this.#isChanged = true;
    this.#batch?.sessionChanged(name === "client_encoding" ? new EncodingChanged() : null);
  }

  /** Length of the texts of the statements prepared on this connection. */
  get preparedLength(): number {
    return this.#preparedLength;
  }

  /** Process id of the backend that runs its transaction. */
  get backendPid(): number {
    return this.#backendPid;
  }

  hasPrepared({ name }: PreparedStatement): boolean {
    return this.client.hasPrepared(name);
  }

  /** Whether it is behind a pooler: the next statement may then run in another session, which has prepared nothing. */
  get isPooled(): boolean {
    return this.#session.isPooled;
  }

  /** Runs statements: one, or several that are prepared here. Then it returns to the pool; a broken one is closed. */
  run(queries: readonly WireQuery[]): void {
    for (const { statement, prepared } of queries)
      if (prepared !== null && !this.hasPrepared(prepared)) this.#preparedLength += statement.text.length;
    this.#batch = new StatementBatch(queries, this);
    this.#batch.awaitNext();
  }

  batchEnded(isBroken: boolean): void {
    this.#limits = null;
    this.#batch = null;
    this.#isPaused = false;
    this.#release(isBroken || this.#isChanged || this.#canceled !== null);
  }

  /** Behind a pooler the session is another one each time. A client that reads slowly would exceed the time limit. */
  settingsOf({ mayBeLong }: StatementSink): SettingStatement | null {
    if (this.#session.isPooled) return { name: "", text: this.#options.setup.transactionText(mayBeLong) };
    return mayBeLong ? { name: UNLIMITED } : null;
  }

  queryStarted(limits: StatementLimits, mayBeLong: boolean): void {
    this.#limits = limits;
    this.#startedAt = performance.now();
    this.#limitedSince = mayBeLong ? Infinity : this.#startedAt;
  }

  /** An operator who cancels a query mostly does so before its time limit. */
  errorOf(error: Error): Error {
    const limitMs = this.#options.statementTimeoutMs || Infinity;
    return this.#canceled ?? asTooLarge(error, performance.now() - this.#limitedSince >= CLOCKS * limitMs);
  }

  /** Cancels a query that takes too long or whose result is no longer needed, and closes the connection. */
  check(now: number): void {
    if (this.#limits === null) return;
    const milliseconds = this.runningMs(now);
    const isLate = milliseconds > this.#timeLimit(this.#limits);
    if (isLate || !this.#limits.isStillNeeded())
      this.cancel(isLate ? new QueryTimeout() : new QueryAbandoned());
    else if (milliseconds > BLOCKING_MS) this.#batch?.unblock();
  }

  /** How long its query has been running, in milliseconds; of a stream, since its last rows. */
  runningMs(now: number): number {
    return this.#limits === null || this.#isPaused ? 0 : now - this.#startedAt;
  }

  /** The query has become a stream: the others of its batch run elsewhere. */
  unblock(): void {
    this.#batch?.unblock();
  }

  /** Stops reading, so that PostgreSQL stops sending. */
  pause(): void {
    this.#isPaused = true;
    this.client.tap.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#startedAt = performance.now();
    this.client.tap.resume();
  }

  /** Closes the connection. Its query or transaction rejects with the reason. */
  cancel(reason: Error): void {
    if (this.#canceled !== null) return;
    this.#limits = null;
    this.#canceled = reason;
    this.#batch?.endAfterRunning();
    if (!this.#session.isPooled) this.#options.cancelBackend(this.#backendPid);
    // During a query `client.end()` closes the socket, which ends once everything is read.
    void this.client.end();
    if (this.#isPaused) this.resume();
  }

  /** Leaves the session's limit to the database where it has one for the query, so that the connection survives it. */
  #timeLimit({ timeoutMs }: StatementLimits): number {
    const { statementTimeoutMs } = this.#options;
    const session = statementTimeoutMs === 0 ? Infinity : statementTimeoutMs;
    const own = timeoutMs === 0 ? Infinity : timeoutMs;
    return own < session || this.#limitedSince === Infinity ? Math.min(own, session) : session + GRACE_MS;
  }
}

/** Time limit for connecting. */
const CONNECT_TIMEOUT_MS = 10_000;

export function connectionConfig(url: string): pg.PoolConfig {
  return {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "routewright",
  };
}

/** `pg-pool` attaches the client to the error; the log would print it. */
export function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}

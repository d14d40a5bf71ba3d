import type pg from "pg";
import { QueryAbandoned, QueryTimeout } from "../warehouse.js";
import {
  BACKEND_NOTICE,
  type BatchConnection,
  type PreparedStatement,
  type QueryLimits,
  setLocal,
  type Settings,
  type SettingStatement,
  StatementBatch,
  type StatementSink,
  type WireQuery,
} from "./statements.js";
import type { WireClient } from "./wire.js";

/** Time beyond `statement_timeout` after which the database counts as hanging. */
const GRACE_MS = 2000;

/** Time after which a running query counts as blocking the others of its batch (runtime/docs/limits.md). */
const BLOCKING_MS = 50;

/** SQLSTATE query_canceled: the query exceeded `statement_timeout`. */
const CANCELED = "57014";

export interface ConnectionOptions {
  /** The session's `statement_timeout`; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Cancels the query of a backend. */
  readonly cancelBackend: (pid: number) => void;
}

/** How long a query keeps its connection while it waits for another session's lock (runtime/docs/limits.md). */
const LOCK_TIMEOUT_MS = 50;

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
  #limits: QueryLimits | null = null;
  #startedAt = 0;
  #isPaused = false;
  #canceled: Error | null = null;
  #backendPid: number;
  /** Start of the idle time, by `performance.now()`. */
  freeSince = 0;

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
  }

  /** Its backend changes per transaction (`BACKEND_NOTICE`). */
  #readBackend(message: string): void {
    if (message.startsWith(BACKEND_NOTICE)) this.#backendPid = Number(message.slice(BACKEND_NOTICE.length));
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
    this.#release(isBroken || this.#canceled !== null);
  }

  /** Behind a pooler the session is another one each time. A client that reads slowly would exceed the time limit. */
  settingsOf({ mayBeLong }: StatementSink): SettingStatement | null {
    if (!this.#session.isPooled) return mayBeLong ? { name: UNLIMITED } : null;
    const text = setLocal({
      ...sessionSettings(mayBeLong ? 0 : this.#options.statementTimeoutMs),
      transaction_read_only: "on",
      client_min_messages: "notice",
    });
    return { name: "", text };
  }

  queryStarted(limits: QueryLimits): void {
    this.#limits = limits;
    this.#startedAt = performance.now();
  }

  errorOf(error: Error & { readonly code?: unknown }): Error {
    return this.#canceled ?? (error.code === CANCELED ? new QueryTimeout(error) : error);
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

  /** Leaves `statement_timeout` to the database, so that the connection survives it. */
  #timeLimit({ timeoutMs }: QueryLimits): number {
    const { statementTimeoutMs } = this.#options;
    const session = statementTimeoutMs === 0 ? Infinity : statementTimeoutMs;
    const own = timeoutMs === 0 ? Infinity : timeoutMs;
    return own < session ? own : session + GRACE_MS;
  }
}

/** Time limit for connecting, and for setting up the session. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Properties of a new session. */
interface Session {
  /** Process id of its backend; changes behind a pooler. */
  readonly pid: number;
  /** Whether it is behind a pooler. */
  readonly isPooled: boolean;
}

/** Removes `query_timeout` from the address: each query has its own time limit. */
export function connectionConfig(url: string): pg.PoolConfig {
  return {
    connectionString: url.replace(/(?<=[?&])query_timeout=[^&]*&?/g, ""),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "routewright",
  };
}

/** Applies the settings, with SET: poolers reject unknown settings in the startup packet. */
export async function prepareSession(client: pg.ClientBase, statementTimeoutMs: number): Promise<Session> {
  const settings = Object.entries(sessionSettings(statementTimeoutMs)).map(
    ([name, value]) => `SET ${name} = '${value}'`,
  );
  const config: pg.QueryConfig & { query_timeout: number } = {
    text: `${[...settings, CHECK_CLIENT_CONNECTION].join("; ")}; SELECT pg_backend_pid() AS pid`,
    // A database that hangs now must not block all waiting queries.
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  const results = (await client.query<{ pid: number }>(config)) as unknown as pg.QueryResult<{
    pid: number;
  }>[];
  const pid = results.at(-1)?.rows[0]?.pid ?? 0;
  const { processID = pid } = client as { readonly processID?: number | null };
  const isPooled = processID !== pid;
  if (!isPooled) await client.query({ ...config, text: PREPARE_UNLIMITED });
  return { pid, isPooled };
}

/** The name of a statement that lifts `statement_timeout` to the end of the transaction. */
const UNLIMITED = "rw_unlimited";

/** It has no row. As a `DO` block it took PostgreSQL 60 to 70 µs with each query of an endpoint without a limit. */
const PREPARE_UNLIMITED = `PREPARE ${UNLIMITED} AS SELECT WHERE set_config('statement_timeout', '0', true) IS NULL`;

/** Fixes the output format of values, whatever the database or the role has set, and makes the session read-only. */
function sessionSettings(statementTimeoutMs: number): Settings {
  return {
    timezone: "UTC",
    datestyle: "ISO",
    intervalstyle: "postgres",
    bytea_output: "hex",
    extra_float_digits: "1",
    default_transaction_read_only: "on",
    jit: "off",
    // One costly query would else take as many processors as the database has (runtime/docs/limits.md).
    max_parallel_workers_per_gather: "0",
    lock_timeout: String(LOCK_TIMEOUT_MS),
    statement_timeout: String(Math.trunc(statementTimeoutMs)),
  };
}

/** Makes the database detect a closed connection during a query. Some platforms do not support it. */
const CHECK_CLIENT_CONNECTION =
  "DO $$ BEGIN SET client_connection_check_interval = '500ms'; EXCEPTION WHEN OTHERS THEN NULL; END $$";

/** `pg-pool` attaches the client to the error; the log would print it. */
export function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}

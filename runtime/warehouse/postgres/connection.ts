import type pg from "pg";
import { QueryAbandoned, QueryTimeout } from "../warehouse.js";
import type { Statement } from "../sql.js";
import type { Lease } from "../fair-queue.js";
import {
  type BatchedQuery,
  type Done,
  type PreparedStatement,
  type QueryLimits,
  StatementBatch,
  type Texts,
} from "./prepared-statements.js";

/** Time beyond `statement_timeout` after which the database counts as hanging. */
const GRACE_MS = 2000;

/** Time after which a running query counts as blocking the others of its batch (runtime/README.md, Limits). */
const BLOCKING_MS = 50;

/** SQLSTATE query_canceled: the query exceeded `statement_timeout`. */
const CANCELED = "57014";

export interface ConnectionOptions {
  /** The session's `statement_timeout`; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Cancels the query of a backend. */
  readonly cancelBackend: (pid: number) => void;
}

/** How long a query keeps its connection while it waits for another session's lock (runtime/README.md, Limits). */
const LOCK_TIMEOUT_MS = 50;

/** Disables pg's type parsers: columns stay text. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** A database connection, and the limits of the query that runs on it. */
export class Connection {
  readonly client: pg.PoolClient;
  readonly #session: Session;
  readonly #options: ConnectionOptions;
  readonly #release: (isBroken: boolean) => void;
  /** Names of statements; true once one has run. */
  readonly #prepared = new Map<string, boolean>();
  #preparedLength = 0;
  #batch: StatementBatch | null = null;
  #lease: Lease | null = null;
  #limits: QueryLimits | null = null;
  #startedAt = 0;
  #canceled: Error | null = null;
  #backendPid: number;
  /** Start of the idle time, by `performance.now()`. */
  freeSince = 0;

  constructor(
    client: pg.PoolClient,
    session: Session,
    options: ConnectionOptions,
    release: (isBroken: boolean) => void,
  ) {
    this.client = client;
    this.#session = session;
    this.#backendPid = session.pid;
    this.#options = options;
    this.#release = release;
  }

  /** Length of the texts of the statements prepared on this connection. */
  get preparedLength(): number {
    return this.#preparedLength;
  }

  /** Process id of the backend that runs its transaction. */
  get backendPid(): number {
    return this.#backendPid;
  }

  hasPrepared(statement: PreparedStatement): boolean {
    return this.#prepared.get(statement.name) === true;
  }

  leasedTo(lease: Lease): this {
    this.#lease = lease;
    return this;
  }

  /** Returns the connection to the pool; a broken one is closed. */
  release({ isBroken }: { readonly isBroken: boolean }): void {
    const lease = this.#lease;
    this.#lease = null;
    lease?.release();
    this.#release(isBroken || this.#canceled !== null);
  }

  /** Returns the connection to the pool; a broken one is closed. The result releases the caller's lease. */
  releaseKeepingLease(isBroken: boolean): () => void {
    const lease = this.#lease;
    this.#lease = null;
    lease?.releaseConnection();
    this.#release(isBroken || this.#canceled !== null);
    return () => lease?.release();
  }

  /** Runs a single statement. A callback, since a promise per step would cost more than a small query. */
  query(statement: Statement, prepared: PreparedStatement | null, limits: QueryLimits, done: Done): void {
    if (this.#session.isPooled)
      void this.#queryPooled(statement, limits).then(
        (rows) => done(null, rows),
        (error: unknown) => done(error as Error, []),
      );
    else if (prepared === null) this.#send(queryOf(statement), limits, done);
    else this.#prepare(statement, prepared, limits, done);
  }

  /** Runs a statement and keeps it prepared. */
  #prepare(statement: Statement, prepared: PreparedStatement, limits: QueryLimits, done: Done): void {
    const { name } = prepared;
    if (!this.#prepared.has(name)) {
      this.#prepared.set(name, false);
      this.#preparedLength += statement.text.length;
    }
    this.#send({ ...queryOf(statement), name }, limits, (error, rows) => {
      if (error === null) {
        this.#prepared.set(name, true);
        prepared.noteDuration(performance.now() - this.#startedAt);
      }
      done(error, rows);
    });
  }

  /** Runs statements that are prepared here, and returns the connection to the pool. */
  runBatch(queries: readonly BatchedQuery[]): void {
    this.#batch = new StatementBatch(queries, {
      client: this.client,
      onStart: (limits) => this.#start(limits),
      errorOf: (error) => this.#errorOf(error),
      onEnd: (isBroken) => {
        this.#limits = null;
        this.#batch = null;
        this.#release(isBroken || this.#canceled !== null);
      },
    });
    this.#batch.awaitNext();
  }

  async #queryPooled(statement: Statement, limits: QueryLimits): Promise<readonly Texts[]> {
    await this.begin(limits);
    try {
      return await this.run(queryOf(statement), limits);
    } finally {
      await this.run({ text: "ROLLBACK" }, limits);
    }
  }

  /** Begins a read-only transaction. */
  async begin(limits: QueryLimits): Promise<void> {
    const { isPooled } = this.#session;
    const text = isPooled ? transactionSettings(this.#options.statementTimeoutMs) : "BEGIN READ ONLY";
    await this.run({ text }, limits);
  }

  /** Updates `backendPid` for the open transaction: behind a pooler it changes per transaction. */
  async fetchBackendPid(limits: QueryLimits): Promise<void> {
    if (!this.#session.isPooled) return;
    const [row] = await this.run({ text: "SELECT pg_backend_pid()" }, limits);
    this.#backendPid = Number(row?.[0]);
  }

  run(config: pg.QueryConfig, limits: QueryLimits): Promise<readonly Texts[]> {
    return new Promise((resolve, reject) =>
      this.#send(config, limits, (error, rows) => (error ? reject(error) : resolve(rows))),
    );
  }

  #send({ name, text, values }: pg.QueryConfig, limits: QueryLimits, done: Done): void {
    this.#start(limits);
    const config = { name, text, values, rowMode: "array", types: AS_TEXT } as pg.QueryArrayConfig;
    this.client.query<(string | null)[]>(config, (error: Error | null, result) => {
      this.#limits = null;
      if (error) done(this.#errorOf(error), []);
      // Several statements in one text give several results; none of them is used.
      else done(null, result.rows);
    });
  }

  #start(limits: QueryLimits): void {
    this.#limits = limits;
    this.#startedAt = performance.now();
  }

  #errorOf(error: Error): Error {
    return this.#canceled ?? timeoutOf(error) ?? error;
  }

  /** Cancels a query that takes too long or whose result is no longer needed, and closes the connection. */
  check(now: number): void {
    if (this.#limits === null) return;
    const milliseconds = now - this.#startedAt;
    const isLate = milliseconds > this.#timeLimit(this.#limits);
    if (isLate || !this.#limits.isStillNeeded())
      this.cancel(isLate ? new QueryTimeout() : new QueryAbandoned());
    else if (milliseconds > BLOCKING_MS) this.#batch?.unblock();
  }

  /** How long its query has been running, in milliseconds. */
  runningMs(now: number): number {
    return this.#limits === null ? 0 : now - this.#startedAt;
  }

  /** Closes the connection. Its query or transaction rejects with the reason. */
  cancel(reason: Error): void {
    this.#limits = null;
    this.#canceled = reason;
    this.#batch?.endAfterRunning();
    if (!this.#session.isPooled) this.#options.cancelBackend(this.#backendPid);
    // During a query `client.end()` closes the socket.
    void this.client.end();
  }

  /** Leaves `statement_timeout` to the database, so that the connection survives it. */
  #timeLimit({ timeoutMs }: QueryLimits): number {
    const { statementTimeoutMs } = this.#options;
    const session = statementTimeoutMs === 0 ? Infinity : statementTimeoutMs;
    const own = timeoutMs === 0 ? Infinity : timeoutMs;
    return own < session ? own : session + GRACE_MS;
  }
}

/** The statement as `pg` takes it. The cast is safe: `pg` only reads the values. */
export function queryOf({ text, values }: Statement): pg.QueryConfig {
  return { text, values: values as unknown[] };
}

function timeoutOf(error: Error): QueryTimeout | null {
  return (error as { code?: unknown }).code === CANCELED ? new QueryTimeout(error) : null;
}

/** Time limit for connecting, and for setting up the session. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Properties of a new session. */
interface Session {
  /** Process id of its backend; changes behind a pooler. */
  readonly pid: number;
  /** Whether it is behind a pooler: the next transaction may then run in another session, without these settings. */
  readonly isPooled: boolean;
}

/** Removes `query_timeout` from the address: each query has its own time limit. */
export function connectionConfig(url: string): pg.PoolConfig {
  const address = new URL(url);
  address.searchParams.delete("query_timeout");
  return {
    connectionString: address.href,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "routewright",
  };
}

/** Applies the settings, with SET: poolers reject unknown settings in the startup packet. */
export async function prepareSession(client: pg.ClientBase, statementTimeoutMs: number): Promise<Session> {
  const settings = sessionSettings(statementTimeoutMs).map((setting) => `SET ${setting}`);
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
  return { pid, isPooled: processID !== pid };
}

/** Begins a transaction behind a pooler. The settings end with it. */
function transactionSettings(statementTimeoutMs: number): string {
  const settings = sessionSettings(statementTimeoutMs).map((setting) => `SET LOCAL ${setting}`);
  return ["BEGIN READ ONLY", ...settings].join("; ");
}

/** Fixes the output format of values, whatever the database or the role has set, and makes the session read-only. */
function sessionSettings(statementTimeoutMs: number): string[] {
  return [
    "timezone = 'UTC'",
    "datestyle = 'ISO'",
    "intervalstyle = 'postgres'",
    "bytea_output = 'hex'",
    "extra_float_digits = 1",
    "default_transaction_read_only = on",
    "jit = off",
    // One costly query would else take as many processors as the database has (runtime/README.md, Limits).
    "max_parallel_workers_per_gather = 0",
    `lock_timeout = ${String(LOCK_TIMEOUT_MS)}`,
    `statement_timeout = ${String(Math.trunc(statementTimeoutMs))}`,
  ];
}

/** Makes the database detect a closed connection during a query. Some platforms do not support it. */
const CHECK_CLIENT_CONNECTION =
  "DO $$ BEGIN SET client_connection_check_interval = '500ms'; EXCEPTION WHEN OTHERS THEN NULL; END $$";

/** `pg-pool` attaches the client to the error; the log would print it. */
export function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}

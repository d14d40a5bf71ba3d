import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import { type IsStillNeeded, QueryAbandoned, QueryTimeout } from "../query/warehouse.js";
import type { Statement } from "../query/sql.js";
import type { Lease } from "./fair-queue.js";
import { type Session, transactionSettings } from "./session.js";

/** A query that the database should have cancelled itself is given this long; then the database hangs. */
const GRACE_MS = 2000;

/** SQLSTATE of a query that `statement_timeout` has ended. */
const CANCELED = "57014";

/** How long a query may take, and whether its answer is still needed. */
export interface QueryLimits {
  /** 0: no limit but the session's. */
  readonly timeoutMs: number;
  readonly isStillNeeded: IsStillNeeded;
}

/** The columns of a row as the database wrote them. */
export type Texts = readonly (string | null)[];

/** Receives the rows of a statement, or its error. */
export type Done = (error: Error | null, rows: readonly Texts[]) => void;

export interface ConnectionOptions {
  /** What the session's `statement_timeout` is; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Asks the database to cancel what a backend runs. */
  readonly cancelBackend: (pid: number) => void;
}

/** Every column is wanted as the database wrote it. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** A database connection, and the limits of the query that runs on it. */
export class Connection {
  readonly client: pg.PoolClient;
  readonly #session: Session;
  readonly #options: ConnectionOptions;
  readonly #release: (isBroken: boolean) => void;
  readonly #prepared = new Set<string>();
  #lease: Lease | null = null;
  #limits: QueryLimits | null = null;
  #startedAt = 0;
  #canceled: Error | null = null;
  #backendPid: number;
  /** Since when it is unused, by `performance.now()`. */
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

  /** Statements that the database holds for it. */
  get preparedCount(): number {
    return this.#prepared.size;
  }

  /** The database process that runs its transaction. */
  get backendPid(): number {
    return this.#backendPid;
  }

  leasedTo(lease: Lease): this {
    this.#lease = lease;
    return this;
  }

  /** Gives it back; one that is broken is closed. `timedOut`: its query ran into its time limit. */
  release(isBroken: boolean, timedOut = false): void {
    const lease = this.#lease;
    this.#lease = null;
    lease?.release(timedOut);
    this.#release(isBroken || this.#canceled !== null);
  }

  /** Hands the connection back while the caller keeps its place: returns what gives that back. */
  releaseKeepingPlace(isBroken: boolean): () => void {
    const lease = this.#lease;
    this.#lease = null;
    lease?.releaseConnection();
    this.#release(isBroken || this.#canceled !== null);
    return () => lease?.release();
  }

  /** Runs a statement on its own. `done` is called once: a promise for each step would cost more than a small query. */
  query(statement: Statement, limits: QueryLimits, done: Done): void {
    if (this.#session.isPooled)
      void this.#queryPooled(statement, limits).then(
        (rows) => done(null, rows),
        (error: unknown) => done(error as Error, []),
      );
    else this.#send(prepared(statement, this.#prepared), limits, done);
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

  /** Finds out, in a transaction, which database process runs it: behind a pooler each may be another one. */
  async identify(limits: QueryLimits): Promise<void> {
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
    this.#limits = limits;
    this.#startedAt = performance.now();
    const config = { name, text, values, rowMode: "array", types: AS_TEXT } as pg.QueryArrayConfig;
    this.client.query<(string | null)[]>(config, (error: Error | null, result) => {
      this.#limits = null;
      if (error) done(this.#canceled ?? timeoutOf(error) ?? error, []);
      // Several statements in one text give several results, none of which is looked at.
      else done(null, result.rows);
    });
  }

  /** Ends a query that takes too long or whose answer is not needed any more, with its connection. */
  check(now: number): void {
    if (this.#limits === null) return;
    const isLate = now - this.#startedAt > this.#timeLimit(this.#limits);
    if (!isLate && this.#limits.isStillNeeded()) return;
    this.cancel(isLate ? new QueryTimeout() : new QueryAbandoned());
  }

  /** Ends the connection, and with it the query or the transaction on it, which then rejects with the reason. */
  cancel(reason: Error): void {
    this.#limits = null;
    this.#canceled = reason;
    if (!this.#session.isPooled) this.#options.cancelBackend(this.#backendPid);
    // `pg` closes the socket of a client that is ended during a query.
    void this.client.end();
  }

  /** The database is the better judge of its own limit: the connection outlives that. */
  #timeLimit({ timeoutMs }: QueryLimits): number {
    const { statementTimeoutMs } = this.#options;
    const session = statementTimeoutMs === 0 ? Infinity : statementTimeoutMs;
    const own = timeoutMs === 0 ? Infinity : timeoutMs;
    return own < session ? own : session + GRACE_MS;
  }
}

/** What `pg` takes; the values are only read. */
export function queryOf({ text, values }: Statement): pg.QueryConfig {
  return { text, values: values as unknown[] };
}

function timeoutOf(error: Error): QueryTimeout | null {
  return (error as { code?: unknown }).code === CANCELED ? new QueryTimeout(error) : null;
}

/** Texts that have a name. Callers choose filters and order, so they are bounded and the least recently used go. */
const NAMES = new LRUCache<string, string>({ max: 1000 });

/** A statement is prepared from its second use on: one that comes once would only fill the database's memory. */
const USED_ONCE = "";

/** Derives the name from the text, so that one name is one text on every connection. */
function prepared(statement: Statement, onConnection: Set<string>): pg.QueryConfig {
  const known = NAMES.get(statement.text);
  if (known === undefined) NAMES.set(statement.text, USED_ONCE);
  if (known === undefined) return queryOf(statement);
  const name = known === USED_ONCE ? `rw_${hash("sha1", statement.text).slice(0, 24)}` : known;
  if (known === USED_ONCE) NAMES.set(statement.text, name);
  onConnection.add(name);
  return { ...queryOf(statement), name };
}

import pg from "./connection/pg.js";
import { Connection, type ConnectionOptions, connectionConfig } from "./connect.js";
import { isConnectionRefusal } from "./errors.js";
import {
  ACQUIRE_TIMEOUT_MS,
  DatabaseUnreachable,
  Overloaded,
  QueryAbandoned,
} from "../core/warehouse/query-errors.js";
import type { FairQueue } from "../core/warehouse/fair-queue.js";
import { PeriodicCheck } from "../core/warehouse/periodic-check.js";
import type { PreparedStatement } from "./statements.js";
import { type PoolQuery, Run } from "./run.js";
import { WireClient } from "./wire.js";
import { Timer } from "../core/model/timer.js";

/** How long an idle connection is kept, and how often it is checked. */
const IDLE_MS = 10_000;
const IDLE_CHECK_MS = 1000;

/** Interval of the check for time limits and abandoned queries. */
const CHECK_MS = 100;

/** Exponential backoff after a failed attempt to connect. */
const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 1000;

/**
 * Length of the prepared statements' texts per connection, in characters. Beyond it the connection is replaced, which frees
 * their plans in the database: a plan takes about 50 times the length of its text.
 */
const MAX_PREPARED_LENGTH = 600_000;

/**
 * Expected time of the queries that are sent together: each waits for those before it. Sent one by one, requests for a row took
 * 46 µs of PostgreSQL's processor time instead of 25 and 96 of Node's instead of 71: 8,000 a second instead of 11,000.
 */
const BATCH_MS = 1;

export interface ConnectionPoolOptions extends ConnectionOptions {
  /** A `postgres://` address. */
  readonly url: string;
  readonly queue: FairQueue;
  /** Each stream has a connection beside those of queries. */
  readonly streams: FairQueue;
  /** Receives the error of a connection that broke while idle. */
  readonly onIdleError: (error: Error) => void;
}

/** Queries for one connection, and how long they will take. */
interface Batch {
  readonly connection: Connection;
  readonly runs: Run[];
  expectedMs: number;
}

/**
 * Gives the connections of a `pg` pool to the queries to which a `FairQueue` has given a place. Connections stay checked out
 * of the `pg` pool between queries: checking them in and out takes longer than the rest of a small request.
 */
export class ConnectionPool {
  readonly queue: FairQueue;
  readonly streams: FairQueue;
  readonly #options: ConnectionPoolOptions;
  readonly #pool: pg.Pool;
  readonly #size: number;
  /** A stack: the connection used last is reused first, so that the others become idle. */
  readonly #free: Connection[] = [];
  /** Bounded by the size of the pool. */
  readonly #busy = new Set<Connection>();
  /** Queries that wait for a free connection. */
  readonly #ready: Run[] = [];
  /** Queries that are sent together once connections are assigned. */
  #batch: Batch | null = null;
  #assignment: NodeJS.Immediate | null = null;
  #opening = 0;
  /** A connection that a health check opens. */
  #probe: Promise<void> | null = null;
  #backoffMs = 0;
  #isBackingOff = false;
  #lastError: Error | null = null;
  #isClosed = false;
  /** When the oldest attempt to connect began. */
  #openingSince = 0;
  /** The error of all queries while the database does not respond. */
  #suspension: Overloaded | null = null;
  readonly #queryChecks = new PeriodicCheck(CHECK_MS, () => this.#checkQueries());
  readonly #idleChecks = new PeriodicCheck(IDLE_CHECK_MS, () => this.#closeIdle());

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
    this.queue = options.queue;
    this.streams = options.streams;
    this.#size = this.queue.capacity + this.streams.capacity;
    const config = { ...connectionConfig(options.url), max: this.#size, Client: WireClient };
    // Here rather than at the first query: a server whose pg cannot give rows as bytes does not start.
    new WireClient();
    this.#pool = new pg.Pool(config);
    this.#pool.on("error", options.onIdleError);
  }

  /** Runs a statement. Its reader's `end` gets `Overloaded`, or the reason why no connection can be made. */
  run(query: PoolQuery): void {
    const { queued, reader, isStream = false } = query;
    if (this.#suspension !== null) return reader.end(this.#suspension);
    const { caller, relation, isStillNeeded } = queued;
    (isStream ? this.streams : this.queue).add({
      caller,
      relation,
      isStillNeeded,
      start: (lease) => this.send(new Run(query, lease, this)),
      fail: (error) => reader.end(error),
    });
  }

  send(run: Run): void {
    this.#ready.push(run);
    this.#queryChecks.start();
    this.#dispatch();
  }

  #start(run: Run): void {
    if (run.prepared !== null && run.mayShare && this.#addToBatch(run, run.prepared)) return;
    this.#send(this.#takeFree(), [run]);
  }

  #send(connection: Connection, runs: readonly Run[]): void {
    for (const run of runs) {
      run.connection = connection;
      if (connection.isPooled) run.prepared = null;
    }
    connection.run(runs);
  }

  /** Adds a quick query to the batch, or to a new one. False if its statement is not prepared on their connections. */
  #addToBatch(run: Run, prepared: PreparedStatement): boolean {
    const batch = this.#batch;
    const { expectedMs } = prepared;
    if (batch && batch.expectedMs + expectedMs <= BATCH_MS && batch.connection.hasPrepared(prepared)) {
      batch.runs.push(run);
      batch.expectedMs += expectedMs;
      return true;
    }
    if (expectedMs > BATCH_MS || this.#free.at(-1)?.hasPrepared(prepared) !== true) return false;
    this.#sendBatch();
    this.#batch = { connection: this.#takeFree(), runs: [run], expectedMs };
    return true;
  }

  #sendBatch(): void {
    if (this.#batch !== null) this.#send(this.#batch.connection, this.#batch.runs);
    this.#batch = null;
  }

  /** How long the database has left a query or an attempt to connect without an answer, in milliseconds. */
  get longestSilenceMs(): number {
    const now = performance.now();
    const silences = [...this.#busy].map((connection) => connection.runningMs(now));
    return Math.max(0, ...silences, this.#opening > 0 ? now - this.#openingSince : 0);
  }

  /** Whether queries have a connection, or can have one now: a session that is open outlasts its password. */
  async isConnected(): Promise<boolean> {
    if (this.#held === 0 && !this.#isClosed)
      await (this.#probe ??= this.#open().finally(() => (this.#probe = null)));
    return this.#held > 0;
  }

  get #held(): number {
    return this.#busy.size + this.#free.length;
  }

  /** Fails all queries, those that have been running for `olderThanMs` and all that wait or come, until `resume`. */
  suspend(olderThanMs: number): void {
    const error = (this.#suspension = new Overloaded("unresponsive"));
    const now = performance.now();
    for (const connection of this.#busy)
      if (connection.runningMs(now) >= olderThanMs) connection.cancel(error);
    this.#fail(error);
  }

  /** Fails all queries that wait. */
  #fail(error: Error): void {
    for (const queue of [this.queue, this.streams]) queue.fail(error);
    for (const run of this.#ready.splice(0)) run.done(error);
  }

  resume(): void {
    this.#suspension = null;
  }

  /** Closes the connections, busy ones once they are released: until then queries have their limits. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#free.splice(0)) connection.client.release(true);
    this.#fail(new Overloaded("closed"));
    await this.#pool.end();
    this.#queryChecks.close();
    this.#idleChecks.close();
  }

  /** Takes the free connection used last. There is one: `#assign` has checked it. */
  #takeFree(): Connection {
    const connection = this.#free.pop() as Connection;
    this.#busy.add(connection);
    return connection;
  }

  /** Assigns connections after the events that are being processed, so that queries which arrive together are sent together. */
  #dispatch(): void {
    this.#assignment ??= setImmediate(() => {
      this.#assignment = null;
      this.#assign();
    });
  }

  /** Gives free connections to waiting queries, and opens more for the others. */
  #assign(): void {
    while (this.#free.length > 0) {
      const run = this.#ready.shift();
      if (run === undefined) break;
      this.#start(run);
    }
    this.#sendBatch();
    while (this.#needsConnection()) void this.#open();
  }

  #needsConnection(): boolean {
    if (this.#isBackingOff || this.#opening >= this.#ready.length) return false;
    return this.#busy.size + this.#opening < this.#size;
  }

  async #open(): Promise<void> {
    if (this.#opening++ === 0) this.#openingSince = performance.now();
    const opened = await this.#connect()
      .catch((error: unknown) => error as Error)
      .finally(() => this.#opening--);
    if (opened instanceof Error) return this.#failedToConnect(opened);
    this.#backoffMs = 0;
    this.#lastError = null;
    this.#addFree(opened);
    if (this.#isClosed) this.#discard(opened);
    else this.#dispatch();
  }

  async #connect(): Promise<Connection> {
    const client = await this.#pool.connect();
    if (!(client instanceof WireClient)) throw new Error("The pool has made a client of another class.");
    try {
      const session = await this.#options.setup.prepare(client);
      const connection = new Connection(client, session, this.#options, (isBroken) =>
        this.#release(connection, isBroken),
      );
      client.on("error", (error) => this.#onError(connection, error));
      return connection;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** Fails the waiting queries, unless a held connection or a later attempt can still serve them. */
  #failedToConnect(cause: Error): void {
    // Whatever the server says of it, such as of a password.
    const error = (this.#lastError = new DatabaseUnreachable(cause));
    const mayRecover = this.#held + this.#opening > 0 || isConnectionRefusal(cause);
    if (!mayRecover) this.#fail(error);
    if (this.#isBackingOff) return;
    this.#isBackingOff = true;
    this.#backoffMs = Math.min(LONGEST_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, 2 * this.#backoffMs));
    new Timer(this.#backoffMs, () => {
      this.#isBackingOff = false;
      this.#dispatch();
    }).unref();
  }

  #release(connection: Connection, isBroken: boolean): void {
    this.#busy.delete(connection);
    if (isBroken || this.#isClosed || connection.preparedLength > MAX_PREPARED_LENGTH)
      connection.client.release(true);
    else {
      connection.freeSince = performance.now();
      this.#addFree(connection);
    }
    this.#dispatch();
  }

  #addFree(connection: Connection): void {
    this.#free.push(connection);
    this.#idleChecks.start();
  }

  #discard(connection: Connection): void {
    const index = this.#free.indexOf(connection);
    if (index >= 0) this.#free.splice(index, 1);
    connection.client.release(true);
  }

  /** Reports errors of idle connections only: a busy connection's error rejects its query. */
  #onError(connection: Connection, error: Error): void {
    if (!this.#free.includes(connection)) return;
    this.#discard(connection);
    this.#options.onIdleError(error);
  }

  /** Returns whether queries are left. */
  #checkQueries(): boolean {
    const now = performance.now();
    for (const connection of this.#busy) connection.check(now);
    for (const run of [...this.#ready]) {
      const isLate = now - run.since > ACQUIRE_TIMEOUT_MS;
      if (!isLate && run.limits.isStillNeeded()) continue;
      this.#ready.splice(this.#ready.indexOf(run), 1);
      run.done(isLate ? (this.#lastError ?? new Overloaded("timeout")) : new QueryAbandoned());
    }
    return this.#busy.size + this.#ready.length > 0;
  }

  /** Returns whether free connections are left. */
  #closeIdle(): boolean {
    const now = performance.now();
    while (this.#free[0] && now - this.#free[0].freeSince > IDLE_MS) this.#discard(this.#free[0]);
    return this.#free.length > 0;
  }
}

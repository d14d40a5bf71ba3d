import pg from "pg";
import { type IsStillNeeded, QueryTimeout } from "../query/warehouse.js";
import type { Statement } from "../query/sql.js";
import {
  Connection,
  type ConnectionOptions,
  type QueryLimits,
  type Texts,
  connectionConfig,
  prepareSession,
} from "./connection.js";
import { isConnectionRefusal, isStatementError } from "./database-errors.js";
import { FairQueue, type Lease, type QueryTicket } from "./fair-queue.js";

/** How long a query may wait for a connection. */
const ACQUIRE_TIMEOUT_MS = 10_000;

/** How long an idle connection is kept. */
const IDLE_MS = 10_000;

/** Interval of the check for time limits, abandoned queries and idle connections. */
const CHECK_MS = 100;

/** Exponential backoff after a failed attempt to connect. */
const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 1000;

/** Prepared statements per connection. Beyond it the connection is replaced, which frees their plans in the database. */
const MAX_PREPARED = 500;

const OVERLOADED = {
  queueFull: "The queue for database connections, or the query's share of it, is full.",
  timeout: `No database connection became available within ${String(ACQUIRE_TIMEOUT_MS / 1000)} seconds.`,
};

/** A query gets no connection, since more queries arrive than the database can serve. */
export class Overloaded extends Error {
  constructor(reason: keyof typeof OVERLOADED) {
    super(OVERLOADED[reason]);
  }
}

export interface ConnectionPoolOptions extends ConnectionOptions {
  /** A `postgres://` address. */
  readonly url: string;
  /** Connections held at most. */
  readonly size: number;
  /** Queries that may wait for one. */
  readonly maxWaiting: number;
  /** Connections for one caller. Default: its share of the pool. */
  readonly perCaller?: number;
  /** Whether there is memory for another result. */
  readonly hasMemory?: () => boolean;
  /** Receives the error of a connection that broke while idle. */
  readonly onIdleError: (error: Error) => void;
}

/**
 * Assigns the connections of a `pg` pool to the queries of a `FairQueue`. Connections stay checked out of the `pg` pool
 * between queries: checking them in and out takes longer than the rest of a small request.
 */
export class ConnectionPool {
  readonly queue: FairQueue;
  readonly #options: ConnectionPoolOptions;
  readonly #pool: pg.Pool;
  /** A stack: the connection used last is reused first, so that the others become idle. */
  readonly #free: Connection[] = [];
  readonly #busy = new Set<Connection>();
  #opening = 0;
  #backoffMs = 0;
  #isBackingOff = false;
  #lastError: Error | null = null;
  #isClosed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
    this.queue = new FairQueue({
      capacity: options.size,
      maxWaiting: options.maxWaiting,
      ...(options.perCaller !== undefined && { perCaller: options.perCaller }),
    });
    this.#pool = new pg.Pool({ ...connectionConfig(options.url), max: options.size });
    this.#pool.on("error", options.onIdleError);
    // A connection that is lost while it is set up rejects the attempt; without a listener the process would end.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
    // Results that arrived while the event loop was blocked are read before timeouts are checked.
    this.#timer = setInterval(() => setImmediate(() => this.#check()), CHECK_MS).unref();
  }

  /** Waits for a connection. Rejects with `Overloaded`, or with the reason why none can be made. */
  acquire(ticket: QueryTicket, isStillNeeded: IsStillNeeded): Promise<Connection> {
    return new Promise((resolve, reject) => this.#enqueue(ticket, isStillNeeded, resolve, reject));
  }

  /** Runs a single statement. */
  run(statement: Statement, ticket: QueryTicket, limits: QueryLimits): Promise<readonly Texts[]> {
    return new Promise((resolve, reject) => {
      const start = (connection: Connection): void =>
        connection.query(statement, limits, (error, rows) => {
          const isBroken = error !== null && !isStatementError(error);
          connection.release({ isBroken, timedOut: error instanceof QueryTimeout });
          if (error) reject(error);
          else resolve(rows);
        });
      this.#enqueue(ticket, limits.isStillNeeded, start, reject);
    });
  }

  #enqueue(
    { callerId, tier, relation }: QueryTicket,
    isStillNeeded: IsStillNeeded,
    onConnection: (connection: Connection) => void,
    fail: (error: Error) => void,
  ): void {
    if (this.#isClosed) return fail(new Error("The database connections are closed."));
    const start = (lease: Lease): void => onConnection(this.#leaseFree(lease));
    if (!this.queue.add({ callerId, tier, relation, isStillNeeded, start, fail }))
      return fail(new Overloaded("queueFull"));
    this.#dispatch();
  }

  /** Closes the connections, busy ones once they are released. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const connection of this.#free.splice(0)) connection.client.release(true);
    for (const waiter of this.queue.drain()) waiter.fail(new Error("The database connections are closed."));
    await this.#pool.end();
  }

  /** Leases the free connection used last. There is one: `#dispatch` has checked it. */
  #leaseFree(lease: Lease): Connection {
    const connection = this.#free.pop() as Connection;
    this.#busy.add(connection);
    return connection.leasedTo(lease);
  }

  /** Gives free connections to waiting queries, and opens another if more of them may run. */
  #dispatch(): void {
    if (this.queue.waitingCount === 0 || this.#options.hasMemory?.() === false) return;
    while (this.#free.length > 0) {
      const next = this.queue.next();
      if (next === null) return;
      next.waiter.start(next.lease);
    }
    const hasEnoughOpening = this.#opening >= this.queue.waitingCount;
    if (this.#isBackingOff || hasEnoughOpening) return;
    const held = this.#busy.size + this.#opening;
    if (held < this.#options.size && this.queue.hasEligible()) this.#open();
  }

  #open(): void {
    this.#opening++;
    this.#connect().then(
      (connection) => {
        this.#opening--;
        this.#backoffMs = 0;
        this.#free.push(connection);
        if (this.#isClosed) return this.#discard(connection);
        this.#dispatch();
      },
      (error: unknown) => {
        this.#opening--;
        this.#failedToConnect(error as Error);
      },
    );
    // Other waiting queries may need a connection too.
    this.#dispatch();
  }

  async #connect(): Promise<Connection> {
    const client = await this.#pool.connect();
    try {
      const session = await prepareSession(client, this.#options.statementTimeoutMs);
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
  #failedToConnect(error: Error): void {
    this.#lastError = error;
    const mayRecover = this.#busy.size + this.#free.length + this.#opening > 0 || isConnectionRefusal(error);
    if (!mayRecover) for (const waiter of this.queue.drain()) waiter.fail(error);
    if (this.#isBackingOff) return;
    this.#isBackingOff = true;
    this.#backoffMs = Math.min(LONGEST_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, 2 * this.#backoffMs));
    setTimeout(() => {
      this.#isBackingOff = false;
      this.#dispatch();
    }, this.#backoffMs).unref();
  }

  #release(connection: Connection, isBroken: boolean): void {
    this.#busy.delete(connection);
    if (isBroken || this.#isClosed || connection.preparedCount > MAX_PREPARED)
      connection.client.release(true);
    else {
      connection.freeSince = performance.now();
      this.#free.push(connection);
    }
    this.#dispatch();
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

  #check(): void {
    const now = performance.now();
    for (const connection of this.#busy) connection.check(now);
    while (this.#free[0] && now - this.#free[0].freeSince > IDLE_MS) this.#discard(this.#free[0]);
    for (const waiter of this.queue.removeExpired(ACQUIRE_TIMEOUT_MS))
      waiter.fail(
        this.#busy.size > 0 || this.#lastError === null ? new Overloaded("timeout") : this.#lastError,
      );
    // A caller's delay after a timeout may have ended.
    this.#dispatch();
  }
}

import type { FairQueue, Lease, QueuedQuery } from "../core/warehouse/fair-queue.js";
import type { Statement } from "../core/warehouse/sql.js";
import type { Connection } from "./connect.js";
import {
  type PreparedStatement,
  type StatementLimits,
  type StatementSink,
  type WireQuery,
} from "./statements.js";

/** Reads the rows of a statement. */
export interface Reader extends StatementSink {
  /** The statement starts; perhaps again, on another connection. */
  begin(run: Run): void;
  /** All rows have been read, or the statement has failed. */
  end(error: Error | null): void;
}

/** A statement that waits for a connection, or runs. */
export interface PoolQuery {
  readonly statement: Statement;
  /** Null: it is run without being prepared. */
  readonly prepared: PreparedStatement | null;
  readonly queued: QueuedQuery;
  readonly limits: StatementLimits;
  readonly reader: Reader;
  /** Whether it waits for the place of a stream. */
  readonly isStream?: boolean | undefined;
}

/** A run of a query on a connection. */
export class Run implements WireQuery {
  readonly statement: Statement;
  readonly limits: StatementLimits;
  readonly sink: Reader;
  /** Whether its statement is prepared, and what is known of it. */
  prepared: PreparedStatement | null;
  readonly #queued: QueuedQuery;
  readonly #pool: RunPool;
  connection: Connection | null = null;
  readonly since = performance.now();
  #lease: Lease;
  #isStream: boolean;
  /** Whether a client reads it while it runs. */
  #isRead = false;
  #isRenewed = false;

  constructor(query: PoolQuery, lease: Lease, pool: RunPool) {
    this.#queued = query.queued;
    this.#lease = lease;
    this.#pool = pool;
    this.statement = query.statement;
    this.limits = query.limits;
    this.sink = query.reader;
    this.prepared = query.prepared;
    this.#isStream = query.isStream === true;
  }

  /** Whether it may be sent together with others. */
  get mayShare(): boolean {
    return !this.sink.mayBeLong && !this.#isStream && !this.#isRenewed && !this.#lease.isExpectedLong;
  }

  /** Process id of its backend. */
  get backendPid(): number {
    return this.connection?.backendPid ?? 0;
  }

  begin(): void {
    this.sink.begin(this);
  }

  /** Others use the connection from now on: it reads again, and nothing that follows pauses or cancels it. */
  done(error: Error | null): void {
    const { connection } = this;
    this.connection = null;
    if (this.#isRead) connection?.resume();
    if (this.#isRead) this.#lease.releaseConnection();
    else this.#lease.release();
    this.sink.end(error);
  }

  retry(): void {
    this.#pool.send(this);
  }

  get isRenewed(): boolean {
    return this.#isRenewed;
  }

  renew(): void {
    this.#isRenewed = true;
    this.#pool.send(this);
  }

  /** Makes it a stream, whose time limit is that between two rows. False where no place for a stream is free. */
  becomeStream(): boolean {
    this.connection?.unblock();
    if (!this.#isStream) {
      const lease = this.#pool.streams.tryAcquire(this.#queued);
      if (lease === null) return false;
      this.#lease.release();
      this.#lease = lease;
    }
    return (this.#isRead = this.#isStream = true);
  }

  pause(): void {
    this.connection?.pause();
  }

  resume(): void {
    this.connection?.resume();
  }

  /** Ends the statement with its connection; the reader's `end` gets the reason. */
  cancel(reason: Error): void {
    this.connection?.cancel(reason);
  }

  /** Releases the caller's share of a stream, whose connection is released at the end of its rows. */
  release(): void {
    this.#lease.release();
  }
}

/** What a run needs of its pool. */
interface RunPool {
  readonly streams: FairQueue;
  /** Sends a run on the next free connection. */
  send(run: Run): void;
}

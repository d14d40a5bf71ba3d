import type { Lease, QueryTicket } from "../fair-queue.js";
import type { Statement } from "../sql.js";
import type { Connection } from "./connect.js";
import {
  type PartedSink,
  type PreparedStatement,
  preparedStatement,
  type QueryLimits,
  type WireQuery,
} from "./statements.js";

/** Reads the rows of a statement. */
export interface Reader extends PartedSink {
  /** The statement starts; perhaps again, on another connection. */
  begin(running: Running): void;
  /** All rows have been read, or the statement has failed. */
  end(error: Error | null): void;
}

/** A running statement, as its reader sees it. */
export interface Running {
  /** Process id of its backend. */
  readonly backendPid: number;
  /** Whether its statement is prepared, and what is known of it. */
  readonly prepared: PreparedStatement | null;
  /** Makes it a stream, whose time limit is that between two rows. False where no place for a stream is free. */
  becomeStream(): boolean;
  pause(): void;
  resume(): void;
  /** Ends the statement with its connection; the reader's `end` gets the reason. */
  cancel(reason: Error): void;
  /** Releases the caller's share of a stream, whose connection is released at the end of its rows. */
  release(): void;
}

/** A statement that waits for a connection, or runs. */
export interface PoolQuery {
  readonly statement: Statement;
  readonly ticket: QueryTicket;
  readonly limits: QueryLimits;
  readonly reader: Reader;
  /** Whether it waits for the place of a stream. */
  readonly isStream?: boolean;
}

/** A run of a query on a connection. */
export class Run implements WireQuery, Running {
  readonly statement: Statement;
  readonly limits: QueryLimits;
  readonly sink: Reader;
  readonly prepared: PreparedStatement | null;
  readonly #query: PoolQuery;
  readonly #pool: RunPool;
  connection: Connection | null = null;
  #lease: Lease;
  #isStream: boolean;

  constructor(query: PoolQuery, lease: Lease, pool: RunPool) {
    this.#query = query;
    this.#lease = lease;
    this.#pool = pool;
    this.statement = query.statement;
    this.limits = query.limits;
    this.sink = query.reader;
    this.prepared = preparedStatement(query.statement.text);
    this.#isStream = query.isStream === true;
  }

  /** Whether it may be sent together with others: statements that are read in parts may not. */
  get mayShare(): boolean {
    return this.sink.partRows === 0 && !this.#isStream && !this.#lease.isExpectedLong;
  }

  get backendPid(): number {
    return this.connection?.backendPid ?? 0;
  }

  begin(): void {
    this.sink.begin(this);
  }

  done(error: Error | null): void {
    if (this.#isStream) this.#lease.releaseConnection();
    else this.#lease.release();
    this.sink.end(error);
  }

  retry(): void {
    this.#lease.release();
    this.#pool.run(this.#query, true);
  }

  becomeStream(): boolean {
    this.connection?.unblock();
    if (this.#isStream) return true;
    const lease = this.#pool.takeStreamPlace(this.#query.ticket);
    if (lease === null) return false;
    this.#lease.release();
    this.#lease = lease;
    return (this.#isStream = true);
  }

  pause(): void {
    this.connection?.pause();
  }

  resume(): void {
    this.connection?.resume();
  }

  cancel(reason: Error): void {
    this.connection?.cancel(reason);
  }

  release(): void {
    this.#lease.release();
  }
}

/** What a run needs of its pool. */
interface RunPool {
  run(query: PoolQuery, isAdmitted: boolean): void;
  takeStreamPlace(ticket: QueryTicket): Lease | null;
}

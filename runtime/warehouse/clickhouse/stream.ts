import type { IncomingMessage } from "node:http";
import { isTable, type ResolvedQuery, type RowFormat } from "../../model/query.js";
import type { Lease } from "../fair-queue.js";
import { type SpoolBudget, SpooledRows } from "../spool.js";
import {
  BUFFERED_BYTES,
  type IsStillNeeded,
  QueryAbandoned,
  QueryTimeout,
  type RowChunks,
} from "../warehouse.js";
import { ClickhouseError, translated } from "./errors.js";
import { type BodyReader, RowReader } from "./rows.js";
import { TableReader } from "./tables.js";

/** How long a query may run, and whether its result is still needed. */
export interface TimeLimits {
  /** Time in the database; 0: no limit. */
  readonly timeoutMs: number;
  readonly isStillNeeded: IsStillNeeded;
}

/** A query whose first bytes are there. */
export class RunningQuery {
  /** Marks an error in the body; null before ClickHouse 25.11. */
  readonly exceptionTag: string | null;
  readonly #response: IncomingMessage;
  readonly #chunks: NodeJS.AsyncIterator<Buffer>;
  readonly #clock: QueryClock;

  constructor(response: IncomingMessage, clock: QueryClock) {
    this.#response = response;
    this.#clock = clock;
    this.#chunks = response[Symbol.asyncIterator]() as NodeJS.AsyncIterator<Buffer>;
    const tag = response.headers["x-clickhouse-exception-tag"];
    this.exceptionTag = typeof tag === "string" && /^\w{8,64}$/.test(tag) ? tag : null;
  }

  /** Time in the database so far, without waiting for the reader. */
  get milliseconds(): number {
    return this.#clock.usedMs;
  }

  /** The next bytes; null at the end. Rejects when the connection breaks or the query is cancelled. */
  async next(): Promise<Buffer | null> {
    this.#clock.start();
    try {
      const result = await this.#chunks.next();
      if (result.done !== true) return result.value;
      if (!this.#response.complete) throw new ClickhouseError("ClickHouse has closed the connection.");
      this.#clock.end();
      return null;
    } catch (error) {
      throw this.#clock.reason ?? error;
    } finally {
      this.#clock.pause();
    }
  }

  /** Ends the query in the database unless it has ended. May be called again. */
  cancel(reason: Error = new QueryAbandoned()): void {
    this.#clock.cancel(reason);
  }
}

/** Measures the time of a query in the database, and cancels it at its time limit or when its client has gone. */
export class QueryClock {
  readonly #limits: TimeLimits;
  readonly #cancel: (reason: Error) => void;
  readonly #ended: () => void;
  #usedMs = 0;
  #runningSince: number | null = null;
  #hasEnded = false;
  reason: Error | null = null;

  constructor(limits: TimeLimits, cancel: (reason: Error) => void, ended: () => void) {
    this.#limits = limits;
    this.#cancel = cancel;
    this.#ended = ended;
    this.start();
  }

  get usedMs(): number {
    return this.#usedMs + this.waitingMs;
  }

  /** How long the query has been silent while its bytes are waited for. */
  get waitingMs(): number {
    return this.#runningSince === null ? 0 : performance.now() - this.#runningSince;
  }

  start(): void {
    this.#runningSince ??= performance.now();
  }

  pause(): void {
    this.#usedMs = this.usedMs;
    this.#runningSince = null;
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#ended();
  }

  cancel(reason: Error): void {
    if (this.#hasEnded) return;
    this.reason = reason;
    this.end();
    this.#cancel(reason);
  }

  check(): void {
    const { timeoutMs, isStillNeeded } = this.#limits;
    if (!isStillNeeded()) this.cancel(new QueryAbandoned());
    else if (timeoutMs > 0 && this.usedMs > timeoutMs) this.cancel(new QueryTimeout());
  }
}

/** Rows to select: one more than the page where a reader sees by it whether rows follow, and cuts it. */
export function lookAhead({ format, selection: { page } }: ResolvedQuery): number {
  return (page?.limit ?? Infinity) + (page?.lookAhead === true && !isTable(format) ? 1 : 0);
}

/** `limit`: rows to pass on. */
export function bodyReader(format: RowFormat, limit: number, tag: string | null): BodyReader {
  return isTable(format) ? new TableReader(format, tag) : new RowReader(format, limit, tag);
}

interface StreamOptions {
  readonly running: RunningQuery;
  readonly reader: BodyReader;
  readonly lease: Lease;
  readonly budget: SpoolBudget;
}

/**
 * The rows of a result that is too large for a buffer, of which `first` have been read. The others are spooled: ClickHouse
 * ends a query whose client has not read for 30 s (`http_send_timeout`), and a slow client would hold a place of its table
 * and tier.
 */
export function openStream(options: StreamOptions, first: Buffer): RowChunks {
  const { running, lease, budget } = options;
  const stop = (): void => running.cancel();
  const rows = new SpooledRows(budget, { stop, release: () => lease.release() });
  void store(rows, first, options);
  return rows;
}

async function store(
  rows: SpooledRows,
  first: Buffer,
  { running, reader, lease }: StreamOptions,
): Promise<void> {
  let failure: Error | null = null;
  try {
    for (
      let bytes: Buffer | null = first;
      bytes !== null && !rows.hasClosed();
      bytes = await readRows(running, reader)
    ) {
      await rows.push(bytes);
      if (reader.hasMore) break;
    }
    if (!rows.hasClosed()) await rows.push(reader.end());
  } catch (error) {
    failure = error as Error;
  }
  running.cancel();
  lease.releaseConnection();
  const { returned, hasMore } = reader;
  rows.finish({ returned, hasMore, milliseconds: running.milliseconds }, failure);
}

/** The next bytes that are not empty; null at the end. */
async function readRows(running: RunningQuery, reader: BodyReader): Promise<Buffer | null> {
  try {
    for (let chunk; (chunk = await running.next()) !== null;) {
      const bytes = reader.push(chunk);
      if (bytes.length > 0) return bytes;
    }
  } catch (cause) {
    throw translated(reader.error ?? cause);
  }
  return null;
}

/** The bytes of a result, or of its beginning if it is too large for a buffer. */
export async function readFirst(
  running: RunningQuery,
  reader: BodyReader,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const parts: Buffer[] = [];
  let length = 0;
  for (let part; (part = await readRows(running, reader)) !== null;) {
    parts.push(part);
    length += part.length;
    if (length > BUFFERED_BYTES) return { bytes: Buffer.concat(parts), isWhole: false };
  }
  parts.push(reader.end());
  return { bytes: Buffer.concat(parts), isWhole: true };
}

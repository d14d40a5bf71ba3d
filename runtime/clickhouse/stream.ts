import type { ClientRequest, IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { isTable, type ResolvedQuery, type RowFormat } from "../core/model/query.js";
import type { Lease } from "../core/warehouse/fair-queue.js";
import { freeMemory } from "../core/warehouse/free-memory.js";
import { type SpoolBudget, SpooledRows } from "../core/warehouse/spool.js";
import { QueryAbandoned, QueryTimeout } from "../core/warehouse/query-errors.js";
import { BUFFERED_BYTES, type RowChunks } from "../core/warehouse/warehouse.js";
import { ClickhouseError, GATEWAY_STATUSES, GatewayError, translated } from "./errors.js";
import { BodyReader, ParquetReader, RowReader } from "./rows.js";

/** How long a query may run, and whether its result is still needed. */
export interface TimeLimits {
  /** Time in the database; 0: no limit. */
  readonly timeoutMs: number;
  readonly isStillNeeded: () => boolean;
}

/** A query, from its request to its last bytes: its time in the database, its limits, its end. */
export class RunningQuery {
  readonly #limits: TimeLimits;
  readonly #onCancel: (reason: Error) => void;
  readonly #onEnd: () => void;
  #request: ClientRequest | null = null;
  #chunks: Chunks | null = null;
  #usedMs = 0;
  #waitingSince: number | null = null;
  #hasEnded = false;
  #reason: Error | null = null;

  /** `onCancel` is called when the query may still run in the database, and must be cancelled there. */
  constructor(limits: TimeLimits, onCancel: (reason: Error) => void, onEnd: () => void) {
    this.#limits = limits;
    this.#onCancel = onCancel;
    this.#onEnd = onEnd;
  }

  /** Time in the database so far, without waiting for the reader. */
  get milliseconds(): number {
    return this.#usedMs + this.waitingMs;
  }

  /** How long the query has been silent while its bytes are waited for. */
  get waitingMs(): number {
    return this.#waitingSince === null ? 0 : performance.now() - this.#waitingSince;
  }

  /** Marks an error in the body. */
  get exceptionTag(): string {
    return String(this.#chunks?.response.headers[EXCEPTION_TAG]);
  }

  /** Sends the request. Rejects when it fails before its first bytes. */
  async send(send: () => ClientRequest): Promise<void> {
    try {
      const request = (this.#request = send());
      this.#chunks = await this.#wait(responseTo(request, (response) => new Chunks(response)));
      if (this.#chunks.response.headers[EXCEPTION_TAG] === undefined) throw new ClickhouseError(TOO_OLD);
    } catch (error) {
      this.#request?.destroy();
      this.end();
      throw error;
    }
  }

  /** The next bytes; null at the end. Rejects when the connection breaks or the query is cancelled. */
  async next(): Promise<Buffer | null> {
    const chunk = await this.#wait((this.#chunks as Chunks).next());
    if (chunk === null) this.end();
    return chunk;
  }

  async #wait<T>(result: T | Promise<T>): Promise<T> {
    this.#waitingSince = performance.now();
    try {
      return await result;
    } catch (error) {
      throw this.#reason ?? error;
    } finally {
      this.#usedMs = this.milliseconds;
      this.#waitingSince = null;
    }
  }

  /** It does not run in the database any more. */
  end(): void {
    this.#hasEnded = true;
    this.#onEnd();
  }

  /** Ends the query in the database unless it has ended. May be called again. */
  cancel(reason: Error = new QueryAbandoned()): void {
    if (this.#hasEnded) return;
    this.#reason = reason;
    this.end();
    this.#request?.destroy(reason);
    this.#chunks?.fail(reason);
    this.#onCancel(reason);
  }

  /** Cancels it at its time limit, and when its client has gone. */
  check(): void {
    const { timeoutMs, isStillNeeded } = this.#limits;
    if (!isStillNeeded()) this.cancel();
    else if (timeoutMs > 0 && this.milliseconds > timeoutMs) this.cancel(new QueryTimeout());
  }
}

/** Bytes that are read ahead of a reader, beside those that have arrived together. */
const READ_AHEAD_BYTES = 64 * 1024;

/** The bytes of a response as they come: Node's iterator of a stream takes 0.2 ms for a page of 127 kB, more than all else. */
class Chunks {
  readonly response: IncomingMessage;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #hasEnded = false;
  #error: Error | null = null;
  #reader: { resolve(chunk: Buffer | null): void; reject(error: Error): void } | null = null;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.on("data", (chunk: Buffer) => this.#push(chunk)).on("error", (error) => this.fail(error));
    response.on("end", () => this.#end()).on("close", () => this.#end());
  }

  /** The next bytes; null at the end. */
  next(): Buffer | null | Promise<Buffer | null> {
    const chunk = this.#unread.shift();
    if (chunk !== undefined) {
      this.#unreadBytes -= chunk.length;
      return chunk;
    }
    if (this.#hasEnded) return null;
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.response.isPaused()) this.response.resume();
    return new Promise((resolve, reject) => (this.#reader = { resolve, reject }));
  }

  /** No further bytes: the reader gets those before, then the error. */
  fail(error: Error): void {
    if (this.#hasEnded || this.#error !== null) return;
    this.#error = error;
    this.#reader?.reject(error);
    this.#reader = null;
  }

  #push(chunk: Buffer): void {
    if (this.#reader === null) {
      this.#unread.push(chunk);
      this.#unreadBytes += chunk.length;
      if (this.#unreadBytes > READ_AHEAD_BYTES) this.response.pause();
      return;
    }
    this.#reader.resolve(chunk);
    this.#reader = null;
  }

  #end(): void {
    if (this.#hasEnded || this.#error !== null) return;
    if (!this.response.complete)
      return this.fail(new ClickhouseError("ClickHouse has closed the connection."));
    this.#hasEnded = true;
    this.#reader?.resolve(null);
    this.#reader = null;
  }
}

/** What `open` makes of the response to a request, at once; rejects with a `ClickhouseError` where it is no success. */
export function responseTo<T>(request: ClientRequest, open: (response: IncomingMessage) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    // A 101 has neither a response nor an error.
    request.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new ClickhouseError("The server answers with another protocol."));
    });
    request.on("error", reject).on("response", (response) => {
      if (response.statusCode === 200) resolve(open(response));
      else errorOf(response).then(reject, reject);
    });
  });
}

async function errorOf(response: IncomingMessage): Promise<Error> {
  const code = response.headers["x-clickhouse-exception-code"];
  const text = (await readText(response)).slice(0, 16_384);
  if (code === undefined && GATEWAY_STATUSES.has(response.statusCode)) return new GatewayError(text);
  return new ClickhouseError(text, Number(code ?? 0));
}

const EXCEPTION_TAG = "x-clickhouse-exception-tag";

const TOO_OLD =
  "The server does not mark errors within a response (X-ClickHouse-Exception-Tag): ClickHouse 25.11 or newer is needed.";

/** Rows to select: one more than the page, which shows whether rows follow and is not sent. Tables in binary formats look ahead otherwise. */
export function lookAhead({ format, selection: { page } }: ResolvedQuery): number {
  return (page?.limit ?? Infinity) + (page?.lookAhead === true && !isTable(format) ? 1 : 0);
}

/** `limit`: rows to pass on. */
export function bodyReader(format: RowFormat, limit: number, tag: string): BodyReader {
  if (format === "parquet") return new ParquetReader(tag);
  return isTable(format) ? new BodyReader(tag) : new RowReader(format, limit, tag);
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
 * and tier. A failure reaches the reader after the rows that came before it; `sendStream` (response/respond.ts) then resets the connection.
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
      await rows.push(bytes, freeing(bytes));
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

/** The parser of Node has copied each chunk into memory of its own. */
const freeing = (bytes: Buffer) => (): void => freeMemory([bytes]);

/** The next bytes that are not empty; null at the end. */
async function readRows(running: RunningQuery, reader: BodyReader): Promise<Buffer | null> {
  try {
    for (let chunk; (chunk = await running.next()) !== null;) {
      const bytes = reader.push(chunk);
      if (bytes.length > 0) return bytes;
    }
  } catch (cause) {
    const { error } = reader;
    if (error !== null) running.end();
    throw translated(error ?? cause);
  }
  return null;
}

/** The bytes of a result in the parts in which they came, or those of its beginning if it is too large for a buffer. */
export async function readFirst(
  running: RunningQuery,
  reader: BodyReader,
  maxBytes = BUFFERED_BYTES,
): Promise<{ readonly parts: readonly Buffer[]; readonly isWhole: boolean }> {
  const parts: Buffer[] = [];
  let length = 0;
  for (let part; (part = await readRows(running, reader)) !== null;) {
    parts.push(part);
    length += part.length;
    if (length > maxBytes) return { parts, isWhole: false };
  }
  parts.push(reader.end());
  return { parts, isWhole: true };
}

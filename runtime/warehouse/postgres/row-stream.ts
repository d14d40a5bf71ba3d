import { parseKey } from "./postgres-keyset.js";
import { selectEach } from "./postgres-select.js";
import { servedColumns } from "../relations.js";
import type { ResolvedQuery } from "../../model/query.js";
import {
  type QueryContext,
  type ResultColumns,
  type RowChunks,
  type RowStream,
  type StreamEnd,
} from "../warehouse.js";
import type { ConnectionPool } from "./connection-pool.js";
import { Spool, type SpoolBudget } from "../spool.js";
import { type Connection, queryOf } from "./connection.js";
import type { QueryLimits, Texts } from "./prepared-statements.js";
import { encoderOf } from "./encoders.js";
import type { RowEncoder } from "./row-encoder.js";

/** Resources that all streams of a warehouse share. */
export interface StreamPool {
  readonly connections: ConnectionPool;
  readonly budget: SpoolBudget;
  /** Cursors whose transactions are open. */
  readonly cursors: Set<Cursor>;
}

/** Opens a stream. Resolves with the first rows; from then on the stream itself returns its connection. */
export async function openRowStream(
  { connections, budget, cursors }: StreamPool,
  query: ResolvedQuery,
  columns: ResultColumns,
  context: QueryContext,
): Promise<RowStream> {
  const connection = await connections.acquire(
    { ...context, relation: query.relation },
    context.isStillNeeded,
  );
  const cursor = new Cursor(connection, { timeoutMs: query.timeoutMs, isStillNeeded: context.isStillNeeded });
  const served = servedColumns(columns, query.selection.columns);
  let first: readonly Texts[];
  let encoder: RowEncoder;
  try {
    cursors.add(cursor);
    encoder = await encoderOf(served, query.format);
    first = await cursor.open(query, columns);
  } catch (error) {
    cursors.delete(cursor);
    connection.release({ isBroken: true });
    throw error;
  }
  return {
    kind: "stream",
    columns: served,
    next: parseKey(first[0]?.[served.length]),
    chunks: new SpooledRows({ cursor, first, query, encoder, spool: new Spool(budget), cursors }),
  };
}

interface SpooledRowsOptions {
  readonly cursor: Cursor;
  readonly first: readonly Texts[];
  readonly query: ResolvedQuery;
  readonly encoder: RowEncoder;
  readonly spool: Spool;
  readonly cursors: Set<Cursor>;
}

/** Reads a cursor at the database's pace into a spool, and returns the rows at the client's pace. */
class SpooledRows implements RowChunks {
  readonly #cursor: Cursor;
  readonly #spool: Spool;
  readonly #encoder: RowEncoder;
  readonly #limit: number;
  readonly #reading: Promise<void>;
  #returned = 0;
  #hasMore = false;
  #isReading = true;
  #isClosed = false;
  #error: Error | null = null;
  /** Resolves the pause of `next`, which waits for rows; null when it does not wait. */
  #wakeReader: (() => void) | null = null;
  /** Releases the caller's lease. Set once the cursor is closed. */
  #releaseLease: () => void = () => undefined;

  constructor({ cursor, first, query, encoder, spool, cursors }: SpooledRowsOptions) {
    this.#cursor = cursor;
    this.#spool = spool;
    this.#encoder = encoder;
    this.#limit = query.selection.page?.limit ?? Infinity;
    this.#reading = this.#read(first, cursors);
  }

  async next(): Promise<IteratorResult<Buffer, StreamEnd>> {
    for (;;) {
      const bytes = await this.#spool.shift();
      if (bytes !== null) return { done: false, value: bytes };
      if (this.#error !== null) throw this.#error;
      if (!this.#isReading) return this.return();
      await new Promise<void>((resolve) => (this.#wakeReader = resolve));
    }
  }

  async return(): Promise<IteratorReturnResult<StreamEnd>> {
    this.#isClosed = true;
    await this.#spool.close();
    await this.#reading;
    this.#releaseLease();
    const { milliseconds } = this.#cursor;
    return { done: true, value: { returned: this.#returned, hasMore: this.#hasMore, milliseconds } };
  }

  async #read(first: readonly Texts[], cursors: Set<Cursor>): Promise<void> {
    try {
      for (let rows = first; rows.length > 0 && !this.#isClosed; rows = await this.#cursor.next()) {
        await this.#store(rows);
        if (this.#hasMore) break;
      }
      if (!this.#isClosed) await this.#push(this.#encoder.end());
    } catch (error) {
      this.#error = error as Error;
    } finally {
      this.#releaseLease = await this.#cursor.close();
      cursors.delete(this.#cursor);
      this.#isReading = false;
      this.#signal();
    }
  }

  async #store(rows: readonly Texts[]): Promise<void> {
    const left = this.#limit - this.#returned;
    this.#hasMore ||= rows.length > left;
    const kept = rows.length > left ? rows.slice(0, left) : rows;
    this.#returned += kept.length;
    await this.#push(this.#encoder.write(kept));
  }

  async #push(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    await this.#spool.push(bytes);
    this.#signal();
  }

  #signal(): void {
    const wakeReader = this.#wakeReader;
    this.#wakeReader = null;
    wakeReader?.();
  }
}

/** Target size of a fetch, in characters: large enough to amortize its round trip. */
const FETCH_CHARACTERS = 64 * 1024;

/** Rows of the first fetch, when the length of a row is still unknown, and maximum rows of a fetch. */
const FIRST_FETCH_ROWS = 8;
const MAX_FETCH_ROWS = 2048;

/** Reads the rows of a query as text, in its own transaction, which `close` ends. */
export class Cursor {
  readonly #connection: Connection;
  readonly #limits: QueryLimits;
  #fetchSize = FIRST_FETCH_ROWS;
  #hasMoreRows = true;
  #hasFailed = false;
  #milliseconds = 0;

  constructor(connection: Connection, limits: QueryLimits) {
    this.#connection = connection;
    this.#limits = limits;
  }

  /** Time in the database so far. */
  get milliseconds(): number {
    return this.#milliseconds;
  }

  get backendPid(): number {
    return this.#connection.backendPid;
  }

  /** Resolves with the first rows, so that a failing query fails before anything is sent. */
  async open(query: ResolvedQuery, columns: ResultColumns): Promise<readonly Texts[]> {
    const { relation, selection } = query;
    const { text, values } = queryOf(selectEach(relation, columns, selection));
    return this.#timed(async () => {
      await this.#connection.begin(this.#limits);
      await this.#connection.fetchBackendPid(this.#limits);
      const declare = { text: `DECLARE row_cursor NO SCROLL CURSOR FOR ${text}`, values: values ?? [] };
      await this.#connection.run(declare, this.#limits);
      return this.#fetch();
    });
  }

  /** The next rows; none when there are no more. */
  next(): Promise<readonly Texts[]> {
    return this.#hasMoreRows ? this.#timed(() => this.#fetch()) : Promise.resolve([]);
  }

  /** Cancels the transaction and its query, which rejects with the reason. */
  cancel(reason: Error): void {
    this.#connection.cancel(reason);
  }

  /** Ends the transaction and returns the connection to the pool. The result releases the caller's lease. */
  async close(): Promise<() => void> {
    let isBroken = this.#hasFailed;
    if (!isBroken)
      isBroken = await this.#connection
        .run({ text: "ROLLBACK" }, { ...this.#limits, isStillNeeded: () => true })
        .then(
          () => false,
          () => true,
        );
    return this.#connection.releaseKeepingLease(isBroken);
  }

  async #fetch(): Promise<readonly Texts[]> {
    const size = this.#fetchSize;
    const rows = await this.#connection.run({ text: `FETCH ${String(size)} FROM row_cursor` }, this.#limits);
    const characters = rows.reduce((sum, row) => sum + lengthOf(row), 0);
    const fitting = Math.ceil((FETCH_CHARACTERS * rows.length) / Math.max(1, characters));
    // Grows slowly, since long rows may follow short ones.
    this.#fetchSize = Math.max(1, Math.min(fitting, 4 * size, MAX_FETCH_ROWS));
    if (rows.length < size) this.#hasMoreRows = false;
    return rows;
  }

  async #timed<T>(work: () => Promise<T>): Promise<T> {
    const started = performance.now();
    try {
      return await work();
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      this.#milliseconds += performance.now() - started;
    }
  }
}

/** Characters of the values of a row, and one for each of them. */
function lengthOf(row: Texts): number {
  let characters = row.length;
  for (const value of row) characters += value?.length ?? 0;
  return characters;
}

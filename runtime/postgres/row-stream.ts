import {
  ROW_SEPARATORS,
  servedColumns,
  type QueryContext,
  QueryTimeout,
  type ResolvedQuery,
  type ResultColumns,
  type RowChunks,
  type RowStream,
  type StreamEnd,
} from "../query/warehouse.js";
import type { ConnectionPool } from "./connections.js";
import { Cursor } from "./cursor.js";
import { Spool, type SpoolBudget } from "./spool.js";

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
  let first: readonly string[];
  try {
    cursors.add(cursor);
    first = await cursor.open(query, columns);
  } catch (error) {
    cursors.delete(cursor);
    connection.release(true, error instanceof QueryTimeout);
    throw error;
  }
  return {
    kind: "stream",
    columns: servedColumns(columns, query.selection.columns),
    chunks: new SpooledRows(cursor, first, query, new Spool(budget), cursors),
  };
}

/** Reads a cursor at the database's pace into a spool, and returns the rows at the client's pace. */
class SpooledRows implements RowChunks {
  readonly #cursor: Cursor;
  readonly #spool: Spool;
  readonly #separator: string;
  readonly #limit: number;
  readonly #reading: Promise<void>;
  #returned = 0;
  #hasMore = false;
  #isReading = true;
  #isClosed = false;
  #error: Error | null = null;
  #arrived: (() => void) | null = null;

  constructor(
    cursor: Cursor,
    first: readonly string[],
    query: ResolvedQuery,
    spool: Spool,
    cursors: Set<Cursor>,
  ) {
    this.#cursor = cursor;
    this.#spool = spool;
    this.#separator = ROW_SEPARATORS[query.format];
    this.#limit = query.selection.page?.limit ?? Infinity;
    this.#reading = this.#read(first, cursors);
  }

  async next(): Promise<IteratorResult<string, StreamEnd>> {
    for (;;) {
      const text = await this.#spool.shift();
      if (text !== null) return { done: false, value: text };
      if (this.#error !== null) throw this.#error;
      if (!this.#isReading) return this.return();
      await new Promise<void>((resolve) => (this.#arrived = resolve));
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

  #releaseLease: () => void = () => undefined;

  async #read(first: readonly string[], cursors: Set<Cursor>): Promise<void> {
    try {
      for (let rows = first; rows.length > 0 && !this.#isClosed; rows = await this.#cursor.next()) {
        await this.#store(rows);
        if (this.#hasMore) break;
      }
    } catch (error) {
      this.#error = error as Error;
    } finally {
      this.#releaseLease = await this.#cursor.close();
      cursors.delete(this.#cursor);
      this.#isReading = false;
      this.#signal();
    }
  }

  async #store(rows: readonly string[]): Promise<void> {
    const left = this.#limit - this.#returned;
    this.#hasMore ||= rows.length > left;
    const kept = rows.length > left ? rows.slice(0, left) : rows;
    if (kept.length === 0) return;
    const before = this.#returned > 0 ? this.#separator : "";
    this.#returned += kept.length;
    await this.#spool.push(before + kept.join(this.#separator));
    this.#signal();
  }

  #signal(): void {
    const arrived = this.#arrived;
    this.#arrived = null;
    arrived?.();
  }
}

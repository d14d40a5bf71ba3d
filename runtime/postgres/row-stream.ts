import {
  type ResultColumns,
  ROW_SEPARATORS,
  type RowFormat,
  type RowChunks,
  type RowStream,
  type StreamEnd,
} from "../query/warehouse.js";
import type { Statement } from "../query/sql.js";
import type { Connection } from "./connections.js";
import { Cursor } from "./cursor.js";
import type { QueryLimits } from "./query-watchdog.js";

export interface StreamedQuery {
  readonly columns: ResultColumns;
  /** Gives the rows one by one, in one text column. */
  readonly statement: Statement;
  readonly format: RowFormat;
  /** Rows of the page; one that comes after them is not given but told. Infinity: all. */
  readonly limit: number;
}

/**
 * Reads a query piece by piece. Resolves with the first rows there, so that a query that fails does so before anything is
 * sent. From here on the connection is the stream's, which gives it back.
 */
export async function openRowStream(
  connection: Connection,
  query: StreamedQuery,
  terms: QueryLimits,
): Promise<RowStream> {
  const cursor = new Cursor(connection, terms);
  await cursor.open(query.statement);
  return { kind: "stream", columns: query.columns, pieces: new CursorPieces(cursor, query) };
}

class CursorPieces implements RowChunks {
  readonly #cursor: Cursor;
  readonly #separator: string;
  readonly #limit: number;
  #returned = 0;
  #hasMore = false;

  constructor(cursor: Cursor, { format, limit }: StreamedQuery) {
    this.#cursor = cursor;
    this.#separator = ROW_SEPARATORS[format];
    this.#limit = limit;
  }

  async next(): Promise<IteratorResult<string, StreamEnd>> {
    const rows = await this.#cursor.next();
    const left = this.#limit - this.#returned;
    this.#hasMore ||= rows.length > left;
    const kept = rows.length > left ? rows.slice(0, left) : rows;
    if (kept.length === 0) return this.return();
    const before = this.#returned > 0 ? this.#separator : "";
    this.#returned += kept.length;
    return { done: false, value: before + kept.join(this.#separator) };
  }

  /** Gives the connection back; the end is as far as it was read. */
  async return(): Promise<IteratorReturnResult<StreamEnd>> {
    await this.#cursor.close();
    const { milliseconds } = this.#cursor;
    return { done: true, value: { returned: this.#returned, hasMore: this.#hasMore, milliseconds } };
  }
}

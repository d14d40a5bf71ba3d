import { isTable, type ResolvedQuery, type RowFormat } from "../../model/query.js";
import { BUFFERED_BYTES, type RowChunks, type StreamEnd } from "../warehouse.js";
import { translated } from "./clickhouse-errors.js";
import { type BodyReader, RowReader } from "./row-reader.js";
import type { RunningQuery } from "./running-query.js";

/** Rows to select: one more than the page where a reader sees by it whether rows follow, and cuts it. */
export function lookAhead({ format, selection: { page } }: ResolvedQuery): number {
  return (page?.limit ?? Infinity) + (page?.lookAhead === true && !isTable(format) ? 1 : 0);
}

/** `limit`: rows to pass on. The libraries that read tables are loaded with the first request for one. */
export async function bodyReader(format: RowFormat, limit: number, tag: string | null): Promise<BodyReader> {
  if (!isTable(format)) return new RowReader(format, limit, tag);
  const { TableReader } = await import("./table-reader.js");
  return new TableReader(format, tag);
}

/** Resolves with the first rows there, so that a query that fails before them fails before anything is sent. */
export async function openStream(
  running: RunningQuery,
  reader: BodyReader,
  release: () => void,
): Promise<RowChunks> {
  const stream = new StreamedRows(running, reader, release);
  await stream.readAhead();
  return stream;
}

/** The rows of a running query, at the pace of the client: ClickHouse waits while nobody reads. */
class StreamedRows implements RowChunks {
  readonly #running: RunningQuery;
  readonly #reader: BodyReader;
  readonly #release: () => void;
  #ahead: Buffer | null = null;
  #hasEnded = false;

  constructor(running: RunningQuery, reader: BodyReader, release: () => void) {
    this.#running = running;
    this.#reader = reader;
    this.#release = release;
  }

  async readAhead(): Promise<void> {
    this.#ahead = await this.#read();
  }

  async next(): Promise<IteratorResult<Buffer, StreamEnd>> {
    const value = this.#ahead ?? (await this.#read());
    this.#ahead = null;
    return value === null ? this.return() : { done: false, value };
  }

  return(): Promise<IteratorReturnResult<StreamEnd>> {
    this.#end();
    const { returned, hasMore } = this.#reader;
    return Promise.resolve({
      done: true,
      value: { returned, hasMore, milliseconds: this.#running.milliseconds },
    });
  }

  /** The next bytes that are not empty; null at the end. */
  async #read(): Promise<Buffer | null> {
    if (this.#hasEnded) return null;
    try {
      for (let chunk; (chunk = await this.#running.next()) !== null;) {
        const bytes = this.#reader.push(chunk);
        if (bytes.length > 0) return bytes;
      }
      const rest = this.#reader.end();
      this.#end();
      return rest.length > 0 ? rest : null;
    } catch (cause) {
      this.#end();
      throw translated(this.#reader.error ?? cause);
    }
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#running.cancel();
    this.#release();
  }
}

/** Null when the rows are too large for a buffer. */
export async function readAll(running: RunningQuery, reader: BodyReader): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for (let chunk; (chunk = await running.next()) !== null;) {
    const part = reader.push(chunk);
    parts.push(part);
    bytes += part.length;
    if (bytes <= BUFFERED_BYTES) continue;
    running.cancel();
    return null;
  }
  parts.push(reader.end());
  return Buffer.concat(parts);
}

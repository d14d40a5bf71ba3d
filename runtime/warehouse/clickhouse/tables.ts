import { Message } from "apache-arrow";
import { parquetMetadata } from "hyparquet";
import type { TableFormat } from "../../model/query.js";
import { ClickhouseError } from "./errors.js";
import { BodyBytes } from "./rows.js";

/** Servers before 25.11 do not mark an error in a body. A text of the data that contains this looks like one there. */
const UNMARKED_ERROR = "DB::Exception: ";

/** Bytes held back: more than the mark of an error, which may arrive in parts, and than follows the version in a footer. */
const HELD_BYTES = 8192;

/** The last text in the footer of Parquet: the program that wrote it. */
const PROGRAM = /ClickHouse( [ \w.()-]+)/g;

/** How a complete table ends: as it begins, or with the end of an Arrow stream. */
const ENDS: Readonly<Record<TableFormat, Buffer>> = {
  parquet: Buffer.from("PAR1"),
  arrow: Buffer.from("ARROW1"),
  "arrow-stream": Buffer.from("ffffffff00000000", "hex"),
};

/**
 * Passes the bytes of a table on as ClickHouse writes them, except for the error behind them and the server's version.
 */
export class TableReader extends BodyBytes {
  /** A table is not cut: its query has the page's own limit. */
  readonly hasMore = false;
  readonly #format: TableFormat;
  readonly #counter: RowCounter;

  constructor(format: TableFormat, tag: string | null) {
    super(tag, UNMARKED_ERROR, HELD_BYTES);
    this.#format = format;
    this.#counter = format === "parquet" ? new ParquetCounter() : new ArrowCounter(format);
  }

  /** Known at the end. */
  get returned(): number {
    return this.#counter.rows;
  }

  end(): Buffer {
    if (this.error !== null) throw this.error;
    const end = ENDS[this.#format];
    if (!this.held.subarray(-end.length).equals(end))
      throw new ClickhouseError("The response of ClickHouse is incomplete.");
    return this.#passed(this.#format === "parquet" ? withoutVersion(this.held) : this.held);
  }

  protected pass(data: Buffer): Buffer {
    return this.#passed(this.hold(data));
  }

  #passed(bytes: Buffer): Buffer {
    this.#counter.push(bytes);
    return bytes;
  }
}

/** The length of the text has to stay. */
function withoutVersion(end: Buffer): Buffer {
  const text = end.toString("latin1");
  const match = [...text.matchAll(PROGRAM)].at(-1);
  if (!match) return end;
  const [program, version = ""] = match;
  const last = match.index + program.length;
  return Buffer.from(end).fill(" ", last - version.length, last);
}

/** Counts the rows of a table from its bytes. */
export interface RowCounter {
  readonly rows: number;
  push(bytes: Buffer): void;
}

/** Bytes of the end that are kept: a footer of 10,000 row groups of a table with three columns. */
const MAX_FOOTER_BYTES = 4 * 1024 * 1024;

/** The rows are in the footer. A longer one than is kept counts as no rows. */
class ParquetCounter implements RowCounter {
  #tail: Buffer[] = [];
  #length = 0;

  push(bytes: Buffer): void {
    this.#tail.push(bytes);
    this.#length += bytes.length;
    while (this.#length - (this.#tail[0]?.length ?? 0) > MAX_FOOTER_BYTES)
      this.#length -= this.#tail.shift()?.length ?? 0;
  }

  get rows(): number {
    const tail = new Uint8Array(Buffer.concat(this.#tail));
    if (tail.length < FOOTER_END || Buffer.from(tail.buffer).toString("latin1", tail.length - 4) !== "PAR1")
      return 0;
    const length = new DataView(tail.buffer).getUint32(tail.length - FOOTER_END, true);
    return length + FOOTER_END > tail.length ? 0 : Number(parquetMetadata(tail.buffer).num_rows);
  }
}

/** The length of the footer and the magic number. */
const FOOTER_END = 8;

/** Each message has a prefix of eight bytes; so has a file. */
const PREFIX_BYTES = 8;

/** The rows are in the messages before the record batches. */
class ArrowCounter implements RowCounter {
  #pending: Buffer = Buffer.alloc(0);
  /** Bytes up to the next message. */
  #skipped: number;
  #hasEnded = false;
  rows = 0;

  constructor(format: "arrow" | "arrow-stream") {
    this.#skipped = format === "arrow" ? PREFIX_BYTES : 0;
  }

  push(bytes: Buffer): void {
    let data: Buffer = Buffer.concat([this.#pending, bytes]);
    for (let next: Buffer | null = data; next !== null && !this.#hasEnded; next = this.#readMessage(next))
      data = next;
    this.#pending = this.#hasEnded ? Buffer.alloc(0) : data;
  }

  /** The bytes after the next message; null when it is not complete. */
  #readMessage(data: Buffer): Buffer | null {
    if (this.#skipped > 0) {
      if (data.length === 0) return null;
      const skipped = Math.min(this.#skipped, data.length);
      this.#skipped -= skipped;
      return data.subarray(skipped);
    }
    if (data.length < PREFIX_BYTES) return null;
    const end = PREFIX_BYTES + data.readInt32LE(4);
    this.#hasEnded = end === PREFIX_BYTES;
    if (this.#hasEnded || data.length < end) return null;
    const message = Message.decode(data.subarray(PREFIX_BYTES, end));
    if (message.isRecordBatch()) this.rows += (message.header() as unknown as { length: number }).length;
    this.#skipped = message.bodyLength;
    return data.subarray(end);
  }
}

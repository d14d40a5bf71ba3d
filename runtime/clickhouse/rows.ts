import type { TextFormat } from "../core/model/query.js";
import { ClickhouseError } from "./errors.js";

/** How ClickHouse writes rows in a format. */
interface BodyLayout {
  readonly prefix: string;
  readonly separator: string;
  readonly suffix: string;
}

const LINES: BodyLayout = { prefix: "", separator: "\n", suffix: "\n" };
const ARRAY: BodyLayout = { prefix: "[\n", separator: ",\n", suffix: "\n]\n" };
const CSV: BodyLayout = { prefix: "", separator: "\r\n", suffix: "\r\n" };

const LAYOUTS: Readonly<Record<TextFormat, BodyLayout>> = {
  json: ARRAY,
  "json-strings": ARRAY,
  "json-declared": ARRAY,
  ndjson: LINES,
  csv: CSV,
  spreadsheet: CSV,
};

const [NEWLINE, QUOTE, BRACE] = [0x0a, 0x22, 0x7b];

/** Bytes of an error's text that are kept for the log. */
const MAX_ERROR_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/**
 * Passes the bytes of a response on, without the error that ClickHouse writes into it when a query fails in the middle: SQL
 * and the server's version must not reach a client.
 */
export class BodyReader {
  protected held: Buffer = NOTHING;
  readonly #mark: string;
  /** Texts that may have begun at the end of what has arrived. */
  readonly #awaited: readonly string[];
  #error: Buffer | null = null;

  /** `tag`: of the header `X-ClickHouse-Exception-Tag`. */
  constructor(tag: string, awaited: readonly string[] = []) {
    this.#mark = `\r\n__exception__\r\n${tag}`;
    this.#awaited = [this.#mark, ...awaited];
  }

  /** Rows so far; null for a table, whose rows are not counted. */
  get returned(): number | null {
    return null;
  }

  /** Whether rows follow the limit. A table is not cut: its query has the page's own limit. */
  get hasMore(): boolean {
    return false;
  }

  /** The error in the body so far. ClickHouse resets the connection after it. */
  get error(): ClickhouseError | null {
    return this.#error === null
      ? null
      : new ClickhouseError(this.#error.subarray(this.#mark.length).toString());
  }

  /** The bytes that may be sent now; perhaps none. */
  push(chunk: Buffer): Buffer {
    if (this.#error !== null) return this.#collect(chunk);
    const data = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    const found = data.indexOf(this.#mark);
    return found >= 0 ? this.#collect(data.subarray(found)) : this.pass(data);
  }

  /** The last bytes. Throws the error in the body. */
  end(): Buffer {
    if (this.error !== null) throw this.error;
    return this.held;
  }

  /** The bytes of `data` that may be sent. Those that are held are its first: few, since they are copied to be joined with the next. */
  protected pass(data: Buffer): Buffer {
    const tail = data.toString("latin1", Math.max(0, data.length - this.#mark.length));
    let from = 0;
    while (from < tail.length && !this.#awaited.some((text) => text.startsWith(tail.slice(from)))) from++;
    return this.hold(data, data.length - tail.length + from);
  }

  /** Holds a copy of the bytes from there on; returns those before them, whose memory may be freed. */
  protected hold(data: Buffer, from: number): Buffer {
    this.held = from === data.length ? NOTHING : Buffer.from(data.subarray(from));
    return data.subarray(0, from);
  }

  #collect(text: Buffer): Buffer {
    const known = this.#error ?? NOTHING;
    if (known.length < MAX_ERROR_BYTES) this.#error = Buffer.concat([known, text]);
    return NOTHING;
  }
}

/** More bytes than follow the version in the footer of a Parquet file. */
const FOOTER_BYTES = 8192;

/** The last text in the footer: the program that wrote the file. */
const PROGRAM = /ClickHouse( [ \w.()-]+)/g;

/** Passes a Parquet file on without the server's version. */
export class ParquetReader extends BodyReader {
  protected override pass(data: Buffer): Buffer {
    return this.hold(data, Math.max(0, data.length - FOOTER_BYTES));
  }

  /** The length of the text has to stay. */
  override end(): Buffer {
    const end = super.end();
    const match = [...end.toString("latin1").matchAll(PROGRAM)].at(-1);
    if (!match) return end;
    const [program, version = ""] = match;
    const last = match.index + program.length;
    return Buffer.from(end).fill(" ", last - version.length, last);
  }
}

/** Passes the bytes of the rows on without their frame. Counts the rows, and cuts what follows the page. */
export class RowReader extends BodyReader {
  readonly #layout: BodyLayout;
  readonly #limit: number;
  #returned = 0;
  #hasStarted = false;
  #isCut = false;
  #isAtRow = true;
  #isQuoted = false;

  /** `limit`: rows to pass on. */
  constructor(format: TextFormat, limit: number, tag: string) {
    const layout = LAYOUTS[format];
    super(tag, [layout.separator, layout.suffix]);
    this.#layout = layout;
    this.#limit = limit;
  }

  override get returned(): number {
    return this.#returned;
  }

  override get hasMore(): boolean {
    return this.#isCut;
  }

  override push(chunk: Buffer): Buffer {
    return this.#isCut ? NOTHING : super.push(chunk);
  }

  override end(): Buffer {
    const rest = super.end();
    const { suffix } = this.#layout;
    const isEmpty = rest.length === 0 && this.#layout !== ARRAY;
    if (this.#isCut || isEmpty) return NOTHING;
    if (!rest.subarray(-suffix.length).equals(Buffer.from(suffix)))
      throw new ClickhouseError("The response of ClickHouse is incomplete.");
    return rest.subarray(0, -suffix.length);
  }

  protected override pass(data: Buffer): Buffer {
    if (this.#hasStarted) return this.#rows(data, this.held.length);
    const { length } = this.#layout.prefix;
    if (data.length < length) return this.hold(data, 0);
    this.#hasStarted = true;
    return this.#rows(data.subarray(length), 0);
  }

  #rows(data: Buffer, scanned: number): Buffer {
    const end = this.#scan(data, scanned);
    return this.#isCut ? data.subarray(0, end) : super.pass(data);
  }

  /** Counts the rows that begin; returns where to cut. */
  #scan(data: Buffer, from: number): number {
    const isCsv = this.#layout === CSV;
    for (let at = from; at < data.length; at++) {
      if (this.#isAtRow && (isCsv || data[at] === BRACE)) {
        this.#isCut = this.#returned === this.#limit;
        if (this.#isCut) return Math.max(0, at - this.#layout.separator.length);
        this.#returned++;
      }
      // JSON escapes line breaks: each one ends a row.
      const newline = isCsv ? this.#recordEnd(data, at) : data.indexOf(NEWLINE, at);
      this.#isAtRow = newline >= 0;
      if (newline < 0) break;
      at = newline;
    }
    return data.length;
  }

  /** The line break at the end of a CSV record; -1 where it has not arrived. */
  #recordEnd(data: Buffer, from: number): number {
    for (let at = from; at < data.length; at++) {
      if (data[at] === QUOTE) this.#isQuoted = !this.#isQuoted;
      else if (data[at] === NEWLINE && !this.#isQuoted) return at;
    }
    return -1;
  }
}

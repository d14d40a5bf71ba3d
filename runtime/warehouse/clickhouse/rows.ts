import type { TextFormat } from "../../model/query.js";
import { ClickhouseError } from "./errors.js";

/** How ClickHouse writes rows in a format. */
interface Layout {
  readonly prefix: string;
  readonly separator: string;
  readonly suffix: string;
}

const LINES: Layout = { prefix: "", separator: "\n", suffix: "\n" };
const ARRAY: Layout = { prefix: "[\n", separator: ",\n", suffix: "\n]\n" };
const CSV: Layout = { prefix: "", separator: "\r\n", suffix: "\r\n" };

const LAYOUTS: Readonly<Record<TextFormat, Layout>> = {
  json: ARRAY,
  "json-strings": ARRAY,
  ndjson: LINES,
  csv: CSV,
  spreadsheet: CSV,
};

/** Bytes held back: more than the mark of an error, which may arrive in parts, and than any suffix. */
const HELD_BYTES = 64;

const [NEWLINE, QUOTE, BRACE, BRACKET] = [0x0a, 0x22, 0x7b, 0x5d];

/** First bytes of a record: ClickHouse quotes all texts, so that a letter of an error's text is none of them. */
const CSV_STARTS: ReadonlySet<number> = new Set(Buffer.from('",\r-+.0123456789tf'));

/** Passes the bytes of a response on, without what must not reach a client. */
export interface BodyReader {
  /** Rows so far; null for a table. */
  readonly returned: number | null;
  /** Whether rows follow the limit. */
  readonly hasMore: boolean;
  /** The error in the body so far. ClickHouse resets the connection behind it. */
  readonly error: ClickhouseError | null;
  /** The bytes that may be sent now; perhaps none. */
  push(chunk: Buffer): Buffer;
  /** The last bytes. Throws the error in the body, or when the body is incomplete. */
  end(): Buffer;
}

/** Bytes of an error's text that are kept for the log. */
const MAX_ERROR_BYTES = 16 * 1024;

/** Of the text `Code: 159. `. */
const CODE_BYTES = 15;

const NOTHING = Buffer.alloc(0);

/**
 * Finds the error that ClickHouse writes into a body when a query fails in the middle: SQL and the server's version must not
 * reach a client. Servers from 25.11 on mark it with a tag.
 */
export abstract class BodyBytes implements BodyReader {
  protected held: Buffer = NOTHING;
  readonly #mark: string | null;
  readonly #heldBytes: number;
  /** Of an unmarked error, its code precedes what is searched for. */
  readonly #codeBytes: number;
  #error: Buffer | null = null;
  abstract readonly returned: number | null;
  abstract readonly hasMore: boolean;

  /** `tag`: of the header `X-ClickHouse-Exception-Tag`. `unmarked`: what is in an error without one. `heldBytes`: held back at the end. */
  constructor(tag: string | null, unmarked: string | null, heldBytes: number) {
    this.#mark = tag === null ? unmarked : `\r\n__exception__\r\n${tag}`;
    this.#heldBytes = heldBytes;
    this.#codeBytes = tag === null ? CODE_BYTES : 0;
  }

  get error(): ClickhouseError | null {
    return this.#error === null ? null : new ClickhouseError(this.#error.toString());
  }

  push(chunk: Buffer): Buffer {
    if (this.#error !== null) return this.collectError(chunk);
    const scanned = this.held.length;
    const data = scanned === 0 ? chunk : Buffer.concat([this.held, chunk]);
    const found = this.#mark === null ? -1 : data.indexOf(this.#mark);
    return found >= 0
      ? this.collectError(data.subarray(Math.max(0, found - this.#codeBytes)))
      : this.pass(data, scanned);
  }

  abstract end(): Buffer;
  /** The bytes of `data` that may be sent. The first `scanned` ones were passed before, and held. */
  protected abstract pass(data: Buffer, scanned: number): Buffer;

  /** Holds the last bytes; returns those before them. */
  protected hold(data: Buffer): Buffer {
    const safe = Math.max(0, data.length - this.#heldBytes);
    this.held = data.subarray(safe);
    return data.subarray(0, safe);
  }

  protected collectError(text: Buffer): Buffer {
    const known = this.#error ?? NOTHING;
    if (known.length < MAX_ERROR_BYTES) this.#error = Buffer.concat([known, text]);
    return NOTHING;
  }
}

/**
 * Passes the bytes of the rows on as ClickHouse writes them, without its frame. Counts the rows, cuts what follows the
 * page, and finds an unmarked error: its text begins a line that cannot be a row.
 */
export class RowReader extends BodyBytes {
  readonly #layout: Layout;
  readonly #isCsv: boolean;
  readonly #limit: number;
  #returned = 0;
  #hasStarted = false;
  #isCut = false;
  #isAtRow = true;
  #isQuoted = false;

  /** `limit`: rows to pass on. */
  constructor(format: TextFormat, limit: number, tag: string | null) {
    super(tag, null, HELD_BYTES);
    this.#layout = LAYOUTS[format];
    this.#isCsv = this.#layout === CSV;
    this.#limit = limit;
  }

  get returned(): number {
    return this.#returned;
  }

  get hasMore(): boolean {
    return this.#isCut;
  }

  override push(chunk: Buffer): Buffer {
    return this.#isCut ? NOTHING : super.push(chunk);
  }

  end(): Buffer {
    if (this.error !== null) throw this.error;
    if (this.#isCut) return NOTHING;
    if (!this.#hasStarted && this.#layout !== ARRAY && this.held.length === 0) return NOTHING;
    const { suffix } = this.#layout;
    if (!this.#hasStarted || !this.held.subarray(-suffix.length).equals(Buffer.from(suffix)))
      throw new ClickhouseError("The response of ClickHouse is incomplete.");
    return this.held.subarray(0, -suffix.length);
  }

  protected pass(data: Buffer, scanned: number): Buffer {
    return this.#hasStarted ? this.#rows(data, scanned) : this.#start(data);
  }

  /** Removes the prefix once it is there. */
  #start(data: Buffer): Buffer {
    const { prefix } = this.#layout;
    this.held = data;
    if (data.length < Math.max(1, prefix.length)) return NOTHING;
    if (data.toString("latin1", 0, prefix.length) !== prefix) return this.collectError(data);
    this.#hasStarted = true;
    return this.#rows(data.subarray(prefix.length), 0);
  }

  #rows(data: Buffer, scanned: number): Buffer {
    const end = this.#isCsv ? this.#scanCsv(data, scanned) : this.#scanJson(data, scanned);
    if (this.error !== null) return NOTHING;
    return this.#isCut ? data.subarray(0, end) : this.hold(data);
  }

  /** Returns where to cut. JSON escapes line breaks: each one ends a row. */
  #scanJson(data: Buffer, from: number): number {
    for (let at = from; at < data.length;) {
      if (this.#isAtRow && !this.#beginRow(data, at, data[at] === BRACE)) return this.#cutAt(at);
      const newline = data.indexOf(NEWLINE, at);
      if (newline === -1) break;
      this.#isAtRow = true;
      at = newline + 1;
    }
    return data.length;
  }

  #scanCsv(data: Buffer, from: number): number {
    for (let at = from; at < data.length; at++) {
      const byte = data[at] as number;
      if (this.#isAtRow && !this.#beginRow(data, at, CSV_STARTS.has(byte))) return this.#cutAt(at);
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      else if (byte === NEWLINE && !this.#isQuoted) this.#isAtRow = true;
    }
    return data.length;
  }

  /** False where the rows end: at the limit, or at an error. */
  #beginRow(data: Buffer, at: number, isRow: boolean): boolean {
    this.#isAtRow = false;
    const byte = data[at];
    if (!isRow) {
      if (this.#layout === ARRAY && (byte === BRACKET || byte === NEWLINE)) return true;
      this.collectError(data.subarray(at));
      return false;
    }
    if (this.#returned === this.#limit) {
      this.#isCut = true;
      return false;
    }
    this.#returned++;
    return true;
  }

  #cutAt(row: number): number {
    return Math.max(0, row - this.#layout.separator.length);
  }
}

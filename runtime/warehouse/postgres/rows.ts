import type { TextFormat } from "../../model/query.js";
import { type ResultColumn, type ResultColumns, ROW_SEPARATORS } from "../warehouse.js";
import { type Kind, kindOf } from "./columns.js";
import { timeOf } from "./times.js";

/** Writes rows in a format from PostgreSQL's frames. The bytes of a result are those of `take`, in order, and of `end`. */
export interface RowWriter {
  /** Bytes of the rows that have not been taken, and of those that `take` returns. */
  readonly size: number;
  readonly complete: number;
  /** The frame's fields begin at `offset`; there may be more than columns. */
  row(frame: Buffer, offset: number): void;
  /** The bytes that are complete; perhaps none. */
  take(): Buffer;
  /** The last bytes. */
  end(): Buffer;
}

/** Length of the field at an offset, which begins 4 bytes behind it; -1 for null. */
function fieldLength(frame: Buffer, at: number): number {
  return (
    ((frame[at] as number) << 24) |
    ((frame[at + 1] as number) << 16) |
    ((frame[at + 2] as number) << 8) |
    (frame[at + 3] as number)
  );
}

/** The first `count` fields of a row, as text. */
export function fieldTexts(frame: Buffer, offset: number, count: number): (string | null)[] {
  const texts: (string | null)[] = [];
  for (let at = offset; texts.length < count;) {
    const length = fieldLength(frame, at);
    at += 4;
    texts.push(length < 0 ? null : frame.toString("utf8", at, at + length));
    at += Math.max(0, length);
  }
  return texts;
}

const NOTHING = Buffer.alloc(0);
const FIRST_BYTES = 1024;
const MOST_FIRST_BYTES = 72 * 1024;

/** Bytes that are written one after another. */
class Bytes {
  buffer = NOTHING;
  at = 0;
  /** Bytes of the next buffer. */
  #first = FIRST_BYTES;

  /** Makes room for so many bytes. */
  reserve(length: number): void {
    if (this.buffer.length - this.at >= length) return;
    const wider = Buffer.allocUnsafe(Math.max(this.#first, 2 * this.buffer.length, this.at + length));
    this.buffer.copy(wider, 0, 0, this.at);
    this.buffer = wider;
  }

  add(bytes: Buffer): void {
    this.copy(bytes, 0, bytes.length);
  }

  copy(bytes: Buffer, from: number, to: number): void {
    this.reserve(to - from);
    const { buffer } = this;
    let { at } = this;
    // A call of `copy` takes as long as this loop for 50 bytes.
    if (to - from > COPIED_BY_BYTE) at += bytes.copy(buffer, at, from, to);
    else for (let i = from; i < to; i++) buffer[at++] = bytes[i] as number;
    this.at = at;
  }

  addText(text: string): void {
    this.add(Buffer.from(text));
  }

  /** Its bytes. The next buffer is of their size: a stream takes its rows in parts. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.at);
    this.#first = Math.max(FIRST_BYTES, Math.min(MOST_FIRST_BYTES, this.at));
    this.buffer = NOTHING;
    this.at = 0;
    return taken;
  }
}

const COPIED_BY_BYTE = 48;

/** Writes a value that is not null. False: the format shows null, and what was written does not count. */
type ValueWriter = (bytes: Bytes, frame: Buffer, from: number, to: number) => boolean;

/** How the values of a column are written. */
interface ColumnWriter {
  /** Before a value, with what separates it from the column before. */
  readonly before: Buffer;
  readonly after: Buffer;
  /** Instead of a value that is null. */
  readonly none: Buffer;
  readonly write: ValueWriter;
}

/** Writes rows of text. Frees nothing between rows: a stream takes its bytes in parts. */
export class TextWriter implements RowWriter {
  readonly #layout: TextLayout;
  readonly #bytes = new Bytes();
  #hasRows = false;

  /** `expected`: bytes of the result, to reserve them at once. */
  constructor(columns: ResultColumns, format: TextFormat, expected = 0) {
    this.#layout = layoutOf(columns, format);
    if (expected > 0) this.#bytes.reserve(expected);
  }

  get size(): number {
    return this.#bytes.at;
  }

  get complete(): number {
    return this.#bytes.at;
  }

  row(frame: Buffer, offset: number): void {
    const { columns, separator, end } = this.#layout;
    const bytes = this.#bytes;
    if (this.#hasRows) bytes.add(separator);
    this.#hasRows = true;
    let from = offset;
    for (const { before, after, none, write } of columns) {
      const length = fieldLength(frame, from);
      from += 4;
      if (length < 0) {
        bytes.add(none);
        continue;
      }
      const { at } = bytes;
      bytes.add(before);
      if (write(bytes, frame, from, from + length)) bytes.add(after);
      else {
        bytes.at = at;
        bytes.add(none);
      }
      from += length;
    }
    bytes.add(end);
  }

  take(): Buffer {
    return this.#bytes.take();
  }

  end(): Buffer {
    return this.take();
  }
}

interface TextLayout {
  readonly columns: readonly ColumnWriter[];
  /** Between two rows. */
  readonly separator: Buffer;
  /** At the end of each row. */
  readonly end: Buffer;
}

const layouts = new WeakMap<ResultColumns, Map<TextFormat, TextLayout>>();

/** The layout of these columns, made once. */
function layoutOf(columns: ResultColumns, format: TextFormat): TextLayout {
  let byFormat = layouts.get(columns);
  if (!byFormat) layouts.set(columns, (byFormat = new Map<TextFormat, TextLayout>()));
  const layout = byFormat.get(format) ?? makeLayout(columns, format);
  byFormat.set(format, layout);
  return layout;
}

function makeLayout(columns: ResultColumns, format: TextFormat): TextLayout {
  const isCsv = format === "csv" || format === "spreadsheet";
  const end = isCsv ? "" : columns.length === 0 ? "{}" : "}";
  return {
    columns: columns.map((column, i) =>
      isCsv ? csvColumn(column, format, i) : jsonColumn(column, format, i),
    ),
    separator: Buffer.from(ROW_SEPARATORS[format]),
    end: Buffer.from(end),
  };
}

function jsonColumn(column: ResultColumn, format: TextFormat, position: number): ColumnWriter {
  const kind = kindOf(column);
  const isString = format === "json-strings" && isWide(column);
  const quote = kind === "boolean" || kind === "json" || (kind === "number" && !isString) ? "" : '"';
  const name = `${position > 0 ? "," : "{"}${JSON.stringify(column.name)}:`;
  return {
    before: Buffer.from(name + quote),
    after: Buffer.from(quote),
    none: Buffer.from(`${name}null`),
    write:
      kind === "text" ? jsonText : kind === "json" && format === "ndjson" ? onOneLine : plainWriter(kind),
  };
}

/** Numbers that `json-strings` writes as strings; where no type is declared, the database's type decides. */
function isWide({ type, wide }: ResultColumn): boolean {
  return wide === undefined ? type === "int8" || type === "numeric" : wide && !type.startsWith("float");
}

/** A field of CSV (RFC 4180): null is empty, the empty text `""`. Lists and objects are their JSON. */
function csvColumn(column: ResultColumn, format: TextFormat, position: number): ColumnWriter {
  const kind = kindOf(column);
  const comma = position > 0 ? "," : "";
  const isSpreadsheet = format === "spreadsheet";
  const quote = kind === "text" ? '"' : "";
  return {
    before: Buffer.from(comma + quote),
    after: Buffer.from(quote),
    none: Buffer.from(comma),
    write:
      kind === "json"
        ? csvDocument(isSpreadsheet)
        : kind === "text"
          ? csvText(isSpreadsheet)
          : plainWriter(kind),
  };
}

/** Values that need no escape in any format. */
function plainWriter(kind: Kind): ValueWriter {
  switch (kind) {
    case "number":
      return writeNumber;
    case "boolean":
      return writeBoolean;
    case "date":
      return writeDate;
    case "timestamp":
      return timestampWriter(0);
    case "timestamptz":
      return timestampWriter(ZONE_BYTES);
    default:
      return copyValue;
  }
}

const copyValue: ValueWriter = (bytes, frame, from, to) => {
  bytes.copy(frame, from, to);
  return true;
};

const DIGIT_9 = 0x39;

/** JSON has no NaN and no infinity: they are null. `NaN` and `Infinity` end with a letter. */
const writeNumber: ValueWriter = (bytes, frame, from, to) => {
  if ((frame[to - 1] as number) > DIGIT_9) return false;
  bytes.copy(frame, from, to);
  return true;
};

const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const LETTER_T = 0x74;

const writeBoolean: ValueWriter = (bytes, frame, from) => {
  bytes.add(frame[from] === LETTER_T ? TRUE : FALSE);
  return true;
};

const HYPHEN = 0x2d;
const LETTER_C = 0x43;
const DATE_BYTES = 10;

/** Length of `+00`. */
const ZONE_BYTES = 3;

/** Whether the year of a date or time has four digits and is not before Christ. */
function hasCommonYear(frame: Buffer, from: number, to: number): boolean {
  return frame[from + 4] === HYPHEN && frame[to - 1] !== LETTER_C;
}

const writeDate: ValueWriter = (bytes, frame, from, to) => {
  if (to - from !== DATE_BYTES || !hasCommonYear(frame, from, to)) return writeTime(bytes, frame, from, to);
  bytes.copy(frame, from, to);
  return true;
};

const LETTER_BIG_T = Buffer.from("T");
const LETTER_Z = Buffer.from("Z");

/** RFC 3339 in UTC; `zone` is the length of the zone in PostgreSQL's text. */
function timestampWriter(zone: number): ValueWriter {
  return (bytes, frame, from, to) => {
    if (!hasCommonYear(frame, from, to)) return writeTime(bytes, frame, from, to);
    bytes.copy(frame, from, from + DATE_BYTES);
    bytes.add(LETTER_BIG_T);
    bytes.copy(frame, from + DATE_BYTES + 1, to - zone);
    bytes.add(LETTER_Z);
    return true;
  };
}

const writeTime: ValueWriter = (bytes, frame, from, to) => {
  const text = timeOf(frame.toString("latin1", from, to));
  if (text !== null) bytes.addText(text);
  return text !== null;
};

/** What a byte becomes inside quotes, by its number; most stay as they are. */
type Escapes = readonly (Buffer | undefined)[];

function escapesOf(texts: Readonly<Record<number, string>>): Escapes {
  return Array.from({ length: 256 }, (_, byte) => {
    const text = texts[byte];
    return text === undefined ? undefined : Buffer.from(text);
  });
}

/** Quotes, backslashes and control characters, as `JSON.stringify` writes them. */
const JSON_ESCAPES = escapesOf(
  Object.fromEntries(
    [...Array(32).keys(), 0x22, 0x5c].map((byte) => [
      byte,
      JSON.stringify(String.fromCharCode(byte)).slice(1, -1),
    ]),
  ),
);
const CSV_ESCAPES = escapesOf({ 0x22: '""' });
const LINE_ESCAPES = escapesOf({ 0x0a: " ", 0x0d: " " });

/** Bytes of a text that are escaped with room for the longest escapes: a text of 10 MB would else reserve 60. */
const PIECE_BYTES = 4096;
const LONGEST_ESCAPE = 6;

function escapedWriter(escapes: Escapes): ValueWriter {
  return (bytes, frame, from, to) => {
    for (let start = from; start < to; start += PIECE_BYTES) {
      const end = Math.min(to, start + PIECE_BYTES);
      bytes.reserve(LONGEST_ESCAPE * (end - start));
      const { buffer } = bytes;
      let { at } = bytes;
      for (let i = start; i < end; i++) {
        const byte = frame[i] as number;
        const escape = escapes[byte];
        if (escape === undefined) buffer[at++] = byte;
        else for (const each of escape) buffer[at++] = each;
      }
      bytes.at = at;
    }
    return true;
  };
}

const jsonText = escapedWriter(JSON_ESCAPES);
const quotedText = escapedWriter(CSV_ESCAPES);

/** JSON on one line: strings escape line breaks, the others are white space of a `json` column. */
const onOneLine = escapedWriter(LINE_ESCAPES);

const APOSTROPHE = Buffer.from("'");
const QUOTE = Buffer.from('"');

/** Spreadsheets take a text that begins so for a formula. */
const FORMULA_BYTES: ReadonlySet<number | undefined> = new Set(Buffer.from("=+@\t\r-"));

function csvText(isSpreadsheet: boolean): ValueWriter {
  if (!isSpreadsheet) return quotedText;
  return (bytes, frame, from, to) => {
    if (to > from && FORMULA_BYTES.has(frame[from])) bytes.add(APOSTROPHE);
    return quotedText(bytes, frame, from, to);
  };
}

/** A string is its text, except with U+0000, which PostgreSQL's `text` cannot store either. */
function csvDocument(isSpreadsheet: boolean): ValueWriter {
  const write = csvText(isSpreadsheet);
  return (bytes, frame, from, to) => {
    const json = frame.toString("utf8", from, to).trim();
    if (json === "null") return false;
    const isText = json.startsWith('"') && !json.includes("\\u0000");
    const value = Buffer.from(isText ? (JSON.parse(json) as string) : json);
    bytes.add(QUOTE);
    write(bytes, value, 0, value.length);
    bytes.add(QUOTE);
    return true;
  };
}

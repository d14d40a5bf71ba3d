import type { TextFormat } from "../../model/query.js";
import type { ResultColumns } from "../warehouse.js";
import {
  AROUND_BYTES,
  BOOLEAN,
  type ColumnWriter,
  DATE,
  DOCUMENT,
  type Escapes,
  layoutOf,
  NUMBER,
  TEXT,
  type TextLayout,
  TIMESTAMP,
} from "./row-layout.js";

/** Writes rows in a format from PostgreSQL's frames. The bytes of a result are those of `take`, in order, and of `end`. */
export interface RowWriter {
  /** Bytes of the rows that have not been taken, and of those that `take` returns. */
  readonly size: number;
  readonly complete: number;
  /** The frame's fields begin at `offset`; there may be more than columns. */
  row(frame: Buffer, offset: number): void;
  /** The bytes that are complete, in parts; perhaps none. */
  take(): readonly Buffer[];
  /** The last bytes. */
  end(): readonly Buffer[];
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

/** Bytes of the first buffer, and of the longest: each next one is longer, and none is copied. */
const FIRST_BYTES = 1024;
const LONGEST_BYTES = 72 * 1024;
const GROWTH = 4;

/** Spreadsheets take a text that begins so for a formula. */
const FORMULA_BYTES: ReadonlySet<number | undefined> = new Set(Buffer.from("=+@\t\r-"));

/** A call of `copy` takes as long as a loop over 50 bytes. */
const COPIED_BY_BYTE = 48;

/** Bytes of a text that are escaped with room for the longest escapes: a text of 10 MB would else reserve 60. */
const PIECE_BYTES = 4096;
const LONGEST_ESCAPE = 6;

/**
 * Writes rows of text: one loop over the bytes of a row, into one buffer whose room is checked once per value. With a function
 * per kind of value and a check per piece the same rows took 1.4 times as long. Frees nothing between rows: a stream takes its
 * bytes in parts.
 */
export class TextWriter implements RowWriter {
  readonly #layout: TextLayout;
  /** Buffers that are full, and their bytes. */
  #full: Buffer[] = [];
  #fullBytes = 0;
  #out: Buffer = NOTHING;
  #at = 0;
  /** Bytes of the next buffer. */
  #next = FIRST_BYTES;
  #hasRows = false;

  constructor(columns: ResultColumns, format: TextFormat) {
    this.#layout = layoutOf(columns, format);
  }

  get size(): number {
    return this.#fullBytes + this.#at;
  }

  get complete(): number {
    return this.size;
  }

  row(frame: Buffer, offset: number): void {
    const { columns, separator, end } = this.#layout;
    if (this.#out.length - this.#at < AROUND_BYTES) this.#grow(AROUND_BYTES);
    let out = this.#out;
    let at = this.#at;
    if (this.#hasRows) at = copy(separator, 0, separator.length, out, at);
    this.#hasRows = true;
    let from = offset;
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i] as ColumnWriter;
      const { kind, before, isQuoted, none, around } = column;
      const length = fieldLength(frame, from);
      from += 4;
      const most = kind === TEXT ? LONGEST_ESCAPE * Math.min(length, PIECE_BYTES) : length + MORE_DIGITS;
      if (out.length - at < around + most) {
        this.#at = at;
        out = this.#grow(around + most);
        at = 0;
      }
      const start = at;
      if (length >= 0) at = copy(before, 0, before.length, out, at);
      const to = from + length;
      let isNull = length < 0;
      if (!isNull)
        switch (kind) {
          case NUMBER:
            // JSON has no NaN and no infinity: they are null. `NaN` and `Infinity` end with a letter.
            if ((frame[to - 1] as number) > DIGIT_9) isNull = true;
            // An exponent has two or three digits behind its sign.
            else if (frame[to - 4] === LETTER_E || frame[to - 5] === LETTER_E)
              at += out.write(withoutPlus(frame.toString("latin1", from, to)), at, "latin1");
            else at = copy(frame, from, to, out, at);
            break;
          case TEXT:
            if (length <= PIECE_BYTES && !column.guardsFormulas) {
              at = escape(column.escapes, frame, from, to, out, at);
              break;
            }
            this.#at = at;
            this.#addText(column, frame, from, to);
            ({ out, at } = this.#place);
            break;
          case DATE:
            if (length === DATE_BYTES && hasCommonYear(frame, from, to)) at = copy(frame, from, to, out, at);
            else [isNull, at] = writeTime(frame, from, to, out, at);
            break;
          case TIMESTAMP:
            if (!hasCommonYear(frame, from, to)) {
              [isNull, at] = writeTime(frame, from, to, out, at);
              break;
            }
            at = copy(frame, from, to - column.zone, out, at);
            out[at - (length - column.zone) + DATE_BYTES] = LETTER_T;
            out[at++] = LETTER_Z;
            break;
          case BOOLEAN: {
            const text = frame[from] === LETTER_SMALL_T ? TRUE : FALSE;
            at = copy(text, 0, text.length, out, at);
            break;
          }
          case DOCUMENT:
            this.#at = at;
            isNull = !this.#addDocument(column, frame.toString("utf8", from, to));
            ({ out, at } = this.#place);
            break;
          default:
            at = copy(frame, from, to, out, at);
        }
      if (isNull) at = copy(none, 0, none.length, out, start);
      else if (isQuoted) out[at++] = QUOTE;
      if (length > 0) from = to;
    }
    this.#at = copy(end, 0, end.length, out, at);
  }

  /** The next buffer is of the size of these bytes: a stream takes its rows in parts. */
  take(): readonly Buffer[] {
    const parts = [...this.#full, this.#out.subarray(0, this.#at)];
    this.#next = Math.max(FIRST_BYTES, Math.min(LONGEST_BYTES, this.size));
    this.#full = [];
    this.#fullBytes = this.#at = 0;
    this.#out = NOTHING;
    return parts;
  }

  end(): readonly Buffer[] {
    return this.take();
  }

  /** Begins a buffer with room for so many bytes. */
  #grow(length: number): Buffer {
    if (this.#at > 0) this.#full.push(this.#out.subarray(0, this.#at));
    this.#fullBytes += this.#at;
    this.#at = 0;
    this.#out = Buffer.allocUnsafe(Math.max(this.#next, length));
    this.#next = Math.min(LONGEST_BYTES, GROWTH * this.#next);
    return this.#out;
  }

  get #place(): { out: Buffer; at: number } {
    return { out: this.#out, at: this.#at };
  }

  /** A text of any length, in pieces. */
  #addText(column: ColumnWriter, frame: Buffer, from: number, to: number): void {
    if (column.guardsFormulas && to > from && FORMULA_BYTES.has(frame[from]))
      this.#out[this.#at++] = APOSTROPHE;
    for (let start = from; start < to; start += PIECE_BYTES) {
      const end = Math.min(to, start + PIECE_BYTES);
      const most = LONGEST_ESCAPE * (end - start) + AROUND_BYTES;
      if (this.#out.length - this.#at < most) this.#grow(most);
      this.#at = escape(column.escapes, frame, start, end, this.#out, this.#at);
    }
    if (this.#out.length - this.#at < column.around) this.#grow(column.around);
  }

  /** A string is its text, except with U+0000, which PostgreSQL's `text` cannot store either. False for JSON's null. */
  #addDocument(column: ColumnWriter, text: string): boolean {
    const json = text.trim();
    if (json === "null") return false;
    const isText = json.startsWith('"') && !json.includes("\\u0000");
    const value = Buffer.from(isText ? (JSON.parse(json) as string) : json);
    this.#addText(column, value, 0, value.length);
    return true;
  }
}

/** Copies bytes, and returns where they end. */
function copy(bytes: Buffer, from: number, to: number, out: Buffer, at: number): number {
  if (to - from > COPIED_BY_BYTE) return at + bytes.copy(out, at, from, to);
  let end = at;
  for (let i = from; i < to; i++) out[end++] = bytes[i] as number;
  return end;
}

/** Copies bytes with escapes, and returns where they end. */
function escape(escapes: Escapes, bytes: Buffer, from: number, to: number, out: Buffer, at: number): number {
  const { isEscaped, texts } = escapes;
  let end = at;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    if (isEscaped[byte] === 0) out[end++] = byte;
    else {
      const text = texts[byte] as Buffer;
      for (let j = 0; j < text.length; j++) out[end++] = text[j] as number;
    }
  }
  return end;
}

const DIGIT_9 = 0x39;
const LETTER_E = 0x65;

/** How much longer a float becomes: `1e+20` has 21 digits. */
const MORE_DIGITS = 16;

/** A float in the form that ClickHouse has too: `1e-07` is `1e-7`, `1e+15` has all digits. */
const withoutPlus = (digits: string): string => String(Number(digits)).replace("e+", "e");
const HYPHEN = 0x2d;
const LETTER_C = 0x43;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const LETTER_SMALL_T = 0x74;
const APOSTROPHE = 0x27;
const QUOTE = 0x22;
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const DATE_BYTES = 10;

/** Whether the year of a date or time has four digits and is not before Christ. */
function hasCommonYear(frame: Buffer, from: number, to: number): boolean {
  return frame[from + 4] === HYPHEN && frame[to - 1] !== LETTER_C;
}

/** Writes a time of any year. Returns whether it is null, and where its text ends. */
function writeTime(frame: Buffer, from: number, to: number, out: Buffer, at: number): [boolean, number] {
  const text = timeOf(frame.toString("latin1", from, to));
  return text === null ? [true, at] : [false, at + out.write(text, at, "latin1")];
}

/**
 * A date or time of any year. A year outside 0001 to 9999 has the expanded form of ISO 8601, which JavaScript parses: a sign
 * and at least six digits, `-000043` for 44 BC. Infinite times are null.
 */
function timeOf(value: string): string | null {
  const [, digits = "", rest = "", time, era] =
    /^(\d{4,})(-\d\d-\d\d)(?: ([\d:.]+)(?:\+00)?)?( BC)?$/.exec(value) ?? [];
  if (digits === "") return null;
  const year = era === undefined ? Number(digits) : 1 - Number(digits);
  return `${yearOf(year)}${rest}${time === undefined ? "" : `T${time}Z`}`;
}

function yearOf(year: number): string {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, "0");
  return (year < 0 ? "-" : "+") + String(Math.abs(year)).padStart(6, "0");
}

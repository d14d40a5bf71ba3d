import type { TextFormat } from "../../model/query.js";
import { type ResultColumn, type ResultColumns, ROW_SEPARATORS } from "../warehouse.js";
import { type Kind, kindOf } from "./postgres-columns.js";
import { NULL_MARK, VALUE_SEPARATOR } from "./postgres-select.js";
import type { Texts } from "./prepared-statements.js";

/**
 * Writes rows in a format from the text of their values. Of 1,000 rows of eight columns PostgreSQL makes JSON in 4.5 ms of
 * processor time and their text in 3.0 ms; this takes 1.2 to 1.6 ms (on a busy machine, so read the ratios).
 */
export class RowWriter {
  readonly #columns: readonly ColumnWriter[];
  /** The text before each column; the first one begins the row. */
  readonly #before: readonly string[];
  readonly #end: string;
  readonly #separator: string;
  readonly #null: string;

  constructor(columns: ResultColumns, format: TextFormat) {
    const isCsv = format === "csv" || format === "spreadsheet";
    this.#columns = columns.map((column) => (isCsv ? csvColumn(column, format) : jsonColumn(column, format)));
    this.#before = columns.map(
      ({ name }, i) => (i > 0 ? "," : isCsv ? "" : "{") + (isCsv ? "" : `${JSON.stringify(name)}:`),
    );
    this.#end = isCsv ? "" : columns.length === 0 ? "{}" : "}";
    this.#separator = ROW_SEPARATORS[format];
    this.#null = isCsv ? "" : "null";
  }

  /** Rows from the fields of their own. A row may have more fields than columns. */
  ofRows(rows: readonly Texts[]): string | Buffer {
    const values = rows.flatMap((row) => row.slice(0, this.#columns.length));
    return this.#write(values, rows.length, null, NOTHING_PLAIN);
  }

  /**
   * The first `returned` of `found` rows, from one text of all their values (`selectText`). Null when a value contains the
   * separator: the number of parts is then not the number of values.
   */
  ofText(text: string, found: number, returned: number): string | Buffer | null {
    const count = found * this.#columns.length;
    const values = count === 0 ? [] : text.split(VALUE_SEPARATOR);
    if (values.length !== count) return null;
    return this.#write(values, returned, text.includes(NULL_MARK) ? NULL_MARK : null, plainIn(text));
  }

  #write(values: Texts, rows: number, nullValue: string | null, isPlain: PlainTest): string | Buffer {
    const plain = this.#columns.map((column) => isPlain(column));
    const quoted = this.#columns.map(({ quote }, i) => (plain[i] === true ? quote : ""));
    // Without nulls the quotes are part of the constant text between the columns.
    const quotes = nullValue === null ? quoted : quoted.map(() => "");
    const before = this.#before.map((text, i) => (quotes[i - 1] ?? "") + text + (quotes[i] ?? ""));
    const end = (quotes.at(-1) ?? "") + this.#end;
    const pieces: Buffer[] = [];
    let text = "";
    for (let row = 0, next = 0; row < rows; row++) {
      if (row > 0) text += this.#separator;
      for (let i = 0; i < before.length; i++) {
        const value = values[next++] ?? null;
        text += before[i] ?? "";
        if (value === null || value === nullValue) text += this.#null;
        else if (plain[i] !== true) text += this.#columns[i]?.write(value) ?? this.#null;
        else text += nullValue === null ? value : (quoted[i] ?? "") + value + (quoted[i] ?? "");
      }
      text += end;
      if (row % PIECE_ROWS !== PIECE_ROWS - 1) continue;
      pieces.push(Buffer.from(text));
      text = "";
    }
    return pieces.length === 0 ? text : Buffer.concat([...pieces, Buffer.from(text)]);
  }
}

/** Whether all values of a column are written as they are, within its quotes. */
type PlainTest = (column: ColumnWriter) => boolean;

const NOTHING_PLAIN: PlainTest = () => false;

/** Tests the text of all values, once for each character class. */
function plainIn(text: string): PlainTest {
  const found = new Map<RegExp, boolean>();
  return ({ special }) => {
    if (special === null) return false;
    const known = found.get(special) ?? special.test(text);
    found.set(special, known);
    return !known;
  };
}

/**
 * Rows that are joined in one text. A text of 1,000 rows is a tree of 16,000 parts, which each collection of garbage copies:
 * that took 40 % of the server's time.
 */
const PIECE_ROWS = 32;

const writers = new WeakMap<ResultColumns, Map<TextFormat, RowWriter>>();

/** The writer of these columns, made once. */
export function rowWriter(columns: ResultColumns, format: TextFormat): RowWriter {
  let byFormat = writers.get(columns);
  if (!byFormat) writers.set(columns, (byFormat = new Map<TextFormat, RowWriter>()));
  const writer = byFormat.get(format) ?? new RowWriter(columns, format);
  byFormat.set(format, writer);
  return writer;
}

/** Writes the values of a column that are not null. */
interface ColumnWriter {
  /** Around plain values. */
  readonly quote: string;
  /** Values without these characters are written as they are; null: no values are. */
  readonly special: RegExp | null;
  /** The value in the format, with its quotes; null where the format has none for it. */
  readonly write: (value: string) => string | null;
}

function jsonColumn(column: ResultColumn, format: TextFormat): ColumnWriter {
  const kind = kindOf(column);
  const isString = format === "json-strings" && isWide(column);
  const quote = kind === "boolean" || kind === "json" || (kind === "number" && !isString) ? "" : '"';
  if (kind === "json" && format === "ndjson") return NDJSON_DOCUMENTS;
  if (kind === "text") return { quote, special: ESCAPED, write: JSON.stringify };
  return { quote, ...plainColumn(kind, quote) };
}

/** Strings escape line breaks: the others are white space of a `json` column. */
const NDJSON_DOCUMENTS: ColumnWriter = {
  quote: "",
  special: /[\r\n]/,
  write: (value) => value.replace(/[\r\n]/g, " "),
};

/** Characters that a JSON string escapes. The null mark and the separator are not values. */
const ESCAPED = /["\\\x00-\x1d]/;

/** Numbers that `json-strings` writes as strings; where no type is declared, the database's type decides. */
function isWide({ type, wide }: ResultColumn): boolean {
  return wide === undefined ? type === "int8" || type === "numeric" : wide && !type.startsWith("float");
}

/** A field of CSV (RFC 4180): null is empty, the empty text `""`. Lists and objects are their JSON. */
function csvColumn(column: ResultColumn, format: TextFormat): ColumnWriter {
  const kind = kindOf(column);
  const isSpreadsheet = format === "spreadsheet";
  const write = (value: string): string => csvText(isSpreadsheet ? withoutFormula(value) : value);
  if (kind === "text") return { quote: '"', special: isSpreadsheet ? null : /"/, write };
  if (kind === "json") return { quote: "", special: null, write: (value) => csvDocument(value, write) };
  return { quote: "", ...plainColumn(kind, "") };
}

const csvText = (value: string): string => `"${value.replaceAll('"', '""')}"`;

/** Spreadsheets take a text that begins so for a formula. */
const withoutFormula = (value: string): string => value.replace(/^[=+@\t\r-]/, "'$&");

/** A string is its text, except with U+0000, which PostgreSQL's `text` cannot store either. */
function csvDocument(json: string, write: (value: string) => string): string | null {
  const value = json.trim();
  if (value === "null") return null;
  if (!value.startsWith('"') || value.includes("\\u0000")) return write(value);
  return write(JSON.parse(value) as string);
}

/** Columns whose values need no escape in any format. */
function plainColumn(kind: Kind, quote: string): Omit<ColumnWriter, "quote"> {
  const quoted = (value: string | null): string | null => value && quote + value + quote;
  switch (kind) {
    case "number":
      return { special: NOT_FINITE, write: (value) => (isFiniteNumber(value) ? quoted(value) : null) };
    case "date":
      return { special: null, write: (value) => quoted(dateOf(value)) };
    case "timestamp":
      return { special: null, write: (value) => quoted(timestampOf(value)) };
    case "timestamptz":
      return { special: null, write: (value) => quoted(timestampOf(value, 3)) };
    default:
      return { special: NOTHING, write: quoted };
  }
}

/** JSON has no NaN and no infinity: they are null. `NaN` and `Infinity` end with a letter. */
const isFiniteNumber = (value: string): boolean => value.charCodeAt(value.length - 1) <= DIGIT_9;
const NOT_FINITE = /[Ny]/;

/** Found in no text of PostgreSQL. */
const NOTHING = /\x00/;

const DIGIT_9 = 0x39;
const HYPHEN = 0x2d;
const LETTER_C = 0x43;

/** Whether the year of a date or time has four digits and is not before Christ. */
function hasCommonYear(value: string): boolean {
  return value.charCodeAt(4) === HYPHEN && value.charCodeAt(value.length - 1) !== LETTER_C;
}

const dateOf = (value: string): string | null =>
  value.length === 10 && hasCommonYear(value) ? value : timeOf(value);

/** RFC 3339 in UTC; `zone` is the length of `+00` at the end. */
function timestampOf(value: string, zone = 0): string | null {
  if (!hasCommonYear(value)) return timeOf(value);
  return `${value.slice(0, 10)}T${value.slice(11, value.length - zone)}Z`;
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

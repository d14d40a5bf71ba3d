import type { TextFormat } from "../core/model/query.js";
import { type ResultColumn, type ResultColumns, ROW_SEPARATORS } from "../core/warehouse/warehouse.js";
import { type Escapes, escapesOf, type PaddedText, paddedText } from "./bytes.js";
import { type BinaryValue, binaryValue } from "./binary-values.js";
import { type Kind, kindOf } from "./columns.js";

/** How the values of a column are written: numbers, so that one loop switches on them. */
const COPY = 0;
export const NUMBER = 1;
export const BOOLEAN = 2;
export const DATE = 3;
export const TIMESTAMP = 4;
export const TEXT = 5;
/** JSON in a field of CSV. */
export const DOCUMENT = 6;
export const FLOAT4 = 7;
export const FLOAT8 = 8;
/** JSON from a binary form. */
export const BINARY = 9;

export interface ColumnWriter {
  readonly kind: number;
  /** Before a value, with what separates it from the column before. */
  readonly before: PaddedText;
  readonly isQuoted: boolean;
  /** Instead of a value that is null. */
  readonly none: PaddedText;
  /** More bytes than are written beside the value's own. */
  readonly around: number;
  readonly escapes: Escapes;
  /** Whether a text that spreadsheets take for a formula gets an apostrophe. */
  readonly guardsFormulas: boolean;
  /** Reads a binary form. */
  readonly json: BinaryValue["json"] | null;
}

export interface TextLayout {
  readonly columns: readonly ColumnWriter[];
  /** Between two rows. */
  readonly separator: PaddedText;
  /** At the end of each row. */
  readonly end: PaddedText;
}

/** Quotes, the end of a row, and the rest of a word. */
export const AROUND_BYTES = 20;

/** Quotes, backslashes and control characters, as `JSON.stringify` writes them. */
const JSON_ESCAPES = escapesOf(
  Object.fromEntries(
    [...Array(32).keys(), 0x22, 0x5c].map((byte) => [
      byte,
      JSON.stringify(String.fromCharCode(byte)).slice(1, -1),
    ]),
  ),
);
const NO_ESCAPES = escapesOf({});
const CSV_ESCAPES = escapesOf({ 0x22: '""' });

/** JSON on one line: strings escape line breaks, the others are white space of a `json` column. */
const LINE_ESCAPES = escapesOf({ 0x0a: " ", 0x0d: " " });

/** How these columns are written. */
export function layoutOf(columns: ResultColumns, format: TextFormat): TextLayout {
  const isCsv = format === "csv" || format === "spreadsheet";
  const end = isCsv ? "" : columns.length === 0 ? "{}" : "}";
  return {
    columns: columns.map((column, i) =>
      isCsv ? csvColumn(column, format, i, columns.length) : jsonColumn(column, format, i),
    ),
    separator: paddedText(ROW_SEPARATORS[format]),
    end: paddedText(end),
  };
}

function jsonColumn(column: ResultColumn, format: TextFormat, position: number): ColumnWriter {
  const kind = kindOf(column);
  const isAsked = format === "json-strings" || (format === "json-declared" && column.numbers === "string");
  const isString = isAsked && isWide(column);
  const isQuoted = !UNQUOTED.has(kind) && (kind !== "number" || isString);
  const name = `${position > 0 ? "," : "{"}${JSON.stringify(column.key ?? column.name)}:`;
  const isOnOneLine = format === "ndjson";
  return columnWriter(column, {
    before: name,
    isQuoted,
    none: `${name}null`,
    ...(kind === "json" && isOnOneLine && { kind: TEXT }),
    escapes: kind === "json" || kind === "binary" ? (isOnOneLine ? LINE_ESCAPES : NO_ESCAPES) : JSON_ESCAPES,
  });
}

const UNQUOTED: ReadonlySet<Kind> = new Set(["boolean", "float4", "float8", "json", "binary"]);

/** Numbers that `json-strings` writes as strings; where no type is declared, the database's type decides. */
function isWide({ type, wide }: ResultColumn): boolean {
  return wide === undefined
    ? type === "int8" || type === "numeric" || type === "money"
    : wide && !type.startsWith("float");
}

/**
 * A field of CSV (RFC 4180): null is empty, the empty text `""`. Lists and objects are their JSON. In a record of one field null
 * is `""` too: readers skip an empty line.
 */
function csvColumn(column: ResultColumn, format: TextFormat, position: number, count: number): ColumnWriter {
  const kind = kindOf(column);
  const comma = position > 0 ? "," : "";
  return columnWriter(column, {
    before: comma,
    isQuoted: kind === "text" || kind === "json" || kind === "binary",
    none: count === 1 ? '""' : comma,
    ...((kind === "json" || kind === "binary") && { kind: DOCUMENT }),
    escapes: CSV_ESCAPES,
    guardsFormulas: format === "spreadsheet",
  });
}

const WRITTEN_AS: Readonly<Record<Kind, number>> = {
  number: NUMBER,
  float4: FLOAT4,
  float8: FLOAT8,
  boolean: BOOLEAN,
  date: DATE,
  timestamp: TIMESTAMP,
  timestamptz: TIMESTAMP,
  text: TEXT,
  word: COPY,
  json: COPY,
  binary: BINARY,
};

interface ColumnText {
  readonly before: string;
  readonly none: string;
  readonly isQuoted: boolean;
  readonly escapes: Escapes;
  readonly kind?: number;
  readonly guardsFormulas?: boolean;
}

function columnWriter(column: ResultColumn, { before, none, isQuoted, ...text }: ColumnText): ColumnWriter {
  const kind = kindOf(column);
  const texts = { before: paddedText(isQuoted ? `${before}"` : before), none: paddedText(none) };
  return {
    kind: text.kind ?? WRITTEN_AS[kind],
    ...texts,
    isQuoted,
    around: Math.max(texts.before.length, texts.none.length) + AROUND_BYTES,
    escapes: text.escapes,
    guardsFormulas: text.guardsFormulas ?? false,
    json: kind === "binary" ? (binaryValue(column)?.json ?? null) : null,
  };
}

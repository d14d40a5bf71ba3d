import { type ResultColumn, type ResultColumns, TooManyDigits } from "../warehouse.js";
import { kindOf } from "./columns.js";
import { fieldTexts, type RowWriter } from "./rows.js";

/** Type of a column of a binary table (runtime/docs/responses.md, Parquet and Arrow). It follows from the database's type alone. */
export type TableType =
  | "boolean"
  | "int32"
  | "int64"
  | "float32"
  | "float64"
  | "date"
  | "timestamp"
  | "string"
  | { readonly precision: number; readonly scale: number };

/** A whole number of units: the value of an `int64`, a decimal without its point, or microseconds since 1970; days are numbers. */
export type TableValue = boolean | number | bigint | string;

export interface TableColumn {
  readonly name: string;
  readonly type: TableType;
  /** The value of PostgreSQL's text; null where the API shows null, such as NaN. */
  readonly read: (text: string) => TableValue | null;
}

function tableColumns(columns: ResultColumns): readonly TableColumn[] {
  return columns.map((column) => ({ name: column.name, ...typeOf(column) }));
}

type ColumnReader = Omit<TableColumn, "name">;

function typeOf(column: ResultColumn): ColumnReader {
  const kind = kindOf(column);
  switch (kind) {
    case "number":
      return numberType(column);
    case "boolean":
      return { type: "boolean", read: (text) => text === "t" };
    case "date":
      return { type: "date", read: dayOf };
    case "timestamp":
    case "timestamptz":
      return { type: "timestamp", read: microsecondsOf };
    case "json":
      return { type: "string", read: isDocument(column) ? documentOf : textOf };
    default:
      return TEXT;
  }
}

const TEXT: ColumnReader = { type: "string", read: (text) => text };

function numberType({ name, type, decimal }: ResultColumn): ColumnReader {
  switch (type) {
    case "int2":
    case "int4":
      return { type: "int32", read: Number };
    case "int8":
      return { type: "int64", read: BigInt };
    case "float4":
      return { type: "float32", read: finiteOf };
    case "float8":
      return { type: "float64", read: finiteOf };
    default:
      return decimal === undefined ? DIGITS : decimalType(name, decimal);
  }
}

/** Digits of the decimals that every reader has: 128 bits. */
const MAX_PRECISION = 38;

/** A `numeric` without precision may have more digits than any decimal type: its digits are a text. */
const DIGITS: ColumnReader = {
  type: "string",
  read: (text) => (isFinite(Number(text)) ? text : digitsOf(text)),
};

/** `Number` reads more than 308 digits as infinite. */
const digitsOf = (text: string): string | null => (/[Ny]/.test(text) ? null : text);

/** A value that does not fit is refused: the digits may be declared by the model alone. */
function decimalType(name: string, decimal: readonly [precision: number, scale: number]): ColumnReader {
  const [precision, scale] = decimal;
  if (precision > MAX_PRECISION || scale < 0 || scale > precision) return DIGITS;
  const end = 10n ** BigInt(precision);
  const read = (text: string): bigint | null => {
    if (digitsOf(text) === null) return null;
    const [whole = "", fraction = ""] = text.split(".");
    const units = BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0"));
    if (units >= end || units <= -end || /[1-9]/.test(fraction.slice(scale)))
      throw new TooManyDigits(name, decimal);
    return units;
  };
  return { type: { precision, scale }, read };
}

function finiteOf(text: string): number | null {
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}

/** Values that are JSON themselves: `json`, lists and composites. Other types have a text, which is a JSON string here. */
function isDocument({ type, fields }: ResultColumn): boolean {
  return fields !== undefined || type.startsWith("_") || type === "json" || type === "jsonb";
}

/** JSON's null is null, as in the other formats. */
const documentOf = (json: string): string | null => (json.trim() === "null" ? null : json);

function textOf(json: string): string | null {
  const value = JSON.parse(json) as unknown;
  return value === null ? null : typeof value === "string" ? value : json;
}

const TIME = /^(\d{4,})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?(?:\+00)?( BC)?$/;

/** Days since 1970; null for an infinite date. */
function dayOf(text: string): number | null {
  const [, year, month, day, , , , , era] = TIME.exec(text) ?? [];
  return year === undefined
    ? null
    : daysBefore(era ? 1 - Number(year) : Number(year), Number(month), Number(day));
}

const DAY_SECONDS = 86_400;

/** The last time of 64 bits: PostgreSQL's calendar ends 29 years later, in 294276. */
const LAST_MICROSECOND = 2n ** 63n - 1n;

/** Microseconds since 1970; null for an infinite time, and beyond 64 bits. */
function microsecondsOf(text: string): bigint | null {
  const [, , , , hours = "0", minutes = "0", seconds = "0", fraction = ""] = TIME.exec(text) ?? [];
  const days = dayOf(text);
  if (days === null) return null;
  const total = days * DAY_SECONDS + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const microseconds = BigInt(total) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
  return microseconds > LAST_MICROSECOND ? null : microseconds;
}

/** Days of the Gregorian calendar since 1970, which JavaScript's `Date` has for the years -271821 to 275760 only. */
function daysBefore(year: number, month: number, day: number): number {
  // Its cycle has 400 years.
  const cycles = Math.floor((year - 1600) / 400);
  const milliseconds = Date.UTC(year - 400 * cycles, month - 1, day);
  return milliseconds / (1000 * DAY_SECONDS) + cycles * DAYS_OF_CYCLE;
}

const DAYS_OF_CYCLE = 146_097;

/** Rows and bytes of a batch, which is a row group of Parquet and a record batch of Arrow: it is in memory as a whole. */
const MAX_ROWS = 8192;
const MAX_BYTES = 2 * 1024 * 1024;

export type ColumnValues = readonly (TableValue | null)[];

/** Writes rows as a table: collects them by their columns, and writes one batch after another. */
export abstract class TableRows implements RowWriter {
  protected readonly columns: readonly TableColumn[];
  #values: (TableValue | null)[][];
  #rows = 0;
  /** Of the values, as PostgreSQL writes them. */
  #bytes = 0;

  constructor(columns: ResultColumns) {
    this.columns = tableColumns(columns);
    this.#values = this.columns.map(() => []);
  }

  get size(): number {
    return this.#bytes + this.complete;
  }

  abstract readonly complete: number;
  abstract take(): Buffer;
  protected abstract write(values: readonly ColumnValues[], rows: number): void;
  /** Writes what follows the last batch. */
  protected abstract finish(): void;

  row(frame: Buffer, offset: number): void {
    this.#rows++;
    fieldTexts(frame, offset, this.columns.length).forEach((text, i) => {
      this.#bytes += text?.length ?? 0;
      this.#values[i]?.push(text === null ? null : (this.columns[i]?.read(text) ?? null));
    });
    if (this.#rows >= MAX_ROWS || this.#bytes >= MAX_BYTES) this.#writeBatch();
  }

  end(): Buffer {
    if (this.#rows > 0) this.#writeBatch();
    this.finish();
    return this.take();
  }

  #writeBatch(): void {
    this.write(this.#values, this.#rows);
    this.#values = this.columns.map(() => []);
    this.#rows = this.#bytes = 0;
  }
}

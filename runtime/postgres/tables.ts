import { type PooledBytes, NOTHING } from "../core/warehouse/spool.js";
import { TooManyDigits, TypeChanged } from "../core/warehouse/query-errors.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { binaryValue } from "./binary-values.js";
import { kindOf } from "./columns.js";
import { fieldsOf, type RowWriter } from "./rows.js";
import { daysIn, microsecondsIn } from "./times.js";

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
  /** The value of a field; null where the API shows null, such as NaN. */
  readonly read: (field: Buffer) => TableValue | null;
}

type ColumnReader = Omit<TableColumn, "name">;

function typeOf(column: ResultColumn): ColumnReader {
  const kind = kindOf(column);
  switch (kind) {
    case "number":
      return numberType(column);
    case "float4":
      return { type: "float32", read: (field) => finite(field, 4) };
    case "float8":
      return { type: "float64", read: (field) => finite(field, 8) };
    case "boolean":
      return ofText("boolean", (text) => text === "t");
    case "date":
      return { type: "date", read: daysIn };
    case "timestamp":
    case "timestamptz":
      return { type: "timestamp", read: microsecondsIn };
    case "json":
      return ofText("string", isDocument(column) ? documentOf : textOf);
    case "binary": {
      const binary = binaryValue(column);
      const read = isDocument(column) ? documentOf : textOf;
      return { type: "string", read: (field) => read(binary?.json(field) ?? "null") };
    }
    default:
      return TEXT;
  }
}

function ofText(type: TableType, read: (text: string) => TableValue | null): ColumnReader {
  return { type, read: (field) => read(field.toString()) };
}

const TEXT = ofText("string", (text) => text);

function numberType({ name, type, decimal }: ResultColumn): ColumnReader {
  switch (type) {
    case "int2":
    case "int4":
      return ofText("int32", Number);
    case "int8":
      return ofText("int64", BigInt);
    default:
      return decimal === undefined ? DIGITS : decimalType(name, decimal);
  }
}

/** Digits of the decimals that every reader has: 128 bits. */
const MAX_PRECISION = 38;

/** A `numeric` without precision may have more digits than any decimal type: its digits are a text. */
const DIGITS = ofText("string", (text) => (isFinite(Number(text)) ? text : digitsOf(text)));

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
  return ofText({ precision, scale }, read);
}

function finite(field: Buffer, length: 4 | 8): number | null {
  if (field.length !== length) throw new TypeChanged();
  const number = length === 4 ? field.readFloatBE() : field.readDoubleBE();
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
    this.columns = columns.map((column) => ({ name: column.key ?? column.name, ...typeOf(column) }));
    this.#values = this.columns.map(() => []);
  }

  get size(): number {
    return this.#bytes + this.complete;
  }

  abstract readonly complete: number;
  /** The bytes that are complete, once. */
  protected abstract written(): Buffer;
  protected abstract write(values: readonly ColumnValues[], rows: number): void;
  /** Writes what follows the last batch. */
  protected abstract finish(): void;

  row(frame: Buffer, offset: number): void {
    this.#rows++;
    fieldsOf(frame, offset, this.columns.length).forEach((field, i) => {
      this.#bytes += field?.length ?? 0;
      this.#values[i]?.push(field === null ? null : (this.columns[i]?.read(field) ?? null));
    });
    if (this.#rows >= MAX_ROWS || this.#bytes >= MAX_BYTES) this.#writeBatch();
  }

  take(): PooledBytes {
    return { bytes: this.written(), release: NOTHING };
  }

  end(): PooledBytes {
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

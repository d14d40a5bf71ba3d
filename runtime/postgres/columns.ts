import { isDeepStrictEqual } from "node:util";
import { constant, identifier, join, sql, type Sql } from "../core/warehouse/sql.js";
import { TypeChanged } from "../core/warehouse/query-errors.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { binaryValue } from "./binary-values.js";
import { checkType } from "./scalars.js";

/**
 * How a value is written in a response (`rows.ts`). `word`: a text of letters, digits and hyphens. `binary`: JSON from a binary
 * form (`binary-values.ts`).
 */
export type Kind =
  | "number"
  | "float4"
  | "float8"
  | "boolean"
  | "date"
  | "timestamp"
  | "timestamptz"
  | "text"
  | "word"
  | "json"
  | "binary";

/** Kinds of types, by PostgreSQL's name and number. */
const KINDS: Readonly<Record<string, readonly [Kind, ...oids: number[]]>> = {
  int2: ["number", 21],
  int4: ["number", 23],
  int8: ["number", 20],
  numeric: ["number", 1700],
  money: ["number", 1700],
  float4: ["float4", 700],
  float8: ["float8", 701],
  bool: ["boolean", 16],
  text: ["text", 25],
  // Its minimum is a `text`.
  varchar: ["text", 1043, 25],
  uuid: ["word", 2950],
  oid: ["word", 26],
  date: ["date", 1082],
  timestamp: ["timestamp", 1114],
  timestamptz: ["timestamptz", 1184],
};

/** Types that are neither here nor binary are JSON that PostgreSQL makes. */
export function kindOf(column: ResultColumn): Kind {
  return ownKind(column)?.[0] ?? (binaryValue(column) === null ? "json" : "binary");
}

function ownKind({ type, fields, range }: ResultColumn): (typeof KINDS)[string] | undefined {
  return fields === undefined && range === undefined && Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
}

const BINARY_KINDS: ReadonlySet<Kind> = new Set([
  "float4",
  "float8",
  "date",
  "timestamp",
  "timestamptz",
  "binary",
]);

/** The formats of these fields as a Bind message lists them; without fields: all are text. */
export function fieldFormats(
  columns: ResultColumns,
  keys: readonly Pick<SortKeyField, "isBinary">[] = [],
): Buffer {
  const binary = [
    ...columns.map((column) => BINARY_KINDS.has(kindOf(column))),
    ...keys.map(({ isBinary }) => isBinary),
  ];
  const formats = Buffer.alloc(2 + 2 * binary.length);
  formats.writeInt16BE(binary.length);
  binary.forEach((isBinary, i) => formats.writeInt16BE(isBinary ? BINARY : TEXT, 2 + 2 * i));
  return formats;
}

const TEXT = 0;
const BINARY = 1;

/** A field as PostgreSQL describes it before its rows. */
export interface DescribedField {
  readonly dataTypeID: number;
  readonly dataTypeModifier: number;
}

/** What a field must be. */
export interface ExpectedField {
  /** Numbers of its type; none where it may be any. */
  readonly oids: readonly number[];
  /** Whether it may be a type that the database defines itself, too. */
  readonly mayBeOwn?: true;
  readonly decimal?: ResultColumn["decimal"];
}

/** The field of a column of the relation, whose decimals the database declares. */
export function expectedField(column: ResultColumn, decimal?: ResultColumn["decimal"]): ExpectedField {
  const [, ...own] = ownKind(column) ?? [];
  if (own.length > 0) return { oids: own, ...(column.type === "numeric" && decimal && { decimal }) };
  const binary = binaryValue(column);
  return binary === null ? { oids: [] } : { oids: [binary.oid], mayBeOwn: true };
}

/** Whether the type of the field of a column is that of the column: others are converted. */
export function showsType(column: ResultColumn): boolean {
  return ownKind(column) !== undefined && column.type !== "money";
}

/**
 * A field without a value that has the type of a column which no other field shows: one that filters, sorts, or is converted. PostgreSQL names
 * it when it parses the statement, and refuses a plan whose fields get other types. `CASE` is gone before it plans: the field costs a row 4 bytes.
 */
export function typeField({ name }: ResultColumn, source: Sql): Sql {
  return sql`CASE WHEN false THEN (SELECT p.${identifier(name)} FROM ${source} AS p LIMIT 1) END`;
}

/** What the fields must be as a comment: a statement prepared for other types has another text. */
export function typesOf(fields: readonly ExpectedField[]): Sql {
  const numbers = fields.flatMap(({ oids: [oid = 0], decimal = [] }) => [oid, ...decimal]);
  return sql`/* ${join(numbers.map(constant), ", ")} */`;
}

/** Throws where a field is not what was expected: its column has changed since it was looked up. */
export function checkFields(expected: readonly ExpectedField[], fields: readonly DescribedField[]): void {
  expected.forEach(({ oids, mayBeOwn = false, decimal }, i) => {
    const { dataTypeID: oid = 0, dataTypeModifier: modifier = -1 } = fields[i] ?? {};
    if (mayBeOwn) checkType(oid, oids[0] ?? 0);
    else if (oids.length > 0 && !oids.includes(oid)) throw new TypeChanged();
    if (decimal !== undefined && !isDeepStrictEqual(decimal, decimalOf(modifier))) throw new TypeChanged();
  });
}

/** Precision and scale of a modifier of `numeric`: the scale has eleven bits and a sign. */
function decimalOf(modifier: number): ResultColumn["decimal"] {
  const bits = modifier - 4;
  return bits < 0 ? undefined : [(bits >> 16) & 65535, ((bits & 2047) ^ 1024) - 1024];
}

/** The value of a column of the relation `t`. */
export function columnValue(column: ResultColumn): Sql {
  const value = sql`t.${identifier(column.name)}`;
  switch (kindOf(column)) {
    case "json":
      return sql`pg_catalog.to_json(${value})`;
    case "binary":
    case "timestamp":
      return binaryValue(column)?.select(value, 0) ?? value;
    default:
      return column.type === "money" ? sql`${value}::pg_catalog.numeric` : value;
  }
}

/** How a sort key is selected, and read as the text that a cursor holds. */
export interface SortKeyField {
  readonly select: (value: Sql) => Sql;
  readonly isBinary: boolean;
  readonly text: (field: Buffer) => string;
  /** Whether the field of the column itself has the key. */
  readonly isServed: boolean;
}

export function sortKeyOf({ timezone = "UTC", ...column }: ResultColumn): SortKeyField {
  const kind = kindOf(column);
  const binary = BINARY_KINDS.has(kind) ? binaryValue(column) : null;
  if (binary?.text)
    return {
      select: (value) => binary.select(value, 0),
      isBinary: true,
      text: binary.text,
      isServed: timezone === "UTC",
    };
  const isMoney = column.type === "money";
  return {
    select: (value) => (isMoney ? sql`${value}::pg_catalog.numeric` : sql`${value}::pg_catalog.text`),
    isBinary: false,
    text: (field) => field.toString(),
    isServed: kind !== "json" && kind !== "binary",
  };
}

export const placeholder = (position: number): string => `$${position}`;

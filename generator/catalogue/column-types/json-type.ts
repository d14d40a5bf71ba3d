/**
 * The type of a column's values in a JSON row, for every engine. Plain data: it can be compared, printed and sent as JSON.
 * `json` and `unknown` include null, so they have no `nullable`.
 */
export type ColumnType =
  | IntegerType
  | DecimalType
  | FloatType
  | StringType
  | EnumType
  | BooleanType
  | DateType
  | DateTimeType
  | ArrayType
  | MapType
  | TupleType
  | RecordType
  | JsonType
  | UnknownType;

interface MaybeNull {
  readonly nullable: boolean;
}

/** Integers; `min` and `max` are inclusive, as decimal digits, since they may exceed a JavaScript number. */
export interface IntegerType extends MaybeNull {
  readonly kind: "integer";
  readonly min: string;
  readonly max: string;
}

/** Exact decimals: `precision` digits, `scale` of them after the point; absent if the type does not fix them. */
export interface DecimalType extends MaybeNull {
  readonly kind: "decimal";
  readonly precision?: number;
  readonly scale?: number;
}

interface FloatType extends MaybeNull {
  readonly kind: "float";
  readonly bits: 32 | 64;
}

/** `maxLength` counts Unicode characters, as both PostgreSQL and JSON Schema do. */
export interface StringType extends MaybeNull {
  readonly kind: "string";
  readonly format?: "uuid" | "ipv4" | "ipv6";
  readonly maxLength?: number;
}

/** One of a few strings: at least one, no two alike, in the declared order. */
export interface EnumType extends MaybeNull {
  readonly kind: "enum";
  readonly values: readonly string[];
}

interface BooleanType extends MaybeNull {
  readonly kind: "boolean";
}

/** `YYYY-MM-DD`. */
interface DateType extends MaybeNull {
  readonly kind: "date";
}

/** RFC 3339 in UTC with `Z`. */
interface DateTimeType extends MaybeNull {
  readonly kind: "dateTime";
}

export interface ArrayType extends MaybeNull {
  readonly kind: "array";
  readonly of: ColumnType;
}

/** A JSON object with any keys; keys of every type become strings. */
export interface MapType extends MaybeNull {
  readonly kind: "map";
  readonly value: ColumnType;
}

/** A JSON array with one type per position; at least one position. */
export interface TupleType extends MaybeNull {
  readonly kind: "tuple";
  readonly of: readonly ColumnType[];
}

/** A tuple with named positions, which is a JSON object. */
export interface RecordType extends MaybeNull {
  readonly kind: "record";
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly type: ColumnType;
}

/** Any JSON value: the declared type is JSON. */
export interface JsonType {
  readonly kind: "json";
}

/** No declared type, or an unsupported one. */
export interface UnknownType {
  readonly kind: "unknown";
}

export const UNKNOWN: UnknownType = { kind: "unknown" };

/** The same type with null allowed. */
export function nullable(type: ColumnType): ColumnType {
  switch (type.kind) {
    case "json":
    case "unknown":
      return type;
    default:
      return { ...type, nullable: true };
  }
}

/**
 * What a column's values look like in a JSON row, whichever engine the type came from.
 * Plain data: it can be compared, printed and sent as JSON. `json` and `unknown` hold null among their values, so
 * they say nothing about it.
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

/** Whole numbers; `min` and `max` are inclusive and in decimal digits, as they pass what a JS number can hold. */
export interface IntegerType extends MaybeNull {
  readonly kind: "integer";
  readonly min: string;
  readonly max: string;
}

/** Exact fractions: `precision` digits, `scale` of them after the point; neither when the type leaves them open. */
export interface DecimalType extends MaybeNull {
  readonly kind: "decimal";
  readonly precision?: number;
  readonly scale?: number;
}

export interface FloatType extends MaybeNull {
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

export interface BooleanType extends MaybeNull {
  readonly kind: "boolean";
}

/** `YYYY-MM-DD`. */
export interface DateType extends MaybeNull {
  readonly kind: "date";
}

/** RFC 3339 in UTC with `Z`. */
export interface DateTimeType extends MaybeNull {
  readonly kind: "dateTime";
}

export interface ArrayType extends MaybeNull {
  readonly kind: "array";
  readonly of: ColumnType;
}

/** A JSON object with any keys; a key is text whatever its type was. */
export interface MapType extends MaybeNull {
  readonly kind: "map";
  readonly value: ColumnType;
}

/** A JSON array with one type per place: at least one place. */
export interface TupleType extends MaybeNull {
  readonly kind: "tuple";
  readonly of: readonly ColumnType[];
}

/** A tuple whose places have names, which makes it a JSON object. */
export interface RecordType extends MaybeNull {
  readonly kind: "record";
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly type: ColumnType;
}

/** Any JSON value, on purpose. */
export interface JsonType {
  readonly kind: "json";
}

/** No type given, or none that is understood. */
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

import { CLICKHOUSE_TYPES, type DatabaseType, typeNamed } from "@routewright/runtime/model";
import type { DataType } from "./data-type.js";

/** What the name of a type says: how a database writes its values, whether they have an order, how it filters by them. */

/** How a database writes the values of a type that is a string in JSON. */
interface TextForm {
  /** Types of one family write a value alike; `text` for those that keep it as it is. */
  readonly family: string;
  /** Digits of a fraction of a second, or the length to which values are padded. */
  readonly digits: number | null;
}

export function textFormOf({ name, argument }: DataType): TextForm {
  const found = FAMILIES.find(([names]) => names.test(name));
  if (found === undefined) return { family: "text", digits: null };
  return { family: found[1] || name, digits: argument ?? DEFAULT_DIGITS.get(name) ?? null };
}

/** Families of types whose values have a text of their own, by name. Their JSON format distinguishes dates and UUIDs. */
const FAMILIES: readonly (readonly [names: RegExp, family: string])[] = [
  [/^(?:timetz|time with time zone)$/, "time with time zone"],
  [/^(?:time|time without time zone|time64)$/, "time"],
  [/^(?:char|character|bpchar|nchar)$/, "padded text"],
  [/^fixedstring$/, "zero-padded text"],
  [/^interval\b/, "interval"],
  [/^(?:inet|cidr|macaddr8?|money|bytea|xml|oid|tsvector|tsquery|jsonpath|citext)$/, ""],
  [/^int[48]range$/, "integer range"],
  [/^int[48]multirange$/, "integer multirange"],
  [/range$/, ""],
  [/^(?:bit|varbit|bit varying)$/, "bits"],
  [/^(?:timestamp|timestamptz|timestamp with(?:out)? time zone|datetime(?:32|64)?)$/, "timestamp"],
];

/** Digits where the type names none: PostgreSQL's times have microseconds, `DateTime` of ClickHouse has seconds. */
const DEFAULT_DIGITS: ReadonlyMap<string, number> = new Map([
  ...["time", "timetz", "time with time zone", "time without time zone"].map((name) => [name, 6] as const),
  ...["timestamp", "timestamptz", "timestamp with time zone", "timestamp without time zone"].map(
    (name) => [name, 6] as const,
  ),
  ...["datetime", "datetime32"].map((name) => [name, 0] as const),
  ["datetime64", 3],
  ["time64", 3],
  ...["char", "character", "nchar"].map((name) => [name, 1] as const),
]);

/** A PostgreSQL timestamp without a zone is served as if it were UTC; all other date-times are instants. */
export function isZoneless({ name }: DataType): boolean {
  return /^timestamp(?: without time zone)?$/.test(name);
}

/**
 * Whether a column of the type can hold NaN and infinities, which are served as null: floats, and `numeric` in PostgreSQL.
 * Not for a type that is nullable already.
 */
export function canBeNaN({ kind, name, nullable }: DataType, isPostgres: boolean): boolean {
  const isNumeric = isPostgres && kind === "decimal" && ["numeric", "decimal", "dec"].includes(name);
  return !nullable && (kind === "float" || isNumeric);
}

/** Whether a database has no order of the type's values. */
export function isUnordered(type: DataType): boolean {
  return databaseTypeOf(type)?.unordered === true || UNORDERED_IN_CLICKHOUSE.test(type.text);
}

/** How the database filters and sorts by a type; of an array, by its elements. Null for a type without an entry in the table. */
export function databaseTypeOf({ name }: DataType): DatabaseType | null {
  return typeNamed(name);
}

/** Why no filter compares values of a type, or `asText` reads their text; null where one does. */
export function filterRefusal(type: DataType, asText: boolean): string | null {
  const { refusal, text } = databaseTypeOf(type) ?? {};
  if (refusal !== undefined) return refusal;
  if (text === "none" && asText) return "it has no text that is the same under all settings";
  return type.kind === "array" && text !== undefined
    ? "the text of such an array depends on settings of the database"
    : null;
}

const names = Object.entries(CLICKHOUSE_TYPES).flatMap(([name, { unordered }]) => (unordered ? [name] : []));

/** ClickHouse types that it does not sort by, also within others; a label of an enum may have such a name. */
const UNORDERED_IN_CLICKHOUSE = new RegExp(
  String.raw`^(?:[^']|'(?:[^'\\]|\\.)*')*\b(?:${names.join("|")})\b`,
);

import { CLICKHOUSE_TYPES, type DatabaseType, typeNamed, typeTextOf } from "@routewright/runtime/model";

/**
 * What the text of a type says beside the JSON type of its values (`type-names.ts`): how a database writes them, whether a
 * time has a zone, whether values have an order.
 */

/** Name in lower case and first argument of a type: an array counts as its elements, null is left out. */
function partsOf(type: string | null): { readonly name: string; readonly argument: number | null } {
  const { name: written = "", args = [] } = typeTextOf(type ?? "") ?? {};
  const name = written.toLowerCase();
  const [first = ""] = args;
  if (name === "nullable" || name === "lowcardinality") return partsOf(first);
  return { name, argument: /^\d+$/.test(first) ? Number(first) : null };
}

/** How a database writes the values of a type that is a string in JSON. */
interface TextForm {
  /** Types of one family write a value alike; `text` for those that keep it as it is. */
  readonly family: string;
  /** Digits of a fraction of a second, or the length to which values are padded. */
  readonly digits: number | null;
}

export function textFormOf(type: string | null): TextForm {
  const { name, argument } = partsOf(type);
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
export function isZoneless(type: string | null): boolean {
  return /^timestamp(?: without time zone)?$/.test(partsOf(type).name);
}

/** Whether the type is PostgreSQL's exact number, which can hold NaN and infinities. */
export function isNumeric(type: string): boolean {
  return ["numeric", "decimal", "dec"].includes(partsOf(type).name);
}

/** Whether a database has no order of the type's values. */
export function isUnordered(type: string): boolean {
  return databaseTypeOf(type)?.unordered === true || UNORDERED_IN_CLICKHOUSE.test(type);
}

/** How the database filters and sorts by a type; of an array, by its elements. Null for a type without an entry in the table. */
export function databaseTypeOf(type: string | null): DatabaseType | null {
  return typeNamed(partsOf(type).name);
}

/** Why no filter compares values of a type, or `asText` reads their text; null where one does. */
export function filterRefusal(type: string | null, asText: boolean): string | null {
  const { refusal, text } = databaseTypeOf(type) ?? {};
  if (refusal !== undefined) return refusal;
  const isArray = /\]\s*$|\barray\s*$|^_/i.test(type ?? "");
  if (text === "none" && asText) return "it has no text that is the same under all settings";
  return isArray && text !== undefined
    ? "the text of such an array depends on settings of the database"
    : null;
}

const names = Object.entries(CLICKHOUSE_TYPES).flatMap(([name, { unordered }]) => (unordered ? [name] : []));

/** ClickHouse types that it does not sort by, also within others; a label of an enum may have such a name. */
const UNORDERED_IN_CLICKHOUSE = new RegExp(
  String.raw`^(?:[^']|'(?:[^'\\]|\\.)*')*\b(?:${names.join("|")})\b`,
);

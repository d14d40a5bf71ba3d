/** How a database writes the values of a type that is a string in JSON. */
export interface TextForm {
  /** Types of one family write a value alike; `text` for those that keep it as it is. */
  readonly family: string;
  /** Digits of a fraction of a second, or the length to which values are padded. */
  readonly digits: number | null;
}

const PLAIN: TextForm = { family: "text", digits: null };

/** Families of types whose values have a text of their own, by name. Their JSON format distinguishes dates and UUIDs. */
const FAMILIES: readonly (readonly [names: RegExp, family: string])[] = [
  [/^(?:timetz|time with time zone)$/, "time with time zone"],
  [/^(?:time|time without time zone|time64)$/, "time"],
  [/^(?:char|character|bpchar|nchar)$/, "padded text"],
  [/^fixedstring$/, "zero-padded text"],
  [/^interval\b/, "interval"],
  [/^(?:inet|cidr|macaddr8?|money|bytea|xml|oid|tsvector|tsquery|jsonpath|citext)$/, ""],
  [/range$/, "range"],
  [/^(?:bit|varbit|bit varying)$/, "bits"],
  [/^(?:timestamp|timestamptz|timestamp with(?:out)? time zone|datetime(?:32|64)?)$/, "timestamp"],
];

/** The form of a type's text. An array counts as its elements. */
export function textFormOf(type: string | null): TextForm {
  const text = (type ?? "")
    .toLowerCase()
    .replace(/\s(?:not\s+)?null$/, "")
    .replace(/^(?:nullable|lowcardinality)\((.*)\)$/, "$1")
    .replace(/^pg_catalog\./, "")
    .replace(/(?:\[\d*\])+$/, "");
  const name = text
    .replace(/\(.*?\)/, "")
    .replace(/\s+/g, " ")
    .trim();
  const found = FAMILIES.find(([names]) => names.test(name));
  if (found === undefined) return PLAIN;
  const argument = Number(/\((\d+)/.exec(text)?.[1] ?? Number.NaN);
  const digits = Number.isNaN(argument) ? (DEFAULT_DIGITS.get(name) ?? null) : argument;
  return { family: found[1] || name, digits };
}

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

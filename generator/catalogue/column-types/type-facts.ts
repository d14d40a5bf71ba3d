/**
 * What the text of a type says beside the JSON type of its values (`type-names.ts`): how a database writes them, whether a
 * time has a zone, whether values have an order.
 */

/** Name in lower case and first argument of a type: an array counts as its elements, null is left out. */
function partsOf(type: string | null): { readonly name: string; readonly argument: number | null } {
  const text = (type ?? "")
    .toLowerCase()
    .trim()
    .replaceAll('"', "")
    .replace(/\s(?:not\s+)?null$/, "")
    .replace(/^(?:nullable|lowcardinality)\((.*)\)$/, "$1")
    .replace(/^pg_catalog\s*\.\s*/, "")
    .replace(/(?:\s*\[\s*\d*\s*\])+$/, "");
  const name = text
    .replace(/\(.*?\)/, "")
    .replace(/\s+/g, " ")
    .trim();
  const argument = /\((\d+)/.exec(text)?.[1];
  return { name, argument: argument === undefined ? null : Number(argument) };
}

/** How a database writes the values of a type that is a string in JSON: its family, and digits or a padded length. */
export function textFormOf(type: string | null): string {
  const { name, argument } = partsOf(type);
  const [, family, digits = ""] = FAMILIES.find(([names]) => names.test(name)) ?? [];
  return family === undefined ? "text" : `${family || name} ${String(argument ?? digits)}`;
}

/**
 * Families of types whose values have a text of their own, by name, with the digits of a second or the length where the type names
 * none. Their JSON format distinguishes dates and UUIDs.
 */
const FAMILIES: readonly (readonly [names: RegExp, family: string, digits?: number])[] = [
  [/^(?:timetz|time with time zone)$/, "time with time zone", 6],
  [/^(?:time|time without time zone)$/, "time", 6],
  [/^time64$/, "time", 3],
  [/^(?:char|character|nchar)$/, "padded text", 1],
  [/^bpchar$/, "padded text"],
  [/^fixedstring$/, "zero-padded text"],
  [/^interval\b/, "interval"],
  [/^(?:inet|cidr|macaddr8?|money|bytea|xml|oid|tsvector|tsquery|jsonpath|citext)$/, ""],
  [/range$/, "range"],
  [/^(?:bit|varbit|bit varying)$/, "bits"],
  [/^(?:timestamp|timestamptz|timestamp with(?:out)? time zone)$/, "timestamp", 6],
  [/^datetime(?:32)?$/, "timestamp", 0],
  [/^datetime64$/, "timestamp", 3],
];

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
  return UNORDERED.has(partsOf(type).name) || UNORDERED_IN_CLICKHOUSE.test(type);
}

/** PostgreSQL types without an ordering operator. */
const UNORDERED: ReadonlySet<string> = new Set([
  ...["json", "jsonpath", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle"],
  ...["aclitem", "pg_snapshot", "txid_snapshot", "refcursor"],
]);

/** ClickHouse types that it does not sort by, also within others; a label of an enum may have such a name. */
const UNORDERED_IN_CLICKHOUSE = /^(?:[^']|'(?:[^'\\]|\\.)*')*\b(?:Variant|Dynamic|AggregateFunction|QBit)\b/;

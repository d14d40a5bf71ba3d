import { fieldTextOf, typeTextOf } from "@routewright/runtime/model";
import { isExactFloat, MAX_EXACT } from "../exact-floats.js";
import { clickhouseLiteral as literal } from "./literal.js";

/** A value of the copy, and the condition under which it is that of the export; null where it always is. */
export interface ValueConversion {
  readonly value: string;
  readonly isExact: string | null;
}

type Family =
  "integer" | "boolean" | "decimal" | "float" | "text" | "time" | "uuid" | "array" | "tuple" | "map";

/** By the first word of a type. */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^U?Int\d+\b/, "integer"],
  [/^Bool\b/, "boolean"],
  [/^Decimal\d*\b/, "decimal"],
  [/^(Float\d+|BFloat16)\b/, "float"],
  [/^(String|FixedString|Enum\d*)\b/, "text"],
  [/^(Date(32|Time|Time64)?)\b/, "time"],
  [/^UUID\b/, "uuid"],
  [/^Array\b/, "array"],
  [/^Tuple\b/, "tuple"],
  [/^Map\b/, "map"],
];

const familyOf = (type: string): Family | null =>
  FAMILIES.find(([pattern]) => pattern.test(bareType(type)))?.[1] ?? null;

/** The type without `Nullable` and `LowCardinality`. */
export function bareType(type: string): string {
  return type.replace(/^(?:LowCardinality\(|Nullable\()+/, "").replace(/\)+$/, (closing) => {
    const opened = (/^(?:LowCardinality\(|Nullable\()+/.exec(type)?.[0].match(/\(/g) ?? []).length;
    return closing.slice(opened);
  });
}

/** A conversion of one bare type to another; `cast` gives the value by the engine's own cast. */
type Convert = (x: string, from: string, to: string, cast: string) => ValueConversion;

/** Null where values of one type are none of the other: numbers and texts. */
export function conversionOf(x: string, from: string, to: string): ValueConversion | null {
  const key = `${String(familyOf(from))} to ${String(familyOf(to))}`;
  if (key === "array to array") return arrayConversion(x, from, to);
  if (key === "tuple to tuple" && from !== to) return tupleConversion(x, from, to);
  const cast = from === to ? x : `CAST(${x}, ${literal(to)})`;
  const convert = Object.hasOwn(CONVERSIONS, key) ? CONVERSIONS[key] : undefined;
  return convert?.(x, bareType(from), bareType(to), cast) ?? null;
}

const always: Convert = (_x, _from, _to, value) => ({ value, isExact: null });
const isHeld = (x: string, to: string): string => `isNotNull(accurateCastOrNull(${x}, ${literal(to)}))`;

const CONVERSIONS: Readonly<Record<string, Convert>> = {
  "integer to integer": (x, from, to, value) => ({ value, isExact: from === to ? null : isHeld(x, to) }),
  "decimal to integer": (x, _, to, value) => ({
    value,
    isExact: `truncate(${x}) = ${x} AND ${integerBounds(x, to)}`,
  }),
  "float to integer": (x, _, to, value) => ({
    value,
    isExact: `abs(${x}) <= ${MAX_EXACT} AND truncate(${x}) = ${x} AND ${isHeld(x, to)}`,
  }),
  "boolean to integer": always,
  "boolean to boolean": always,
  "integer to boolean": (x, _, _to, value) => ({ value, isExact: `${x} IN (0, 1)` }),
  "integer to decimal": (x, from, to, value) => ({ value, isExact: digitsOf(x, from, to) }),
  "boolean to decimal": always,
  "decimal to decimal": (x, from, to, value) => {
    const [scale, longer] = [scaleOf(to), scaleOf(from) > scaleOf(to)];
    const conditions = [digitsOf(x, from, to), longer ? `truncate(${x}, ${String(scale)}) = ${x}` : null];
    const isExact = conditions.filter((one) => one !== null).join(" AND ");
    return { value, isExact: isExact === "" ? null : isExact };
  },
  "float to decimal": (x, _, to, value) => {
    const [, precision = "0"] = DECIMAL.exec(to) ?? [];
    const fits = `abs(${x}) < 1e${String(Number(precision) - scaleOf(to))}`;
    return { value, isExact: `${isExactFloat(x, scaleOf(to), "truncate")} AND ${fits}` };
  },
  "integer to float": (x, _, to, value) => ({ value, isExact: isHeld(x, to) }),
  "decimal to float": (x, from, _, value) => ({
    value,
    isExact: `${isExactFloat(`toFloat64(${value})`, scaleOf(from), "truncate")} AND CAST(toFloat64(${value}), ${literal(`Nullable(${from})`)}) = ${x}`,
  }),
  "float to float": (x, from, to, value) => ({
    value,
    isExact: from === to || to === "Float64" ? null : `toFloat64(${value}) = ${x} OR isNaN(${x})`,
  }),
  "text to text": always,
  "uuid to uuid": always,
  "uuid to text": (x, _, to) => ({ value: `CAST(toString(${x}), ${literal(to)})`, isExact: null }),
  "text to uuid": (x) => ({
    value: `toUUIDOrNull(${x})`,
    isExact: `lower(${x}) = toString(toUUIDOrNull(${x}))`,
  }),
  "time to time": (x, from, to, value) => ({ value, isExact: timeIsExact(x, from, to, value) }),
  // Of a table of Iceberg or Delta, which has times of day.
  "time to text": (x, _, to) => ({
    value: `CAST(replaceOne(toString(${x}), '1970-01-01 ', ''), ${literal(to)})`,
    isExact: `startsWith(toString(${x}), '1970-01-01 ')`,
  }),
  "tuple to tuple": always,
  "map to map": (x, from, to, value) => nested(x, from, to, value),
};

/** A cast of a decimal that is out of range fails. */
function integerBounds(x: string, to: string): string {
  const [, unsigned, bits = "64"] = /^(U?)Int(\d+)/.exec(to) ?? [];
  const size = 2n ** BigInt(bits);
  const [low, high] = unsigned === "U" ? [0n, size - 1n] : [-size / 2n, size / 2n - 1n];
  return `${x} >= toDecimal256('${String(low)}', 0) AND ${x} <= toDecimal256('${String(high)}', 0)`;
}

const nested: Convert = (x, from, to, value) => ({
  value,
  isExact: from === to ? null : `${x} IS NOT DISTINCT FROM ${value}`,
});

const DECIMAL = /^Decimal\((\d+), ?(\d+)\)/;
const scaleOf = (type: string): number => Number(DECIMAL.exec(type)?.[2] ?? 0);

/** A `Decimal` takes more digits than it is declared with. Null where the export cannot have them. */
function digitsOf(x: string, from: string, to: string): string | null {
  const declared = DECIMAL.exec(to);
  if (declared === null) return null;
  const [digits, source] = [Number(declared[1]) - Number(declared[2]), DECIMAL.exec(from)];
  const bits = Number(/^U?Int(\d+)/.exec(from)?.[1] ?? 0);
  const possible = source === null ? Math.ceil(bits * Math.log10(2)) : Number(source[1]) - Number(source[2]);
  if (possible <= digits) return null;
  const bound = `toDecimal256('1${"0".repeat(digits)}', 0)`;
  return `${x} < ${bound} AND ${x} > -${bound}`;
}

/** Times that ClickHouse prints as they are: a `DateTime64` holds others, and prints the nearest of these. */
function timeIsExact(x: string, from: string, to: string, value: string): string | null {
  const inRange = rangeOf(x, from, to);
  if (from === to || (inRange === null && to.startsWith("Date32"))) return inRange;
  const back = `CAST(${value}, ${literal(`Nullable(${from})`)}) = ${x}`;
  // Out of range the cast itself fails.
  return inRange === null ? back : `if(${inRange}, ${back}, false)`;
}

function rangeOf(x: string, from: string, to: string): string | null {
  const [scale, target] = [from, to].map((type) => Number(/^DateTime64\((\d)/.exec(type)?.[1] ?? -1));
  if (scale === undefined || target === undefined) return null;
  const bound = (text: string, digits: number): string =>
    scale < 0 ? `toDate32('${text.slice(0, 10)}')` : `toDateTime64('${text}', ${String(digits)}, 'UTC')`;
  const begins = `${x} >= ${bound("1900-01-01 00:00:00", 0)}`;
  // With 9 digits a time ends in 2262.
  if (target === 9 && scale !== 9) return `${begins} AND ${x} < ${bound("2262-04-11 00:00:00", 0)}`;
  if (scale < 0) return null;
  const end = `2299-12-31 23:59:59${scale === 0 ? "" : `.${"9".repeat(scale)}`}`;
  return scale === 9 ? begins : `${begins} AND ${x} <= ${bound(end, scale)}`;
}

function arrayConversion(x: string, from: string, to: string): ValueConversion | null {
  const [source, target] = [from, to].map((type) => /^Array\((.*)\)$/s.exec(type)?.[1]);
  const each = source === undefined || target === undefined ? null : conversionOf("e", source, target);
  if (each === null) return null;
  const value = each.value === "e" ? x : `CAST(arrayMap(e -> ${each.value}, ${x}), ${literal(to)})`;
  const isExact =
    each.isExact === null ? null : `arrayAll(e -> isNull(e) OR ifNull(${each.isExact}, false), ${x})`;
  return { value, isExact };
}

/** Each field by its own types: a cast of the whole would not say which values it changes. */
function tupleConversion(x: string, from: string, to: string): ValueConversion | null {
  const [sources, targets] = [fieldsOf(from), fieldsOf(to)];
  if (sources === null || targets === null || sources.size !== targets.size) return null;
  const fields = [...targets].map(([name, type]) => {
    const [field, source] = [`tupleElement(${x}, ${literal(name)})`, sources.get(name)];
    const each = source === undefined ? null : conversionOf(field, source, type);
    const isExact = each?.isExact ?? null;
    return each === null
      ? null
      : { value: each.value, isExact: isExact && `(isNull(${field}) OR ifNull(${isExact}, false))` };
  });
  const conversions = fields.flatMap((field) => field ?? []);
  if (conversions.length < fields.length) return null;
  const conditions = conversions.flatMap(({ isExact }) => isExact ?? []);
  return {
    value: `CAST(tuple(${conversions.map(({ value }) => value).join(", ")}), ${literal(to)})`,
    isExact: conditions.length === 0 ? null : conditions.join(" AND "),
  };
}

/** Fields of a `Tuple` by their names; null where these are missing. */
function fieldsOf(tuple: string): ReadonlyMap<string, string> | null {
  const fields = typeTextOf(tuple)?.args.map(fieldTextOf) ?? [];
  const named = fields.flatMap((field) => (field === null ? [] : [field]));
  return named.length < fields.length ? null : new Map(named);
}

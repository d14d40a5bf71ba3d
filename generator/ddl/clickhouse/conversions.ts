import { ownValue } from "@routewright/runtime/model";
import { boundsOf, type DataType, type IntegerType } from "../../catalogue/types/data-type.js";
import { isExactFloat, MAX_EXACT } from "../exact-floats.js";
import { clickhouseLiteral as literal } from "./literal.js";

/** A value of the copy, and the condition under which it is that of the export; null where it always is. */
export interface ValueConversion {
  readonly value: string;
  readonly isExact: string | null;
}

/** Types of one family have conversions alike; null for those that have none. */
function familyOf(type: DataType): string | null {
  switch (type.kind) {
    case "text":
      return type.format === undefined ? "text" : null;
    case "enum":
      return "text";
    case "date":
    case "timestamp":
      return "time";
    case "record":
      return "tuple";
    case "array":
      return type.name === "array" ? "array" : null;
    case "time":
    case "bytes":
    case "json":
    case "unknown":
      return null;
    default:
      return type.kind;
  }
}

/** The type without `Nullable` and `LowCardinality`. */
export function bareType(type: string): string {
  return type.replace(/^(?:LowCardinality\(|Nullable\()+/, "").replace(/\)+$/, (closing) => {
    const opened = (/^(?:LowCardinality\(|Nullable\()+/.exec(type)?.[0].match(/\(/g) ?? []).length;
    return closing.slice(opened);
  });
}

/** A conversion of one type to another; `cast` gives the value by the engine's own cast. */
type Convert = (x: string, from: DataType, to: DataType, cast: string) => ValueConversion;

/** Null where values of one type are none of the other: numbers and texts. */
export function conversionOf(x: string, from: DataType, to: DataType): ValueConversion | null {
  const key = `${String(familyOf(from))} to ${String(familyOf(to))}`;
  if (key === "array to array") return arrayConversion(x, from, to);
  if (key === "tuple to tuple" && from.text !== to.text) return tupleConversion(x, from, to);
  const cast = from.text === to.text ? x : `CAST(${x}, ${literal(to.text)})`;
  return ownValue(CONVERSIONS, key)?.(x, from, to, cast) ?? null;
}

const always: Convert = (_x, _from, _to, value) => ({ value, isExact: null });
const isHeld = (x: string, to: DataType): string =>
  `isNotNull(accurateCastOrNull(${x}, ${literal(bareType(to.text))}))`;
const isSame = (from: DataType, to: DataType): boolean => bareType(from.text) === bareType(to.text);

const CONVERSIONS: Readonly<Record<string, Convert>> = {
  "integer to integer": (x, from, to, value) => ({ value, isExact: isSame(from, to) ? null : isHeld(x, to) }),
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
    const fits = `abs(${x}) < 1e${String(wholeDigits(to) ?? 0)}`;
    return { value, isExact: `${isExactFloat(x, scaleOf(to), "truncate")} AND ${fits}` };
  },
  "integer to float": (x, _, to, value) => ({ value, isExact: isHeld(x, to) }),
  "decimal to float": (x, from, _, value) => ({
    value,
    isExact: `${isExactFloat(`toFloat64(${value})`, scaleOf(from), "truncate")} AND CAST(toFloat64(${value}), ${literal(`Nullable(${bareType(from.text)})`)}) = ${x}`,
  }),
  "float to float": (x, from, to, value) => ({
    value,
    isExact: isSame(from, to) || to.name === "float64" ? null : `toFloat64(${value}) = ${x} OR isNaN(${x})`,
  }),
  "text to text": always,
  "uuid to uuid": always,
  "uuid to text": (x, _, to) => ({
    value: `CAST(toString(${x}), ${literal(bareType(to.text))})`,
    isExact: null,
  }),
  "text to uuid": (x) => ({
    value: `toUUIDOrNull(${x})`,
    isExact: `lower(${x}) = toString(toUUIDOrNull(${x}))`,
  }),
  "time to time": (x, from, to, value) => ({ value, isExact: timeIsExact(x, from, to, value) }),
  // Of a table of Iceberg or Delta, which has times of day.
  "time to text": (x, _, to) => ({
    value: `CAST(replaceOne(toString(${x}), '1970-01-01 ', ''), ${literal(bareType(to.text))})`,
    isExact: `startsWith(toString(${x}), '1970-01-01 ')`,
  }),
  "tuple to tuple": always,
  "map to map": (x, from, to, value) => nested(x, from, to, value),
};

/** A cast of a decimal that is out of range fails. */
function integerBounds(x: string, to: DataType): string {
  const [low, high] = boundsOf(to as IntegerType);
  return `${x} >= toDecimal256('${String(low)}', 0) AND ${x} <= toDecimal256('${String(high)}', 0)`;
}

const nested: Convert = (x, from, to, value) => ({
  value,
  isExact: isSame(from, to) ? null : `${x} IS NOT DISTINCT FROM ${value}`,
});

const scaleOf = (type: DataType): number => (type.kind === "decimal" ? (type.scale ?? 0) : 0);

/** Digits before the point; null of a type that does not say. */
function wholeDigits(type: DataType): number | null {
  if (type.kind === "integer") return Math.ceil(type.bits * Math.log10(2));
  return type.kind === "decimal" && type.precision !== undefined ? type.precision - scaleOf(type) : null;
}

/** A `Decimal` takes more digits than it is declared with. Null where the export cannot have them. */
function digitsOf(x: string, from: DataType, to: DataType): string | null {
  const [possible, digits] = [wholeDigits(from) ?? 0, wholeDigits(to)];
  if (digits === null || possible <= digits) return null;
  const bound = `toDecimal256('1${"0".repeat(Math.max(digits, 0))}', 0)`;
  return `${x} < ${bound} AND ${x} > -${bound}`;
}

/** Times that ClickHouse prints as they are: a `DateTime64` holds others, and prints the nearest of these. */
function timeIsExact(x: string, from: DataType, to: DataType, value: string): string | null {
  const inRange = rangeOf(x, from, to);
  if (isSame(from, to) || (inRange === null && to.name === "date32")) return inRange;
  const back = `CAST(${value}, ${literal(`Nullable(${bareType(from.text)})`)}) = ${x}`;
  // Out of range the cast itself fails.
  return inRange === null ? back : `if(${inRange}, ${back}, false)`;
}

function rangeOf(x: string, from: DataType, to: DataType): string | null {
  const [scale, target] = [fractionDigits(from), fractionDigits(to)];
  const bound = (text: string, digits: number): string =>
    scale < 0 ? `toDate32('${text.slice(0, 10)}')` : `toDateTime64('${text}', ${String(digits)}, 'UTC')`;
  const begins = `${x} >= ${bound("1900-01-01 00:00:00", 0)}`;
  // With 9 digits a time ends in 2262.
  if (target === 9 && scale !== 9) return `${begins} AND ${x} < ${bound("2262-04-11 00:00:00", 0)}`;
  if (scale < 0) return null;
  const end = `2299-12-31 23:59:59${scale === 0 ? "" : `.${"9".repeat(scale)}`}`;
  return scale === 9 ? begins : `${begins} AND ${x} <= ${bound(end, scale)}`;
}

/** Of a second; -1 of a type that does not say. */
const fractionDigits = ({ name, argument }: DataType): number =>
  name === "datetime64" && argument !== null ? argument : -1;

function arrayConversion(x: string, from: DataType, to: DataType): ValueConversion | null {
  const each = from.kind === "array" && to.kind === "array" ? conversionOf("e", from.of, to.of) : null;
  if (each === null) return null;
  const value = each.value === "e" ? x : `CAST(arrayMap(e -> ${each.value}, ${x}), ${literal(to.text)})`;
  const isExact =
    each.isExact === null ? null : `arrayAll(e -> isNull(e) OR ifNull(${each.isExact}, false), ${x})`;
  return { value, isExact };
}

/** Each field by its own types: a cast of the whole would not say which values it changes. */
function tupleConversion(x: string, from: DataType, to: DataType): ValueConversion | null {
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
    value: `CAST(tuple(${conversions.map(({ value }) => value).join(", ")}), ${literal(to.text)})`,
    isExact: conditions.length === 0 ? null : conditions.join(" AND "),
  };
}

/** Fields of a `Tuple` by their names; null where these are missing. */
function fieldsOf(tuple: DataType): ReadonlyMap<string, DataType> | null {
  return tuple.kind === "record" ? new Map(tuple.fields.map(({ name, type }) => [name, type])) : null;
}

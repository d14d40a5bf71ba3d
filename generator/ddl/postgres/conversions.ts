import { type DataType, type IntegerType, typeFrom } from "../../catalogue/types/data-type.js";
import { isExactFloat, MAX_EXACT } from "../exact-floats.js";
import { arrayText, jsonText } from "./texts.js";

/** PostgreSQL's text of a value, and the condition under which it is that value; null where it always is. */
export interface TextConversion {
  readonly text: string;
  readonly isExact: string | null;
}

type KindOf<Kind extends DataType["kind"]> = Extract<DataType, { kind: Kind }>;

const TINYINT = typeFrom({ kind: "integer", bits: 8 }, "TINYINT");

/** Null where values of one type are none of the other: numbers and texts. */
export function conversionOf(x: string, from: DataType, to: DataType): TextConversion | null {
  if (to.kind === "array") return from.kind === "array" ? arrayConversion(x, from.of, to.of) : null;
  if (from.kind === "boolean" && (to.kind === "integer" || to.kind === "decimal"))
    return conversionOf(`CAST(${x} AS TINYINT)`, TINYINT, to);
  switch (to.kind) {
    case "integer":
      return toInteger(x, from, to);
    case "decimal":
      return toDecimal(x, from, to);
    case "float":
      return toFloat(x, from, to);
    case "timestamp":
      return toTimestamp(x, from, to);
    case "json":
      return toJson(x, from);
    case "time":
      return from.kind === "time" ? toTime(x, from.text) : null;
    case "text":
    case "uuid":
    case "date":
    case "boolean":
    case "bytes":
      return CONVERSIONS[`${from.kind} to ${to.kind}`]?.(x) ?? null;
    default:
      return null;
  }
}

const asText = (x: string): string => `CAST(${x} AS VARCHAR)`;
/** PostgreSQL's texts hold no character 0. */
const hasNoZero = (x: string): string => `NOT contains(${x}, chr(0))`;

const CONVERSIONS: Readonly<Record<string, (x: string) => TextConversion>> = {
  "text to text": (x) => ({ text: x, isExact: hasNoZero(x) }),
  "json to text": (x) => ({ text: asText(x), isExact: hasNoZero(asText(x)) }),
  "uuid to text": (x) => ({ text: asText(x), isExact: null }),
  "bytes to text": (x) => ({
    text: `TRY(decode(${x}))`,
    isExact: `TRY(decode(${x})) IS NOT NULL AND ${hasNoZero(`TRY(decode(${x}))`)}`,
  }),
  "uuid to uuid": (x) => ({ text: asText(x), isExact: null }),
  "text to uuid": (x) => ({
    text: x,
    isExact: `regexp_full_match(${x}, '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}')`,
  }),
  "date to date": (x) => ({ text: asText(x), isExact: `isfinite(${x}) AND year(${x}) > 0` }),
  "timestamp to date": (x) => ({
    text: asText(`TRY_CAST(${x} AS DATE)`),
    isExact: `isfinite(${x}) AND TRY_CAST(TRY_CAST(${x} AS DATE) AS TIMESTAMP) = ${x}`,
  }),
  "boolean to boolean": (x) => ({ text: asText(x), isExact: null }),
  "integer to boolean": (x) => ({ text: asText(`${x} = 1`), isExact: `${x} IN (0, 1)` }),
  "bytes to bytes": (x) => ({ text: `'\\x' || hex(${x})`, isExact: null }),
  "text to bytes": (x) => ({ text: `'\\x' || hex(encode(${x}))`, isExact: null }),
};

/** Names in DuckDB, which has no wider ones. */
export const INTEGERS: Readonly<Record<IntegerType["bits"], string>> = {
  8: "TINYINT",
  16: "SMALLINT",
  32: "INTEGER",
  64: "BIGINT",
  128: "HUGEINT",
  256: "HUGEINT",
};

function toInteger(x: string, type: DataType, to: KindOf<"integer">): TextConversion | null {
  const value = `TRY_CAST(${x} AS ${INTEGERS[to.bits]})`;
  switch (type.kind) {
    case "integer":
      if (type.isUnsigned !== true && type.bits <= to.bits) return { text: asText(x), isExact: null };
      return { text: asText(x), isExact: `${value} IS NOT NULL` };
    case "decimal":
      return { text: asText(value), isExact: `TRY_CAST(${value} AS ${type.text}) = ${x}` };
    case "float":
      return {
        text: asText(value),
        isExact: `abs(${x}) <= ${MAX_EXACT} AND trunc(${x}) = ${x} AND ${value} IS NOT NULL`,
      };
    default:
      return null;
  }
}

/** DuckDB's widest decimal. */
const MAX_PRECISION = 38;
/** Digits behind the point of a float in a `numeric` that is declared without any. */
const FLOAT_SCALE = 10;

function toDecimal(x: string, type: DataType, to: KindOf<"decimal">): TextConversion | null {
  const { precision = 0, scale = 0 } = to;
  const [isBounded, whole] = [precision > 0, precision - scale];
  switch (type.kind) {
    case "integer":
    case "decimal": {
      if (!isBounded) return { text: asText(x), isExact: null };
      const behind = scale > 0 ? `(\\.\\d{0,${String(scale)}}0*)?` : "(\\.0*)?";
      // DuckDB writes no zero before the point of a type that has no digits there.
      const pattern = whole > 0 ? `-?\\d{0,${String(whole)}}${behind}` : `-?0?${behind}`;
      return { text: asText(x), isExact: `regexp_full_match(${asText(x)}, '${pattern}')` };
    }
    case "float": {
      const digits = isBounded ? scale : FLOAT_SCALE;
      if (digits > MAX_PRECISION) return null;
      const isExact = isExactFloat(x, digits, "trunc");
      const fits = isBounded ? ` AND abs(${x}) < 1e${String(whole)}` : "";
      return {
        text: asText(`TRY_CAST(${x} AS DECIMAL(${String(MAX_PRECISION)}, ${String(digits)}))`),
        isExact: `${isExact}${fits}`,
      };
    }
    default:
      return null;
  }
}

function toFloat(x: string, type: DataType, to: KindOf<"float">): TextConversion | null {
  const value = `TRY_CAST(${x} AS ${to.bits === 32 ? "FLOAT" : "DOUBLE"})`;
  switch (type.kind) {
    case "integer":
      // Rounded, the largest number of a type is one more than it holds.
      return { text: asText(value), isExact: `TRY_CAST(${value} AS ${type.text}) = ${x}` };
    case "decimal":
      return {
        text: asText(value),
        isExact: `${isExactFloat(`TRY_CAST(${value} AS DOUBLE)`, type.scale ?? 0, "trunc")} AND TRY_CAST(${value} AS ${type.text}) = ${x}`,
      };
    case "float":
      return type.bits <= to.bits
        ? { text: asText(value), isExact: null }
        : { text: asText(value), isExact: `CAST(${value} AS DOUBLE) = ${x}` };
    default:
      return null;
  }
}

/** A time without a zone is one in UTC, as of the copy in ClickHouse. PostgreSQL reads years before Christ in another form. */
function toTimestamp(x: string, type: DataType, to: KindOf<"timestamp">): TextConversion | null {
  const inRange = `isfinite(${x}) AND year(${x}) > 0`;
  if (type.kind === "date") {
    const value = `TRY_CAST(${x} AS TIMESTAMP)`;
    return { text: asText(value), isExact: `${inRange} AND ${value} IS NOT NULL` };
  }
  if (type.kind !== "timestamp") return null;
  if (type.precision > 6) {
    const value = `TRY_CAST(${x} AS TIMESTAMP)`;
    return { text: asText(value), isExact: `${inRange} AND TRY_CAST(${value} AS ${type.text}) = ${x}` };
  }
  const isMoved = type.hasZone && !to.hasZone;
  return { text: asText(isMoved ? `make_timestamp(epoch_us(${x}))` : x), isExact: inRange };
}

/** DuckDB rounds a time of day in nanoseconds. */
const toTime = (x: string, name: string): TextConversion => ({
  text: asText(`CAST(${x} AS TIME)`),
  isExact: name.startsWith("TIME_NS") ? `regexp_full_match(${asText(x)}, '[^.]*([.]\\d{0,6}0*)?')` : null,
});

function toJson(x: string, type: DataType): TextConversion | null {
  const isNested = type.kind === "array" || type.kind === "map" || type.kind === "record";
  if (type.kind === "text") return { text: x, isExact: `json_valid(${x}) AND ${hasNoZero(x)}` };
  const text = isNested || type.kind === "json" ? jsonText(x, type) : null;
  return text === null ? null : { text, isExact: null };
}

function arrayConversion(x: string, from: DataType, to: DataType): TextConversion | null {
  const item = "i0";
  const each = to.kind === "array" ? null : conversionOf(item, from, to);
  if (each === null) return null;
  const isExact =
    each.isExact === null
      ? null
      : `coalesce(list_bool_and(list_transform(${x}, lambda ${item}: ${item} IS NULL OR coalesce(${each.isExact}, false))), true)`;
  return { text: arrayText(x, item, each.text), isExact };
}

import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import { clickhouseIdentifier } from "../../verify/clickhouse-relations.js";
import { clickhouseLiteral } from "./literal.js";

/** A column as the engine reads it from an export. */
export interface ExportColumn {
  readonly name: string;
  readonly type: string;
}

/** How a column of the export becomes one of the copy. */
export interface LoadedColumn {
  readonly name: string;
  readonly type: string;
  /** The value. */
  readonly value: string;
  /** True where the value is exactly that of the export; null where it cannot differ. */
  readonly isExact: string | null;
  /** Whether the export has the very type of the copy. */
  readonly hasSameType: boolean;
}

type Family = "number" | "float" | "text" | "time" | "uuid" | "array" | "tuple" | "map";

/** By the first word of a type. */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^(U?Int\d+|Decimal\d*|Bool)\b/, "number"],
  [/^(Float\d+|BFloat16)\b/, "float"],
  [/^(String|FixedString|Enum\d*)\b/, "text"],
  [/^(Date(32|Time|Time64)?)\b/, "time"],
  [/^UUID\b/, "uuid"],
  [/^Array\b/, "array"],
  [/^Tuple\b/, "tuple"],
  [/^Map\b/, "map"],
];

const familyOf = (type: string): Family | null =>
  FAMILIES.find(([pattern]) => pattern.test(type))?.[1] ?? null;

/** The type without `Nullable` and `LowCardinality`. */
export function bareType(type: string): string {
  return type.replace(/^(?:LowCardinality\(|Nullable\()+/, "").replace(/\)+$/, (closing) => {
    const opened = (/^(?:LowCardinality\(|Nullable\()+/.exec(type)?.[0].match(/\(/g) ?? []).length;
    return closing.slice(opened);
  });
}

/** A type on one line, as it is declared. */
const onOneLine = (type: string): string => type.replace(/\s+/g, " ").replaceAll("( ", "(");

/** The value of a column of the copy, refused where the export's type could only be converted by guessing. */
export function loadedColumn(
  { name, type: declared }: { readonly name: string; readonly type: string | null },
  source: ExportColumn,
): Outcome<LoadedColumn> {
  const sourceType = onOneLine(source.type);
  const type = declared ?? sourceType;
  const [from, to] = [familyOf(bareType(sourceType)), familyOf(bareType(type))];
  // Qualified: in ClickHouse a bare name may be an alias of the statement.
  const x = `export.${clickhouseIdentifier(source.name)}`;
  const cast = `CAST(${x}, ${clickhouseLiteral(type)})`;
  const key = `${String(from)} to ${String(to)}`;
  const hasSameType = sourceType === type;
  if (to === "text" && from === "text")
    return succeeded({ name, type, hasSameType, value: cast, isExact: null });
  const conversion = CONVERSIONS[key];
  if (conversion !== undefined) return succeeded({ name, type, hasSameType, ...conversion(x, type) });
  if (from === to || key === "number to float") {
    const isSame = `${x} IS NOT DISTINCT FROM ${cast}`;
    const range = to === "time" ? rangeOf(x, bareType(sourceType)) : digitsOf(x, sourceType, type);
    const isExact = range === null ? isSame : `${isSame} AND ${range}`;
    return succeeded({ name, type, hasSameType, value: hasSameType ? x : cast, isExact });
  }
  return failed(
    `the export has ${sourceType} and the copy ${type}: cast the column in the export, or correct its data_type`,
  );
}

type Conversion = (x: string, type: string) => Pick<LoadedColumn, "value" | "isExact">;

/** Parquet's time of day is a time of 1970-01-01. */
const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  "time to text": (x, type) => ({
    value: `CAST(replaceOne(toString(${x}), '1970-01-01 ', ''), ${clickhouseLiteral(type)})`,
    isExact: `ifNull(startsWith(toString(${x}), '1970-01-01 '), true)`,
  }),
  "uuid to text": (x, type) => ({ value: `CAST(toString(${x}), ${clickhouseLiteral(type)})`, isExact: null }),
  "text to uuid": (x, type) => {
    const value = `CAST(${x}, ${clickhouseLiteral(type)})`;
    return { value, isExact: `lower(${x}) IS NOT DISTINCT FROM toString(${value})` };
  },
};

/** A `Decimal` takes more digits than it is declared with. Null where the export cannot have them. */
function digitsOf(x: string, sourceType: string, type: string): string | null {
  const to = DECIMAL.exec(bareType(type));
  if (to === null) return null;
  const [digits, from] = [Number(to[1]) - Number(to[2]), DECIMAL.exec(bareType(sourceType))];
  const bits = Number(/^U?Int(\d+)/.exec(bareType(sourceType))?.[1] ?? 0);
  const possible = from === null ? Math.ceil(bits * Math.log10(2)) : Number(from[1]) - Number(from[2]);
  if (possible <= digits) return null;
  const bound = `toDecimal256('1${"0".repeat(digits)}', 0)`;
  return `ifNull(${x} < ${bound} AND ${x} > -${bound}, true)`;
}

const DECIMAL = /^Decimal\((\d+), ?(\d+)\)/;

/** Times that ClickHouse prints as they are: a `DateTime64` holds others, and prints the nearest of these. */
function rangeOf(x: string, sourceType: string): string | null {
  const scale = /^DateTime64\((\d)/.exec(sourceType)?.[1];
  if (scale === undefined) return null;
  const from = `${x} >= toDateTime64('1900-01-01 00:00:00', 0, 'UTC')`;
  const to = `${x} <= toDateTime64('2299-12-31 23:59:59', 0, 'UTC')`;
  // With 9 digits a time ends in 2262.
  return `ifNull(${scale === "9" ? from : `${from} AND ${to}`}, true)`;
}

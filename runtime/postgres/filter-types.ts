import type { ValueKind } from "../core/model/column-types.js";
import { type DatabaseType, OTHER, postgresType } from "../core/model/database-types.js";
import type { Comparison } from "../core/model/operators.js";
import {
  type Bounds,
  decimalText,
  discrete,
  exact,
  type FilterType,
  filterType as typeOf,
  isFloat,
  textType,
  ticksOf,
} from "../core/warehouse/filter-type.js";
import type { FilterNumber } from "../core/warehouse/filter-values.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { rangeType } from "./ranges.js";
import {
  dateTimeType,
  dateType,
  infinity,
  intervalType,
  timeType,
  utcTimeType,
  zonedTimeType,
} from "./filter-times.js";

/** What is needed of a column to filter it. */
export type UnnamedColumn = Omit<ResultColumn, "name">;

/** Enums and types of extensions have a schema of their own: an enum filters by its labels. An array or a composite type is a text. */
export function databaseType(column: UnnamedColumn): DatabaseType {
  if (column.isEnum === true) return ENUM;
  if (column.fields !== undefined) return column.fields.every(hasText) ? OTHER : NESTED;
  if (column.type.startsWith("_")) return hasText({ type: column.type.slice(1) }) ? OTHER : NESTED;
  return postgresType(column.type);
}

const ENUM: DatabaseType = { value: "text" };

const NESTED: DatabaseType = {
  value: "other",
  text: "none",
  refusal: "the text of its values depends on settings",
};

const hasText = (column: UnnamedColumn): boolean => databaseType(column).text === undefined;

/** Bounded by the types of PostgreSQL, and the scales of `money`. */
const filterTypes = new Map<string, FilterType>();

/** How a filter compares with a column. Bounded: one per type of PostgreSQL, and one per scale of `money`. */
export function filterType(column: UnnamedColumn): FilterType {
  const type = databaseType(column);
  if (type.value === "other") return TEXT;
  const { moneyScale: scale = 2 } = column;
  if (column.isEnum === true) return TEXT;
  if (column.type === "timestamp" && (column.timezone ?? "UTC") === "UTC") return TIME_IN_UTC;
  const key = column.type === "money" ? `money ${String(scale)}` : column.type;
  const known = filterTypes.get(key) ?? made(column.type, type, scale);
  filterTypes.set(key, known);
  return known;
}

const TEXT = textType("text", "text");
const TIME_IN_UTC = utcTimeType("timestamp");

function made(name: string, type: DatabaseType, scale: number): FilterType {
  if (name === "money") return moneyType(scale);
  return MAKERS[type.value](type.parameter ?? name, type);
}

const MAKERS: { readonly [Kind in ValueKind]: (cast: string, type: DatabaseType) => FilterType } = {
  integer: (cast, { bits = 64, isUnsigned }) => integerType(cast, bits, isUnsigned === true),
  number: (cast) =>
    cast === "numeric"
      ? typeOf("number", {
          cast,
          write: ({ isExtreme, text }) => (isExtreme ? null : text),
          bound: boundOfNumbers("1e-1000"),
        })
      : cast === "float4"
        ? floats(cast, Math.fround, "1e-45")
        : floats(cast, Number, "5e-324"),
  boolean: (cast) => typeOf("boolean", { cast, write: String }),
  uuid: (cast) => typeOf("uuid", { cast, write: (text) => text }),
  date: dateType,
  "date-time": dateTimeType,
  time: (cast) => (cast === "timetz" ? zonedTimeType(cast) : timeType(cast)),
  interval: intervalType,
  address: (cast) => typeOf("address", { cast, write: ({ text }) => text }),
  mac: (cast) => typeOf("mac", { cast, write: (digits) => macText(digits, cast === "macaddr8" ? 16 : 12) }),
  bits: (cast) => typeOf("bits", { cast, write: (bits) => bits }),
  bytes: (cast) => typeOf("bytes", { cast, write: (digits) => `\\x${digits}` }),
  range: (cast, { bounds = "" }) => rangeType(cast, boundType(bounds)),
  text: (cast) => textType("text", cast),
  other: () => TEXT,
};

function integerType(cast: string, bits: number, isUnsigned: boolean): FilterType {
  // Of a narrower column too: its operators take a `bigint`.
  const width = BigInt(cast === "int8" ? 64 : bits);
  const bounds: Bounds = isUnsigned
    ? [0n, 2n ** width - 1n]
    : [-(2n ** (width - 1n)), 2n ** (width - 1n) - 1n];
  return typeOf("integer", {
    cast,
    write: (value) => exact({ ticks: value, isExact: true }, bounds, String),
    bound: (value, operator) => discrete({ ticks: value, isExact: true }, operator, bounds, String),
    isDiscrete: true,
  });
}

const MAX_BIGINT = 2n ** 63n - 1n;

/** Whole units of its locale's scale, in 64 bits. Its text depends on the locale: the value is a `numeric`, which `filters.ts` casts. */
function moneyType(scale: number): FilterType {
  const bounds: Bounds = [-MAX_BIGINT - 1n, MAX_BIGINT];
  const write = (ticks: bigint): string => decimalText(ticks, scale);
  return typeOf("number", {
    cast: "money",
    write: (value) => exact(ticksOf(value, scale, MAX_BIGINT + 1n), bounds, write),
    bound: (value, operator) => discrete(ticksOf(value, scale, MAX_BIGINT + 1n), operator, bounds, write),
    isDiscrete: true,
  });
}

function floats(cast: string, round: (number: number) => number, smallest: string): FilterType {
  const write = (value: FilterNumber): string | null =>
    !value.isExtreme && isFloat(value, round) ? value.text : null;
  return typeOf("number", { cast, write, bound: boundOfNumbers(smallest) });
}

/** A number too close to zero lies between zero and the smallest of its type, and equals neither. */
function boundOfNumbers(smallest: string) {
  return ({ text, isNegative }: FilterNumber, operator: Comparison): string => {
    if (Math.abs(Number(text)) > 1 || operator === "ne") return infinity(text);
    const isAbove = operator === "gt" || operator === "lte";
    return isAbove !== isNegative ? "0" : isNegative ? `-${smallest}` : smallest;
  };
}

/** The bounds of a range are of the narrow type itself; those of `tsrange` have no zone. */
function boundType(name: string): FilterType {
  const type = postgresType(name);
  return name === "timestamp" ? TIME_IN_UTC : MAKERS[type.value](name, type);
}

function macText(digits: string, length: number): string | null {
  const all = length === 16 && digits.length === 12 ? `${digits.slice(0, 6)}fffe${digits.slice(6)}` : digits;
  return all.length === length ? (all.match(/../g) ?? []).join(":") : null;
}

import { clickhouseType, type DatabaseType } from "../core/model/database-types.js";
import { typeTextOf, unquoted } from "../core/model/type-text.js";
import {
  type Bounds,
  decimalText,
  exact,
  type FilterType,
  filterType as typeOf,
  isFloat,
  textType,
  type Ticks,
  ticksOf,
  UNSTORABLE,
} from "../core/warehouse/filter-type.js";
import type { FilterAddress, FilterClock, FilterDate, FilterTime } from "../core/warehouse/filter-values.js";

/** A type without `Nullable` and `LowCardinality`: `Decimal(38, 18)` has the name `Decimal` and two arguments. */
export interface ClickhouseType {
  readonly name: string;
  readonly arguments: readonly string[];
  readonly isNullable: boolean;
}

/** Wrappers that do not change how a value is written. */
const WRAPPERS: ReadonlySet<string> = new Set(["Nullable", "LowCardinality", "SimpleAggregateFunction"]);

/** Bounded by the types of relations and of statements of the project. */
const types = new Map<string, ClickhouseType>();

/** Types per text: bounded by the columns of the relations. */
export function parseType(text: string): ClickhouseType {
  const known = types.get(text) ?? parse(text);
  types.set(text, known);
  return known;
}

function parse(text: string): ClickhouseType {
  const { name, arguments: parts } = splitType(text);
  if (!WRAPPERS.has(name)) return { name, arguments: parts, isNullable: false };
  const inner = parse(parts.at(-1) ?? "");
  return { ...inner, isNullable: inner.isNullable || name === "Nullable" };
}

/** The name of a type as it is written, wrappers too, and its arguments. */
export function splitType(text: string): Pick<ClickhouseType, "name" | "arguments"> {
  const { name, args } = typeTextOf(text) ?? { name: text, args: [] };
  return { name, arguments: args };
}

/** What the table of types says of a type. */
export const databaseType = (text: string): DatabaseType => clickhouseType(parseType(text).name);

/** Bounded as the types. */
const filterTypes = new Map<ClickhouseType, FilterType>();

/** How a filter compares with a column. A value between two of the type is compared as the lower one. */
export function filterType(type: ClickhouseType): FilterType {
  const known = filterTypes.get(type) ?? made(type);
  filterTypes.set(type, known);
  return known;
}

function made({ name, arguments: parts }: ClickhouseType): FilterType {
  const { value, bits = 64, isUnsigned, parameter = name } = clickhouseType(name);
  const size = Number(parts[0]);
  switch (value) {
    case "integer":
      return integerType(name, isUnsigned === true, BigInt(bits));
    case "number":
      return name === "Decimal"
        ? decimalType(size, Number(parts[1]))
        : parameter === "Float32"
          ? floatType(parameter, Math.fround, "-1e-45")
          : floatType(parameter, Number, "-5e-324");
    case "boolean":
      return typeOf("boolean", { cast: name, write: String });
    case "uuid":
      return typeOf("uuid", { cast: name, write: (text) => text });
    case "address":
      return addressType(name, name === "IPv4" ? 4 : 6, name === "IPv4" ? 32 : 128);
    case "date":
      return dateType(name as keyof typeof DATES);
    case "date-time":
      return timeType(timeRange(name as "DateTime" | "DateTime64", size));
    case "time":
      return clockType(name, name === "Time" ? 0 : size);
    default:
      return name.startsWith("Enum") ? enumType(parts) : textType("text", "String");
  }
}

/** ClickHouse refuses a text that is no label: it equals no row. */
function enumType(parts: readonly string[]): FilterType {
  const labels = new Set(parts.map(labelOf));
  return typeOf("text", {
    cast: "String",
    write: (text) => (labels.has(text) && text !== UNSTORABLE ? text : null),
  });
}

/** The label of `'it\'s' = 1`. */
function labelOf(part: string): string {
  const [quoted = "''"] = /^'(?:[^'\\]|\\.|'')*'/s.exec(part) ?? [];
  return unquoted(quoted);
}

/** ClickHouse's longest time is 999:59:59. A `Time64` is compared as seconds (`comparedValue`). */
function clockType(name: string, scale: number): FilterType {
  const unit = 10n ** BigInt(scale);
  const longest = 3_600_000n * unit - 1n;
  const bounds: Bounds = [-longest, longest];
  const written = (ticks: bigint): string => (name === "Time" ? clockText(ticks) : decimalText(ticks, scale));
  return typeOf("time", {
    cast: name === "Time" ? name : `Decimal(18, ${String(scale)})`,
    write: (clock) => (clock.offset === null ? exact(clockTicks(clock, scale), bounds, written) : undefined),
    bound(clock) {
      const { ticks } = clockTicks(clock, scale);
      return ticks < -longest ? null : written(ticks > longest ? longest : ticks);
    },
  });
}

function clockText(seconds: bigint): string {
  const all = seconds < 0n ? -seconds : seconds;
  const parts = [all / 3600n, (all / 60n) % 60n, all % 60n].map((part) => String(part).padStart(2, "0"));
  return (seconds < 0n ? "-" : "") + parts.join(":");
}

function clockTicks({ seconds, fraction, isNegative }: FilterClock, scale: number): Ticks {
  const whole =
    BigInt(seconds) * 10n ** BigInt(scale) + BigInt(fraction.padEnd(scale, "0").slice(0, scale) || "0");
  const isExact = fraction.length <= scale;
  return { ticks: isNegative ? (isExact ? -whole : -whole - 1n) : whole, isExact };
}

/** ClickHouse would wrap a value outside the range around without an error. */
function integerType(cast: string, isUnsigned: boolean, bits: bigint): FilterType {
  const [min, max] = isUnsigned ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
  return typeOf("integer", {
    cast,
    write: (value) => (value < min || value > max ? null : String(value)),
    bound: (value) => (value < 0n ? null : String(max)),
  });
}

/** ClickHouse cuts digits after the scale: a value with more of them equals no row. */
function decimalType(precision: number, scale: number): FilterType {
  const max = 10n ** BigInt(precision) - 1n;
  const written = (ticks: bigint): string => decimalText(ticks, scale);
  return typeOf("number", {
    cast: `Decimal(${String(precision)}, ${String(scale)})`,
    write(value) {
      const { ticks, isExact } = ticksOf(value, scale, max);
      return !isExact || ticks > max || ticks < -max ? null : written(ticks);
    },
    bound(value) {
      const { ticks } = ticksOf(value, scale, max);
      return ticks < -max ? null : written(ticks > max ? max : ticks);
    },
  });
}

/** `smallest`: the greatest number below zero. */
function floatType(cast: string, round: (number: number) => number, smallest: string): FilterType {
  return typeOf("number", {
    cast,
    write: (value) => (!value.isExtreme && isFloat(value, round) ? String(Number(value.text)) : null),
    bound({ text, isNegative }) {
      if (Math.abs(Number(text)) > 1) return isNegative ? null : "inf";
      return isNegative ? smallest : "0";
    },
  });
}

/** A network, or an address of the other family, equals no row. */
function addressType(cast: string, family: 4 | 6, allBits: number): FilterType {
  const write = ({ address, family: own, bits }: FilterAddress): string | null =>
    own === family && bits === allBits ? address : null;
  return typeOf("address", { cast, write });
}

/** First and last day of the types. */
const DATES = {
  Date: ["1970-01-01", "2149-06-06"],
  Date32: ["1900-01-01", "2299-12-31"],
} as const;

function dateType(name: "Date" | "Date32"): FilterType {
  const [first, last] = DATES[name];
  const isBelow = ({ text, year }: FilterDate): boolean => year < 0 || (isFourDigits(text) && text < first);
  return typeOf("date", {
    cast: name,
    write: (date) => (isFourDigits(date.text) && !isBelow(date) && date.text <= last ? date.text : null),
    bound: (date) => (isBelow(date) ? null : last),
  });
}

/** Texts of four-digit years compare as dates do. */
const isFourDigits = (date: string): boolean => date.length === 10;

/** A type of times: that of a parameter, the digits of its fraction, and its range in units of them. */
interface TimeRange {
  readonly cast: string;
  readonly scale: number;
  readonly min: bigint;
  readonly max: bigint;
}

/** With nine digits the 64 bits of a `DateTime64` end before the type's last year. */
export function timeRange(name: "DateTime" | "DateTime64", size: number): TimeRange {
  if (name === "DateTime") return { cast: "DateTime('UTC')", scale: 0, min: 0n, max: 2n ** 32n - 1n };
  const unit = 10n ** BigInt(size);
  const last = epochSeconds("2300-01-01") * unit - 1n;
  const longest = 2n ** 63n - 1n;
  const max = last > longest ? longest : last;
  return {
    cast: `DateTime64(${String(size)}, 'UTC')`,
    scale: size,
    min: epochSeconds("1900-01-01") * unit,
    max,
  };
}

/** Midnight in UTC of a four-digit year's day, in seconds since 1970. */
function epochSeconds(date: string): bigint {
  return BigInt(Date.parse(`${date}T00:00:00Z`) / 1000);
}

function timeType({ cast, scale, min, max }: TimeRange): FilterType {
  /** Units of `10^-scale` seconds since 1970, rounded down. */
  const ticks = ({ date, seconds, fraction }: FilterTime): bigint => {
    if (!isFourDigits(date.text)) return date.year < 0 ? min - 1n : max + 1n;
    const parts = BigInt(fraction.padEnd(scale, "0").slice(0, scale) || "0");
    return (epochSeconds(date.text) + BigInt(seconds)) * 10n ** BigInt(scale) + parts;
  };
  return typeOf("date-time", {
    cast,
    write(time) {
      const value = ticks(time);
      return time.fraction.length > scale || value < min || value > max ? null : timeText(value, scale);
    },
    bound(time) {
      const value = ticks(time);
      return value < min ? null : timeText(value > max ? max : value, scale);
    },
  });
}

/** A time in UTC from units of `10^-scale` seconds since 1970. As a number ClickHouse reads `-0.5` as 0.5. */
function timeText(ticks: bigint, scale: number): string {
  const unit = 10n ** BigInt(scale);
  const fraction = ((ticks % unit) + unit) % unit;
  const date = new Date(Number((ticks - fraction) / unit) * 1000).toISOString();
  const digits = scale === 0 ? "" : `.${String(fraction).padStart(scale, "0")}`;
  return date.slice(0, 19).replace("T", " ") + digits;
}

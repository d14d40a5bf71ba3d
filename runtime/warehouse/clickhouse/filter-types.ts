import {
  type FilterAddress,
  type FilterDate,
  type FilterNumber,
  type FilterTime,
  type FilterType,
  filterType as typeOf,
  isFloat,
} from "../filter-values.js";

/** A type without `Nullable` and `LowCardinality`: `Decimal(38, 18)` has the name `Decimal` and two arguments. */
export interface ClickhouseType {
  readonly name: string;
  readonly arguments: readonly string[];
  readonly isNullable: boolean;
}

/** Wrappers that do not change how a value is written. */
const WRAPPERS: ReadonlySet<string> = new Set(["Nullable", "LowCardinality", "SimpleAggregateFunction"]);

const types = new Map<string, ClickhouseType>();

/** Types per text: bounded by the columns of the relations. */
export function parseType(text: string): ClickhouseType {
  const known = types.get(text) ?? parse(text);
  types.set(text, known);
  return known;
}

function parse(text: string): ClickhouseType {
  const [, name = text, inside = ""] = /^(\w+)(?:\((.*)\))?$/s.exec(text.trim()) ?? [];
  const parts = inside === "" ? [] : splitArguments(inside);
  if (!WRAPPERS.has(name)) return { name, arguments: parts, isNullable: false };
  const inner = parse(parts.at(-1) ?? "");
  return { ...inner, isNullable: inner.isNullable || name === "Nullable" };
}

/** Splits at the commas that are neither quoted nor in parentheses. */
function splitArguments(text: string): readonly string[] {
  const parts = text.match(
    /(?:'(?:[^'\\]|\\.|'')*'|\((?:[^()']|'(?:[^'\\]|\\.|'')*'|\([^()]*\))*\)|[^,])+/gs,
  );
  return (parts ?? []).map((part) => part.trim());
}

/** By ClickHouse's type; null where values compare as text. `bound`: the type's greatest value below one that is none of it. */
export function filterType({ name, arguments: [first, second] }: ClickhouseType): FilterType | null {
  const integer = /^(U?)Int(\d+)$/.exec(name);
  if (integer) return integerType(name, integer[1] === "U", BigInt(integer[2] ?? 0));
  switch (name) {
    case "Float32":
    case "BFloat16":
      return floatType("Float32", Math.fround, "-1e-45");
    case "Float64":
      return floatType("Float64", Number, "-5e-324");
    case "Decimal":
      return decimalType(Number(first), Number(second));
    case "Bool":
      return typeOf("boolean", { cast: "Bool", write: String });
    case "UUID":
      return typeOf("uuid", { cast: "UUID", write: (text) => text });
    case "IPv4":
    case "IPv6":
      return addressType(name, name === "IPv4" ? 4 : 6, name === "IPv4" ? 32 : 128);
    case "Date":
    case "Date32":
      return dateType(name);
    case "DateTime":
    case "DateTime64":
      return timeType(timeRange(name, Number(first)));
    default:
      return null;
  }
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

/** ClickHouse cuts digits behind the scale: a value with more of them equals no row. */
function decimalType(precision: number, scale: number): FilterType {
  const max = 10n ** BigInt(precision) - 1n;
  const written = (ticks: bigint): string =>
    (ticks < 0n ? "-" : "") + withScale(ticks < 0n ? -ticks : ticks, scale);
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

interface Ticks {
  readonly ticks: bigint;
  readonly isExact: boolean;
}

/** A number in units of `10^-scale`, rounded down; one beyond all types as one above `max` or below `-max`, or next to zero. */
function ticksOf(
  { text, isNegative, digits, scale: own, isExtreme }: FilterNumber,
  scale: number,
  max: bigint,
): Ticks {
  if (isExtreme) {
    const far = Math.abs(Number(text)) > 1 ? max + 1n : 0n;
    return { ticks: isNegative ? -far - (far === 0n ? 1n : 0n) : far, isExact: false };
  }
  const divisor = own > scale ? 10n ** BigInt(own - scale) : 1n;
  const whole = own > scale ? digits : digits * 10n ** BigInt(scale - own);
  const ticks = isNegative ? -((whole + divisor - 1n) / divisor) : whole / divisor;
  return { ticks, isExact: whole % divisor === 0n };
}

function withScale(ticks: bigint, scale: number): string {
  const digits = String(ticks).padStart(scale + 1, "0");
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
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
  return typeOf("time", {
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

import { isDayOf } from "../../model/calendar-date.js";

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

/** How a filter compares, by the type of its column (runtime/docs/requests.md). */
export interface FilterType {
  /** Type of the query parameter. */
  readonly cast: string;
  /** The error for a value that is not of the type. */
  readonly error: "notDate" | `valueNot${"Integer" | "Number" | "Boolean" | "Uuid" | "DateTime"}`;
  /**
   * The value in ClickHouse's syntax. Undefined: not a value of the type. Null: outside the type's range, so no row can
   * match: ClickHouse would wrap it around without an error.
   */
  readonly parse: (text: string) => string | null | undefined;
  /** For a value that is not one of the type: the type's greatest value below it; null when there is none. */
  readonly floor?: (text: string) => string | null;
}

/** Null where values compare as text. */
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
      return { cast: "Bool", error: "valueNotBoolean", parse: parseBoolean };
    case "UUID":
      return { cast: "UUID", error: "valueNotUuid", parse: parseUuid };
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

function integerType(cast: string, isUnsigned: boolean, bits: bigint): FilterType {
  const [min, max] = isUnsigned ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
  const parse = (text: string): string | null | undefined => {
    if (!/^[+-]?\d+$/.test(text)) return undefined;
    const integer = BigInt(text.replace("+", ""));
    return integer < min || integer > max ? null : String(integer);
  };
  const floor = (text: string): string | null => (text.startsWith("-") ? null : String(max));
  return { cast, error: "valueNotInteger", parse, floor };
}

const NUMBER = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i;

/** No type has numbers with a larger exponent. */
const MAX_EXPONENT = 1000;

/** Sign, digits and scale: the number is `digits / 10^scale`. */
interface Digits {
  readonly isNegative: boolean;
  readonly digits: bigint;
  readonly scale: number;
}

function parseDigits(text: string): Digits | null | undefined {
  const [whole, sign, integer = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  if (whole === undefined || integer + fraction === "") return undefined;
  const digits = BigInt(integer + fraction);
  if (digits === 0n) return { isNegative: false, digits, scale: 0 };
  if (Math.abs(Number(exponent)) > MAX_EXPONENT) return null;
  return { isNegative: sign === "-", digits, scale: fraction.length - Number(exponent) };
}

/** ClickHouse cuts digits behind the scale: a value with more of them equals no row. */
function decimalType(precision: number, scale: number): FilterType {
  const parse = (text: string): string | null | undefined => {
    const number = parseDigits(text);
    if (!number) return number;
    const ticks = ticksOf(number, scale);
    if (ticks === null || ticks >= 10n ** BigInt(precision)) return null;
    return (number.isNegative ? "-" : "") + withScale(ticks, scale);
  };
  const max = 10n ** BigInt(precision) - 1n;
  const floor = (text: string): string | null => {
    const ticks = floorTicks(text, scale, max);
    if (ticks < -max) return null;
    return (ticks < 0n ? "-" : "") + withScale(ticks < 0n ? -ticks : ticks, scale);
  };
  return { cast: `Decimal(${String(precision)}, ${String(scale)})`, error: "valueNotNumber", parse, floor };
}

/** The number in units of `10^-scale`, rounded down, at most `max` and at least the number below `-max`. */
function floorTicks(text: string, scale: number, max: bigint): bigint {
  const number = parseDigits(text);
  const isNegative = text.startsWith("-");
  // Its exponent is beyond those of all types.
  if (!number) return Math.abs(Number(text)) > 1 ? (isNegative ? -max - 1n : max) : isNegative ? -1n : 0n;
  const power = scale - number.scale;
  const divisor = power < 0 ? 10n ** BigInt(-power) : 1n;
  const digits = power < 0 ? number.digits : number.digits * 10n ** BigInt(power);
  const ticks = isNegative ? -((digits + divisor - 1n) / divisor) : digits / divisor;
  return ticks > max ? max : ticks < -max ? -max - 1n : ticks;
}

/** The number in units of `10^-scale`, without its sign; null when it is not a whole number of them. */
function ticksOf({ digits, scale: own }: Omit<Digits, "isNegative">, scale: number): bigint | null {
  if (own <= scale) return digits * 10n ** BigInt(scale - own);
  const divisor = 10n ** BigInt(own - scale);
  return digits % divisor === 0n ? digits / divisor : null;
}

function withScale(ticks: bigint, scale: number): string {
  const digits = String(ticks).padStart(scale + 1, "0");
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** A number that rounds to infinity or to zero equals no row. */
function parseFloat(text: string, round: (number: number) => number): string | null | undefined {
  const digits = parseDigits(text);
  if (!digits) return digits;
  const number = round(Number(text));
  return Number.isFinite(number) && (number !== 0 || digits.digits === 0n) ? String(Number(text)) : null;
}

/** `smallest`: the greatest number below zero. */
function floatType(cast: string, round: (number: number) => number, smallest: string): FilterType {
  const floor = (text: string): string | null => {
    const isNegative = text.startsWith("-");
    if (Math.abs(Number(text)) > 1) return isNegative ? null : "inf";
    return isNegative ? smallest : "0";
  };
  return { cast, error: "valueNotNumber", parse: (text) => parseFloat(text, round), floor };
}

function parseBoolean(text: string): string | undefined {
  if (/^(true|t|yes|on|1)$/i.test(text)) return "true";
  return /^(false|f|no|off|0)$/i.test(text) ? "false" : undefined;
}

function parseUuid(text: string): string | undefined {
  const digits = text.replaceAll("-", "").toLowerCase();
  if (!/^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(text)) return undefined;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** First and last day of the types. */
export const DATES = {
  Date: ["1970-01-01", "2149-06-06"],
  Date32: ["1900-01-01", "2299-12-31"],
} as const;

/** A date of the four-digit years, or of an expanded year as the API prints it elsewhere. */
const DATE = /^(\d{4}|[+-]\d{6,7})-(\d{2})-(\d{2})$/;

/** Texts of four-digit years compare as dates do. */
function parseDate(text: string, [first, last]: readonly [string, string]): string | null | undefined {
  const [, year = "", month, day] = DATE.exec(text) ?? [];
  if (year === "" || year === "-000000" || !isDayOf(Number(year), Number(month), Number(day)))
    return undefined;
  return year.length === 4 && text >= first && text <= last ? text : null;
}

function dateType(name: "Date" | "Date32"): FilterType {
  const [first, last] = DATES[name];
  const isBelow = (text: string): boolean => text.startsWith("-") || (!text.startsWith("+") && text < first);
  return {
    cast: name,
    error: "notDate",
    parse: (text) => parseDate(text, DATES[name]),
    floor: (text) => (isBelow(text) ? null : last),
  };
}

const TIME = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(Z|[+-](?:0\d|1[0-4]):[0-5]\d)?$/i;

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
  const last = nextDaySeconds("2299-12-31") * unit - 1n;
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
export function epochSeconds(date: string): bigint {
  return BigInt(Date.parse(`${date}T00:00:00Z`) / 1000);
}

/** Midnight in UTC after the day. */
export function nextDaySeconds(date: string): bigint {
  return epochSeconds(date) + 86_400n;
}

function timeType({ cast, scale, min, max }: TimeRange): FilterType {
  const parse = (text: string): string | null | undefined => {
    const time = parseTime(text, scale);
    if (!time) return time;
    const isOutside = !time.isExact || time.ticks < min || time.ticks > max;
    return isOutside ? null : timeText(time.ticks, scale);
  };
  const floor = (text: string): string | null => {
    const ticks = parseTime(text, scale)?.ticks ?? (text.startsWith("-") ? min - 1n : max);
    return ticks < min ? null : timeText(ticks > max ? max : ticks, scale);
  };
  return { cast, error: "valueNotDateTime", parse, floor };
}

/** Units of `10^-scale` seconds since 1970, rounded down. Null for an expanded year. */
function parseTime(text: string, scale: number): { ticks: bigint; isExact: boolean } | null | undefined {
  const [date = "", time = "", ...more] = text.split(/[Tt ]/);
  const [whole, hours, minutes, seconds, fraction = "", zone = "Z"] = TIME.exec(time) ?? [];
  const day = parseDate(date, ["0000-01-01", "9999-12-31"]);
  if (whole === undefined || day === undefined || more.length > 0) return undefined;
  if (day === null) return null;
  const ofDay = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) - offsetSeconds(zone);
  const digits = fraction.padEnd(scale, "0");
  const parts = BigInt(digits.slice(0, scale) || "0");
  const isExact = /^0*$/.test(digits.slice(scale));
  return { ticks: (epochSeconds(day) + BigInt(ofDay)) * 10n ** BigInt(scale) + parts, isExact };
}

/** A time in UTC from units of `10^-scale` seconds since 1970. As a number ClickHouse reads `-0.5` as 0.5. */
export function timeText(ticks: bigint, scale: number): string {
  const unit = 10n ** BigInt(scale);
  const fraction = ((ticks % unit) + unit) % unit;
  const date = new Date(Number((ticks - fraction) / unit) * 1000).toISOString();
  const digits = scale === 0 ? "" : `.${String(fraction).padStart(scale, "0")}`;
  return date.slice(0, 19).replace("T", " ") + digits;
}

function offsetSeconds(zone: string): number {
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60);
}

import { isIP } from "node:net";
import { isDayOf } from "../model/query.js";

/** What a filter compares with, by what its column holds (runtime/docs/requests.md). */
export interface ParsedValues {
  readonly integer: bigint;
  readonly number: FilterNumber;
  readonly boolean: boolean;
  /** With hyphens, in lower case. */
  readonly uuid: string;
  readonly date: FilterDate;
  readonly "date-time": FilterTime;
  readonly time: FilterClock;
  readonly interval: FilterInterval;
  readonly address: FilterAddress;
  /** Hexadecimal digits, in lower case. */
  readonly mac: string;
  readonly bits: string;
  /** Hexadecimal digits, in lower case. */
  readonly bytes: string;
  readonly range: readonly FilterRange[];
  readonly text: string;
  readonly other: string;
}

/** `digits / 10^scale`, without its sign. */
export interface FilterNumber {
  readonly text: string;
  readonly isNegative: boolean;
  readonly digits: bigint;
  readonly scale: number;
  /** Its exponent is beyond those of all types: the digits are not to be multiplied out. */
  readonly isExtreme: boolean;
}

/** A date of the four-digit years, or of an expanded year as the API prints it (`-000043-03-15` is in 44 BC). */
export interface FilterDate {
  readonly text: string;
  readonly year: number;
  readonly monthAndDay: string;
}

export interface FilterTime {
  readonly date: FilterDate;
  /** As it was sent, with its offset, which is `Z` where none was sent. */
  readonly clock: string;
  /** From the start of the day in UTC. */
  readonly seconds: number;
  /** Up to nine digits of a second, without zeros at their end. */
  readonly fraction: string;
}

/** A time of day, or a duration of ClickHouse. */
export interface FilterClock {
  readonly isNegative: boolean;
  readonly seconds: number;
  /** See `FilterTime`. */
  readonly fraction: string;
  /** Seconds east of UTC; null where none was sent. */
  readonly offset: number | null;
}

export interface FilterInterval {
  readonly months: bigint;
  readonly days: bigint;
  readonly microseconds: bigint;
  /** Whether it has no digits after the microseconds. */
  readonly isExact: boolean;
}

export interface FilterAddress {
  readonly text: string;
  readonly address: string;
  readonly family: 4 | 6;
  /** Of its network; those of the family for a host. */
  readonly bits: number;
}

/** A range, whose bounds are texts; null where it has none. An empty range has no brackets. */
export interface FilterRange {
  readonly brackets: string;
  readonly lower: string | null;
  readonly upper: string | null;
}

const textOf = (text: string): string => text;

/** Undefined: not a value of the kind. */
export const PARSERS: {
  readonly [Kind in keyof ParsedValues]: (text: string) => ParsedValues[Kind] | undefined;
} = {
  integer: (text) => (/^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined),
  number: parseNumber,
  boolean: parseBoolean,
  uuid: parseUuid,
  date: parseDate,
  "date-time": parseTime,
  time: parseClock,
  interval: parseInterval,
  address: parseAddress,
  mac: parseMac,
  bits: (text) => (/^[01]*$/.test(text) ? text : undefined),
  bytes: (text) => /^\\x((?:[0-9a-f]{2})*)$/i.exec(text)?.[1]?.toLowerCase(),
  range: parseRanges,
  text: textOf,
  other: textOf,
};

/** No type has numbers with a larger exponent. */
const MAX_EXPONENT = 1000;

function parseNumber(text: string): FilterNumber | undefined {
  const [whole, sign, integer = "", fraction = "", exponent = "0"] =
    /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (whole === undefined || integer + fraction === "") return undefined;
  const digits = BigInt(integer + fraction);
  if (digits === 0n) return { text: "0", isNegative: false, digits, scale: 0, isExtreme: false };
  const isExtreme = Math.abs(Number(exponent)) > MAX_EXPONENT;
  return { text, isNegative: sign === "-", digits, scale: fraction.length - Number(exponent), isExtreme };
}

function parseBoolean(text: string): boolean | undefined {
  if (/^(true|t|yes|on|1)$/i.test(text)) return true;
  return /^(false|f|no|off|0)$/i.test(text) ? false : undefined;
}

function parseUuid(text: string): string | undefined {
  if (!/^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(text)) return undefined;
  const digits = text.replaceAll("-", "").toLowerCase();
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function parseDate(text: string): FilterDate | undefined {
  const [whole, year = "", month, day] = /^(\d{4}|[+-]\d{6,7})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (whole === undefined || year === "-000000" || !isDayOf(Number(year), Number(month), Number(day)))
    return undefined;
  return { text, year: Number(year), monthAndDay: text.slice(year.length) };
}

const CLOCK = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(Z|([+-])(0\d|1[0-4])(?::?([0-5]\d))?)?$/i;

/** RFC 3339; without an offset it is in UTC. */
function parseTime(text: string): FilterTime | undefined {
  const [day = "", clock = "", ...more] = text.split(/[Tt ]/);
  const date = parseDate(day);
  const [whole, hours, minutes, seconds, fraction = "", zone, sign, zoneHours = "0", zoneMinutes = "0"] =
    CLOCK.exec(clock) ?? [];
  if (whole === undefined || date === undefined || more.length > 0) return undefined;
  const offset = (sign === "-" ? -60 : 60) * (Number(zoneHours) * 60 + Number(zoneMinutes));
  const ofDay = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) - offset;
  const withZone = zone === undefined ? `${clock}Z` : clock;
  return { date, clock: withZone, seconds: ofDay, fraction: fraction.replace(/0+$/, "") };
}

const TIME_OF_DAY =
  /^(-?)(\d{2,3}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(Z|([+-])(\d{2})(?::?([0-5]\d))?(?::([0-5]\d))?)?$/i;

function parseClock(text: string): FilterClock | undefined {
  const [whole, minus, hours, minutes, seconds = "0", fraction = "", zone, sign, ...offset] =
    TIME_OF_DAY.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const [east = 0, eastMinutes = 0, eastSeconds = 0] = offset.map((part) => Number(part || 0));
  const eastOfUtc = (sign === "-" ? -1 : 1) * (east * 3600 + eastMinutes * 60 + eastSeconds);
  return {
    isNegative: minus === "-",
    seconds: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds),
    fraction: fraction.replace(/0+$/, ""),
    offset: zone === undefined ? null : eastOfUtc,
  };
}

const ISO_DURATION =
  /^(-?)P(?=[\dT-])(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?=[\d-])(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d{1,9})?)S)?)?$/i;

/** As PostgreSQL prints it: `1 year 2 mons -3 days +04:05:06.789`. */
const PRINTED =
  /^(?=.)(?:([+-]?\d+) years?)? ?(?:([+-]?\d+) mons?)? ?(?:([+-]?\d+) days?)? ?(?:([+-]?)(\d+):([0-5]\d):([0-5]\d(?:\.\d{1,9})?))?$/i;

function parseInterval(text: string): FilterInterval | undefined {
  const [iso, minus, ...parts] = ISO_DURATION.exec(text) ?? [];
  if (iso !== undefined) {
    const [years, months, weeks, days, hours, minutes, seconds] = parts.map((part) => part || "0");
    return intervalOf(minus === "-" ? -1n : 1n, { years, months, weeks, days, hours, minutes, seconds });
  }
  const [printed, years, months, days, sign, hours, minutes, seconds] = PRINTED.exec(text) ?? [];
  if (printed === undefined) return undefined;
  const signed = (part = "0"): string => (sign === "-" ? `-${part}` : part);
  const clock = { hours: signed(hours), minutes: signed(minutes), seconds: signed(seconds) };
  return intervalOf(1n, { years, months, days, ...clock });
}

type IntervalParts = Partial<
  Record<"years" | "months" | "weeks" | "days" | "hours" | "minutes" | "seconds", string | undefined>
>;

function intervalOf(sign: bigint, parts: IntervalParts): FilterInterval {
  const whole = (part = "0"): bigint => BigInt(part.replace("+", ""));
  const { seconds = "0" } = parts;
  const [, minus, units = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(seconds) ?? [];
  const exact = BigInt(units + fraction.padEnd(6, "0").slice(0, 6)) * (minus === "-" ? -1n : 1n);
  const minutes = whole(parts.hours) * 60n + whole(parts.minutes);
  return {
    months: sign * (whole(parts.years) * 12n + whole(parts.months)),
    days: sign * (whole(parts.weeks) * 7n + whole(parts.days)),
    microseconds: sign * (minutes * 60_000_000n + exact),
    isExact: !/[1-9]/.test(fraction.slice(6)),
  };
}

function parseAddress(text: string): FilterAddress | undefined {
  const [, address = "", given] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  const all = family === 4 ? 32 : 128;
  const bits = Number(given ?? all);
  return (family === 4 || family === 6) && bits <= all ? { text, address, family, bits } : undefined;
}

function parseMac(text: string): string | undefined {
  const digits = text.replace(/[:.-]/g, "").toLowerCase();
  const isMac = /^[0-9a-f]{12}(?:[0-9a-f]{4})?$/.test(digits);
  return isMac && /^[0-9a-f]{2,6}(?:[:.-]?[0-9a-f]{2,6})*$/i.test(text) ? digits : undefined;
}

const BOUND = String.raw`\s*("[^"\\]*"|[^",[\](){}\s][^",[\](){}]*|)\s*`;
const RANGE = `empty|[[(]${BOUND},${BOUND}[\\])]`;
const ONE_RANGE = new RegExp(`^(?:${RANGE})$`, "i");
const RANGES = new RegExp(String.raw`^\{\s*(?:(?:${RANGE})(?:\s*,\s*(?:${RANGE}))*)?\s*\}$`, "i");

/** One range, or several in braces, as PostgreSQL writes them. */
function parseRanges(text: string): readonly FilterRange[] | undefined {
  const isList = RANGES.test(text);
  if (!isList && !ONE_RANGE.test(text)) return undefined;
  const inside = isList ? text.slice(1, -1) : text;
  return [...inside.matchAll(new RegExp(RANGE, "gi"))].map(([range, lower, upper]) => {
    if (/^empty$/i.test(range)) return { brackets: "", lower: null, upper: null };
    const bound = (of = ""): string | null => of.trim().replace(/^"|"$/g, "") || null;
    return { brackets: `${range.slice(0, 1)}${range.slice(-1)}`, lower: bound(lower), upper: bound(upper) };
  });
}

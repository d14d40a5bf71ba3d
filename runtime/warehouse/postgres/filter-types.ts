import { isIP } from "node:net";
import { isDayOf } from "../../model/calendar-date.js";
import type { Comparison } from "../../model/endpoint.js";

/** How a filter compares, by the type of its column (runtime/docs/requests.md). */
export interface PostgresFilterType {
  /** Type that a value is cast to, so that PostgreSQL can use an index on the column. */
  readonly cast: string;
  /** The error for a value that is not of the type. */
  readonly error: "notDate" | `valueNot${"Integer" | "Number" | "Boolean" | "Uuid" | "DateTime" | "Address"}`;
  /**
   * The value in PostgreSQL's syntax. Undefined: not a value of the type. Null: outside the type's range, so no row can
   * match.
   */
  readonly parse: (text: string) => string | null | undefined;
  /** What a value outside the range is compared as. */
  readonly beyond?: (text: string, operator: Comparison) => string;
}

export const INTEGER: PostgresFilterType = { cast: "bigint", error: "valueNotInteger", parse: parseInteger };
const DATE_TIME: PostgresFilterType = {
  cast: "timestamptz",
  error: "valueNotDateTime",
  parse: parseDateTime,
  beyond: beyondTimes,
};

/** By PostgreSQL's type name. Other types compare as text. */
const FILTER_TYPES: Readonly<Record<string, PostgresFilterType>> = {
  int2: INTEGER,
  int4: INTEGER,
  int8: INTEGER,
  numeric: {
    cast: "numeric",
    error: "valueNotNumber",
    parse: parseNumeric,
    beyond: beyondNumbers("1e-1000"),
  },
  float4: {
    cast: "real",
    error: "valueNotNumber",
    parse: (text) => parseFloat(text, Math.fround),
    beyond: beyondNumbers("1e-45"),
  },
  float8: {
    cast: "double precision",
    error: "valueNotNumber",
    parse: (text) => parseFloat(text, Number),
    beyond: beyondNumbers("5e-324"),
  },
  bool: { cast: "boolean", error: "valueNotBoolean", parse: parseBoolean },
  uuid: { cast: "uuid", error: "valueNotUuid", parse: parseUuid },
  date: { cast: "date", error: "notDate", parse: parseDate, beyond: infinity },
  timestamp: DATE_TIME,
  timestamptz: DATE_TIME,
  inet: { cast: "inet", error: "valueNotAddress", parse: parseAddress },
};

/** Null where values compare as text. */
export function filterType(type: string): PostgresFilterType | null {
  return (Object.hasOwn(FILTER_TYPES, type) ? FILTER_TYPES[type] : null) ?? null;
}

/** A value outside the range of its type is above all others, or with a sign below them. */
function infinity(text: string): string {
  return text.startsWith("-") ? "-Infinity" : "Infinity";
}

/** A number too close to zero lies between zero and the smallest of its type, and equals neither. */
function beyondNumbers(smallest: string) {
  return (text: string, operator: Comparison): string => {
    if (Math.abs(Number(text)) > 1 || operator === "ne") return infinity(text);
    const isNegative = text.startsWith("-");
    const isAbove = operator === "gt" || operator === "lte";
    return isAbove !== isNegative ? "0" : isNegative ? `-${smallest}` : smallest;
  };
}

export const MAX_BIGINT = 2n ** 63n - 1n;

function parseInteger(text: string): string | null | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const integer = BigInt(text.replace("+", ""));
  return integer > MAX_BIGINT || integer < -MAX_BIGINT - 1n ? null : String(integer);
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?$/i;

/** Numbers with larger exponents are outside the range of `numeric`. */
const MAX_EXPONENT = 1000;

function parseNumeric(text: string): string | null | undefined {
  const [, digits, exponent = "0"] = NUMBER.exec(text) ?? [];
  if (digits === undefined || !/[1-9]/.test(digits)) return digits && "0";
  return Math.abs(Number(exponent)) > MAX_EXPONENT ? null : text;
}

/** PostgreSQL rejects a number that rounds to infinity or to zero. */
function parseFloat(text: string, round: (number: number) => number): string | null | undefined {
  const number = parseNumeric(text);
  const rounded = round(Number(number ?? 0));
  return number === "0" || (Number.isFinite(rounded) && rounded !== 0) ? number : number && null;
}

function parseBoolean(text: string): string | undefined {
  return /^(true|false|t|f|yes|no|on|off|1|0)$/i.test(text) ? text : undefined;
}

function parseUuid(text: string): string | undefined {
  return /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(text) ? text : undefined;
}

/** A date of the four-digit years, or of an expanded year as the API prints it (`-000043-03-15` is in 44 BC). */
const DATE = /^(\d{4}|[+-]\d{6,7})-(\d{2})-(\d{2})$/;

/** Range of PostgreSQL's `date` and `timestamp`; the first year is 4713 BC. */
const MAX_YEAR = { date: 5_874_897, timestamp: 294_276 };
const MIN_YEAR = -4712;

function parseDate(text: string): string | null | undefined {
  return dateText(text, MAX_YEAR.date, "");
}

const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-](0\d|1[0-4]):[0-5]\d)?$/i;

/** Digits beyond microseconds, which no time of PostgreSQL has: such a value lies between two times and equals neither. */
const BEYOND_MICROSECONDS = /(\.\d{6})(?=\d*[1-9])\d+/;

/** RFC 3339; without an offset it is in UTC. */
function parseDateTime(text: string): string | null | undefined {
  const time = dateTimeText(text);
  return time && BEYOND_MICROSECONDS.test(time) ? null : time;
}

/** Of a value between two times, the one that the operator compares with: PostgreSQL rounds. */
function beyondTimes(text: string, operator: Comparison): string {
  const time = dateTimeText(text);
  if (!time || !BEYOND_MICROSECONDS.test(time) || time.startsWith(LAST_DAYS) || operator === "ne")
    return infinity(text);
  const isUp = operator === "gte" || operator === "lt";
  return time.replace(BEYOND_MICROSECONDS, (_, micros: string) => (isUp ? `${micros}9` : micros));
}

function dateTimeText(text: string): string | null | undefined {
  const [date = "", time = ""] = text.split(/[Tt ]/);
  if (!TIME.test(time)) return undefined;
  const isPastRange = date === LAST_DAY && secondsOf(time) >= DAY_SECONDS;
  return isPastRange ? null : dateText(date, MAX_YEAR.timestamp, ` ${time}`);
}

/** Of PostgreSQL's `timestamp`: in a zone of the column's own they may lie beyond its range. */
export const LAST_DAYS = "294276-12-3";

/** The last day of PostgreSQL's `timestamp`. */
const LAST_DAY = "+294276-12-31";
const DAY_SECONDS = 86_400;

/** Seconds from the start of the day in UTC, rounded to microseconds as PostgreSQL does. */
function secondsOf(time: string): number {
  const [, hours, minutes, seconds, sign, zoneHours = "0", zoneMinutes = "0"] =
    /^(\d+):(\d+):([\d.]+)(?:([+-])(\d+):(\d+))?/.exec(time) ?? [];
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? 60 : -60);
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(Number(seconds).toFixed(6)) + offset;
}

function parseAddress(text: string): string | undefined {
  const [, address = "", bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family === 0 || Number(bits ?? 0) > (family === 4 ? 32 : 128) ? undefined : text;
}

function dateText(text: string, maxYear: number, time: string): string | null | undefined {
  const [whole, year = "", month = "", day = ""] = DATE.exec(text) ?? [];
  if (whole === undefined || year === "-000000" || !isDayOf(Number(year), Number(month), Number(day)))
    return undefined;
  const number = Number(year);
  if (number < MIN_YEAR || number > maxYear) return null;
  const written = String(number > 0 ? number : 1 - number).padStart(4, "0");
  return `${written}-${month}-${day}${time}${number > 0 ? "" : " BC"}`;
}

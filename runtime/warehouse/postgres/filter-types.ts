import type { Comparison } from "../../model/endpoint.js";
import {
  type FilterDate,
  type FilterNumber,
  type FilterTime,
  type FilterType,
  filterType as typeOf,
  isFloat,
} from "../filter-values.js";

const MAX_BIGINT = 2n ** 63n - 1n;

/** Null where no row can match. */
function integerBound(value: bigint, operator: Comparison): string | null {
  if (operator === "ne") return null;
  const integer = value + (operator === "gt" ? 1n : operator === "lt" ? -1n : 0n);
  const isLower = operator === "gt" || operator === "gte";
  if (integer > MAX_BIGINT) return isLower ? null : String(MAX_BIGINT);
  if (integer < -MAX_BIGINT - 1n) return isLower ? String(-MAX_BIGINT - 1n) : null;
  return String(integer);
}

/** Compared with the next integer by `>=` and `<=`: the smallest one has no integer below it to be compared with. */
export const INTEGER = typeOf("integer", {
  cast: "bigint",
  write: (value) => (value > MAX_BIGINT || value < -MAX_BIGINT - 1n ? null : String(value)),
  bound: integerBound,
});

function floats(cast: string, round: (number: number) => number, smallest: string): FilterType {
  const write = (value: FilterNumber): string | null =>
    !value.isExtreme && isFloat(value, round) ? value.text : null;
  return typeOf("number", { cast, write, bound: boundOfNumbers(smallest) });
}

const DATE_TIME = typeOf("time", { cast: "timestamptz", write: timeText, bound: boundOfTime });

/** By PostgreSQL's type name. Other types compare as text. */
const FILTER_TYPES: Readonly<Record<string, FilterType>> = {
  int2: INTEGER,
  int4: INTEGER,
  int8: INTEGER,
  numeric: typeOf("number", {
    cast: "numeric",
    write: ({ isExtreme, text }) => (isExtreme ? null : text),
    bound: boundOfNumbers("1e-1000"),
  }),
  float4: floats("real", Math.fround, "1e-45"),
  float8: floats("double precision", Number, "5e-324"),
  bool: typeOf("boolean", { cast: "boolean", write: String }),
  uuid: typeOf("uuid", { cast: "uuid", write: (text) => text }),
  date: typeOf("date", {
    cast: "date",
    write: (date) => dateText(date, MAX_YEAR.date, ""),
    bound: ({ text }) => infinity(text),
  }),
  timestamp: DATE_TIME,
  timestamptz: DATE_TIME,
  inet: typeOf("address", { cast: "inet", write: ({ text }) => text }),
};

/** Null where values compare as text. */
export function filterType(type: string): FilterType | null {
  return (Object.hasOwn(FILTER_TYPES, type) ? FILTER_TYPES[type] : null) ?? null;
}

/** A value outside the range of its type is above all others, or with a sign below them. */
function infinity(text: string): string {
  return text.startsWith("-") ? "-Infinity" : "Infinity";
}

/** A number too close to zero lies between zero and the smallest of its type, and equals neither. */
function boundOfNumbers(smallest: string) {
  return ({ text, isNegative }: FilterNumber, operator: Comparison): string => {
    if (Math.abs(Number(text)) > 1 || operator === "ne") return infinity(text);
    const isAbove = operator === "gt" || operator === "lte";
    return isAbove !== isNegative ? "0" : isNegative ? `-${smallest}` : smallest;
  };
}

/** Range of PostgreSQL's `date` and `timestamp`; the first year is 4713 BC. */
const MAX_YEAR = { date: 5_874_897, timestamp: 294_276 };
const MIN_YEAR = -4712;

function dateText({ year, monthAndDay }: FilterDate, maxYear: number, clock: string): string | null {
  if (year < MIN_YEAR || year > maxYear) return null;
  const written = String(year > 0 ? year : 1 - year).padStart(4, "0");
  return `${written}${monthAndDay}${clock}${year > 0 ? "" : " BC"}`;
}

/** Of PostgreSQL's `timestamp`: in a zone of the column's own they may lie beyond its range. */
export const LAST_DAYS = "294276-12-3";

/** The last day of PostgreSQL's `timestamp`. */
const LAST_DAY = "+294276-12-31";
const DAY_SECONDS = 86_400;

/** With the digits of microseconds: PostgreSQL rounds others. Without an offset it is in UTC, whatever the session's zone is. */
function microsecondsText({ date, clock, seconds }: FilterTime, ending = ""): string | null {
  if (date.text === LAST_DAY && seconds >= DAY_SECONDS) return null;
  const inZone = /(Z|[+-]\d\d:\d\d)$/i.test(clock) ? clock : `${clock}Z`;
  const exact = inZone.replace(/(\.\d{6})\d+/, `$1${ending}`);
  return dateText(date, MAX_YEAR.timestamp, ` ${exact}`);
}

/** A value with more digits than microseconds lies between two times of PostgreSQL, and equals neither. */
const isBetween = ({ fraction }: FilterTime): boolean => fraction.length > 6;

function timeText(time: FilterTime): string | null {
  return isBetween(time) ? null : microsecondsText(time);
}

/** Of a value between two times, the one that the operator compares with. */
function boundOfTime(time: FilterTime, operator: Comparison): string {
  const isUp = operator === "gte" || operator === "lt";
  const near = isBetween(time) && operator !== "ne" ? microsecondsText(time, isUp ? "9" : "") : null;
  return near === null || near.startsWith(LAST_DAYS) ? infinity(time.date.text) : near;
}

import type { Comparison } from "../core/model/operators.js";
import {
  type Bounds,
  decimalText,
  discrete,
  exact,
  type FilterType,
  filterType as typeOf,
  type Ticks,
} from "../core/warehouse/filter-type.js";
import type { FilterClock, FilterDate, FilterInterval, FilterTime } from "../core/warehouse/filter-values.js";

/** How dates, times and intervals are compared: as texts that PostgreSQL reads in one way, whatever the session's settings are. */

export const dateType = (cast: string): FilterType =>
  typeOf("date", {
    cast,
    write: (date) => dateText(date, MAX_YEAR.date, ""),
    bound: ({ text }) => infinity(text),
  });

export const dateTimeType = (cast: string): FilterType =>
  typeOf("date-time", { cast, write: timeText, bound: boundOfTime });

/** Of a `timestamp` in UTC: PostgreSQL would ignore the offset of a value. */
export const utcTimeType = (cast: string): FilterType =>
  typeOf("date-time", {
    cast,
    write: (time) => timeText(inUtc(time)),
    bound: (time, operator) => boundOfTime(inUtc(time), operator),
  });

export const timeType = (cast: string): FilterType =>
  typeOf("time", {
    cast,
    write: (clock) => exact(clockTicks(clock), DAY, clockText),
    bound: (clock, operator) => discrete(clockTicks(clock), operator, DAY, clockText),
    isDiscrete: true,
  });

export const zonedTimeType = (cast: string): FilterType => typeOf("time", { cast, write: zonedClock });

export function intervalType(cast: string): FilterType {
  const finite = typeOf("interval", {
    cast,
    write: (interval) => exact(intervalTicks(interval), INTERVALS, intervalText),
    bound: (interval, operator) => discrete(intervalTicks(interval), operator, INTERVALS, intervalText),
    isDiscrete: true,
  });
  return {
    ...finite,
    read: (text) =>
      INFINITE.test(text)
        ? { written: text, bound: (operator) => boundOfInfinity(text, operator) }
        : finite.read(text),
  };
}

/** Intervals of PostgreSQL 17 and later, which responses show as these texts. */
export const INFINITE = /^[+-]?infinity$/i;

/** Beside an infinite interval lie the finite ones. */
function boundOfInfinity(text: string, operator: Comparison): string | null {
  if (operator === "gte" || operator === "lte") return text;
  const isBelow = text.startsWith("-");
  if (operator === "gt") return isBelow ? intervalText(INTERVALS[0]) : null;
  return operator === "lt" && !isBelow ? intervalText(INTERVALS[1]) : null;
}

/** A value outside the range of its type is above all others, or with a sign below them. */
export function infinity(text: string): string {
  return text.startsWith("-") ? "-Infinity" : "Infinity";
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

/** With the digits of microseconds: PostgreSQL rounds others. */
function microsecondsText({ date, clock, seconds }: FilterTime, ending = ""): string | null {
  if (date.text === LAST_DAY && seconds >= DAY_SECONDS) return null;
  const rounded = clock.replace(/(\.\d{6})\d+/, `$1${ending}`);
  return dateText(date, MAX_YEAR.timestamp, ` ${rounded}`);
}

/** A value with more digits than microseconds lies between two times of PostgreSQL, and equals neither. */
const isBetween = ({ fraction }: FilterTime): boolean => fraction.length > 6;

function timeText(time: FilterTime): string | null {
  return isBetween(time) ? null : microsecondsText(time);
}

/** The Gregorian calendar repeats after so many years: `Date` has fewer years than PostgreSQL. */
const CYCLE = 400;

function inUtc(time: FilterTime): FilterTime {
  const days = Math.floor(time.seconds / DAY_SECONDS);
  const seconds = time.seconds - days * DAY_SECONDS;
  const clock = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) =>
    String(Math.trunc(part)).padStart(2, "0"),
  );
  const fraction = time.fraction === "" ? "" : `.${time.fraction}`;
  return { ...time, date: daysAfter(time.date, days), seconds, clock: `${clock.join(":")}${fraction}Z` };
}

function daysAfter(date: FilterDate, days: number): FilterDate {
  if (days === 0) return date;
  const cycles = Math.floor(date.year / CYCLE) - 5;
  const [, month = 1, day = 1] = date.monthAndDay.split("-").map(Number);
  const shifted = new Date(Date.UTC(date.year - cycles * CYCLE, month - 1, day + days));
  const year = shifted.getUTCFullYear() + cycles * CYCLE;
  const monthAndDay = shifted.toISOString().slice(4, 10);
  const isPlain = year >= 0 && year <= 9999;
  const digits = String(Math.abs(year)).padStart(isPlain ? 4 : 6, "0");
  return { text: `${isPlain ? "" : year < 0 ? "-" : "+"}${digits}${monthAndDay}`, year, monthAndDay };
}

/** Of a value between two times, the one that the operator compares with. */
function boundOfTime(time: FilterTime, operator: Comparison): string {
  const isUp = operator === "gte" || operator === "lt";
  const near = isBetween(time) && operator !== "ne" ? microsecondsText(time, isUp ? "9" : "") : null;
  return near === null || near.startsWith(LAST_DAYS) ? infinity(time.date.text) : near;
}

const SECOND = 1_000_000n;
/** PostgreSQL's day ends with 24:00:00. */
const DAY: Bounds = [0n, 86_400n * SECOND];

function clockTicks({ seconds, fraction, isNegative }: FilterClock): Ticks {
  const ticks = BigInt(seconds) * SECOND + BigInt(fraction.padEnd(6, "0").slice(0, 6));
  return { ticks: isNegative ? -ticks : ticks, isExact: fraction.length <= 6 };
}

function clockText(ticks: bigint): string {
  const [hours, minutes] = [ticks / (3600n * SECOND), (ticks / (60n * SECOND)) % 60n].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `${hours ?? ""}:${minutes ?? ""}:${decimalText(ticks % (60n * SECOND), 6).padStart(9, "0")}`;
}

/** Zones of PostgreSQL are below 16 hours. Of two equal times it sorts the eastern zone first; without a zone it is UTC. */
function zonedClock(clock: FilterClock): string | null {
  const { offset } = clock;
  const time = exact(clockTicks(clock), DAY, clockText);
  const east = Math.abs(offset ?? 0);
  if (time === null || east >= 16 * 3600) return null;
  const parts = [east / 3600, (east / 60) % 60, east % 60].map((part) =>
    String(Math.trunc(part)).padStart(2, "0"),
  );
  return `${time}${(offset ?? 0) < 0 ? "-" : "+"}${parts.join(":")}`;
}

/** PostgreSQL compares intervals with months of 30 days. */
const INTERVAL_DAY = 86_400n * SECOND;
const MONTH = 30n * INTERVAL_DAY;
/** Months and days have 32 bits each. */
const MAX_PART = 2n ** 31n - 1n;
const MAX_INTERVAL = MAX_PART * MONTH + (MAX_PART + 1n) * INTERVAL_DAY - 1n;
const INTERVALS: Bounds = [-MAX_INTERVAL, MAX_INTERVAL];

function intervalTicks({ months, days, microseconds, isExact }: FilterInterval): Ticks {
  const ticks = months * MONTH + days * INTERVAL_DAY + microseconds;
  return { ticks: isExact || ticks >= 0n ? ticks : ticks - 1n, isExact };
}

/** ISO 8601, which no setting reads in another way. */
function intervalText(ticks: bigint): string {
  const whole = ticks / MONTH;
  const months = whole > MAX_PART ? MAX_PART : whole < -MAX_PART ? -MAX_PART : whole;
  const rest = ticks - months * MONTH;
  const seconds = decimalText(rest % INTERVAL_DAY, 6);
  return `P${String(months)}M${String(rest / INTERVAL_DAY)}DT${seconds}S`;
}

import { compareGrains, type Period } from "../core/model/aggregate/grains.js";
import type { AskedGroup } from "../core/model/aggregate/aggregate.js";

const DAY_MS = 86_400_000;

interface Days {
  readonly start: string;
  readonly end: string;
}

/** A period of days, and how much earlier it is than another. */
export interface EarlierPeriod extends Days {
  readonly shift: Period;
}

/**
 * The period with which days are compared. Whole months have as many months before them, other days as many days. A year before the
 * 29th of February is the 28th, and the end of a month stays its end. Null: there are no such days.
 */
export function earlierPeriod(days: Days, by: "previous_period" | "previous_year"): EarlierPeriod | null {
  const [start, end] = [dateOf(days.start), dateOf(days.end)];
  const length = (end.getTime() - start.getTime()) / DAY_MS + 1;
  if (length < 1) return null;
  const months = wholeMonths(start, end);
  const count = by === "previous_year" ? 12 : months;
  if (count === 0)
    return period({ count: length, grain: "day" }, daysEarlier(start, length), daysEarlier(start, 1));
  const last =
    months === 0 ? monthsEarlier(end, count) : daysEarlier(monthsEarlier(daysEarlier(end, -1), count), 1);
  return period({ count, grain: "month" }, monthsEarlier(start, count), last);
}

/** Whether each period of a group has one before it that is so much earlier. */
export function hasEarlier({ grain }: AskedGroup, { count, grain: unit }: Period): boolean {
  if (grain === undefined) return false;
  if (compareGrains(grain, "day") <= 0) return true;
  if (grain === "week") return unit === "day" && count % 7 === 0;
  const months = { month: 1, quarter: 3, year: 12 }[grain as "month" | "quarter" | "year"];
  return unit === "month" && count % months === 0;
}

function period(shift: Period, start: Date, end: Date): EarlierPeriod | null {
  return start.getUTCFullYear() < 1 ? null : { shift, start: textOf(start), end: textOf(end) };
}

const dateOf = (text: string): Date => new Date(`${text}T00:00:00Z`);
const textOf = (date: Date): string => date.toISOString().slice(0, 10);
const daysEarlier = (date: Date, days: number): Date => new Date(date.getTime() - days * DAY_MS);

/** The months that days are from the first to the last; 0 where they begin or end within one. */
function wholeMonths(start: Date, end: Date): number {
  const after = daysEarlier(end, -1);
  if (start.getUTCDate() !== 1 || after.getUTCDate() !== 1) return 0;
  return 12 * (after.getUTCFullYear() - start.getUTCFullYear()) + after.getUTCMonth() - start.getUTCMonth();
}

/** The same day of an earlier month, or its last. */
function monthsEarlier(date: Date, months: number): Date {
  const earlier = new Date(date);
  earlier.setUTCDate(1);
  earlier.setUTCMonth(earlier.getUTCMonth() - months);
  const last = new Date(earlier);
  last.setUTCMonth(last.getUTCMonth() + 1, 0);
  earlier.setUTCDate(Math.min(date.getUTCDate(), last.getUTCDate()));
  return earlier;
}

import type { Condition } from "../core/model/query.js";
import { dayAfter } from "../core/warehouse/condition-sql.js";
import { type Compared, compares, either, group, isAny, on } from "./comparisons.js";
import type { Order, FilterSubject } from "./expression.js";

type PartName = NonNullable<FilterSubject["part"]>;

/** A condition on a part of a date or a time in UTC: one on the column itself where it can be, so that an index serves it. */
export function isInParts(
  column: Compared,
  part: PartName,
  sign: Order,
  texts: readonly string[],
): Condition {
  switch (part) {
    case "year":
      return inRanges(column, sign, texts.map(yearOf));
    case "date":
      return column.type === "date" ? inDays(column, sign, texts) : inRanges(column, sign, texts.map(dayOf));
    case "month":
    case "day": {
      const numbers = Array.from({ length: part === "month" ? 12 : 31 }, (_, i) => i + 1);
      const wanted = numbers.filter((number) => texts.some((text) => holds(number, sign, Number(text))));
      return wanted.length === 0
        ? group("or")
        : on(column, { operator: part, type: "value", value: wanted.map(String) });
    }
  }
}

function holds(left: number, sign: Order, right: number): boolean {
  switch (sign) {
    case "eq":
      return left === right;
    case "gt":
      return left > right;
    case "ge":
      return left >= right;
    case "lt":
      return left < right;
    case "le":
      return left <= right;
  }
}

/** Days from the first one to the one before `end`. */
interface Days {
  readonly begin: string;
  readonly end: string;
}

const dayOf = (day: string): Days => ({ begin: day, end: dayAfter(day) });

/** No type has years beyond it; a date of six digits is one with a sign. */
const MAX_YEAR = 9_999_998;

function yearOf(text: string): Days {
  const year = Math.max(-MAX_YEAR, Math.min(MAX_YEAR, Number(text)));
  return { begin: `${yearText(year)}-01-01`, end: `${yearText(year + 1)}-01-01` };
}

function yearText(year: number): string {
  const digits = String(Math.abs(year));
  if (year >= 0 && year <= 9999) return digits.padStart(4, "0");
  return `${year < 0 ? "-" : "+"}${digits.padStart(6, "0")}`;
}

function inDays(column: Compared, sign: Order, days: readonly string[]): Condition {
  return sign === "eq" ? isAny(column, days) : compares(column, sign, days[0] ?? "");
}

function inRanges(column: Compared, sign: Order, ranges: readonly Days[]): Condition {
  const start = (day: string): string => (column.type === "date" ? day : `${day}T00:00:00Z`);
  const inRange = ({ begin, end }: Days): Condition => {
    const [from, to] = [start(begin), start(end)];
    switch (sign) {
      case "gt":
      case "ge":
        return compares(column, "ge", sign === "gt" ? to : from);
      case "lt":
      case "le":
        return compares(column, "lt", sign === "lt" ? from : to);
      case "eq":
        return group("and", compares(column, "ge", from), compares(column, "lt", to));
    }
  };
  return either(ranges.map(inRange));
}

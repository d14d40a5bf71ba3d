import { type FilterType, filterType as typeOf } from "../core/warehouse/filter-type.js";
import { type FilterRange, type FilterTime, PARSERS } from "../core/warehouse/filter-values.js";

/** A range, or several, of values that a filter compares by `bound`. Null where PostgreSQL has no such range. */
export function rangeType(cast: string, bound: FilterType): FilterType {
  const isMultirange = cast.endsWith("multirange");
  return typeOf("range", {
    cast,
    write(ranges) {
      const texts = ranges.map((range) => rangeText(range, bound));
      if (texts.includes(undefined) || (!isMultirange && texts.length !== 1)) return undefined;
      if (texts.includes(null)) return null;
      return isMultirange ? `{${texts.join(",")}}` : (texts[0] ?? null);
    },
  });
}

/** Undefined: a bound is not of its type. */
function rangeText({ brackets, lower, upper }: FilterRange, bound: FilterType): string | null | undefined {
  if (brackets === "") return "empty";
  return writtenRange(brackets, plain(lower), plain(upper), bound);
}

function writtenRange(
  brackets: string,
  lower: string | null,
  upper: string | null,
  bound: FilterType,
): string | null | undefined {
  const [from, to] = [lower, upper].map((text) =>
    text === null ? "" : rankOf(text, bound) === 0 ? bound.read(text)?.written : text,
  );
  if (from === undefined || to === undefined) return undefined;
  if (from === null || to === null) return null;
  const isWhole = bound.kind === "integer" || bound.kind === "date";
  // PostgreSQL begins a range of whole numbers or days with its first one and ends it before the next after its last one.
  if (
    isWhole &&
    (isLast(lower, bound, brackets.startsWith("(")) || isLast(upper, bound, brackets.endsWith("]")))
  )
    return null;
  if (lower !== null && upper !== null && isAbove(lower, upper, bound)) return null;
  return `${brackets.slice(0, 1)}${quoted(from)},${quoted(to)}${brackets.slice(1)}`;
}

const quoted = (text: string): string => (text === "" ? "" : `"${text}"`);

/** A day as filters read it: PostgreSQL prints years before 1 with `BC`, and those after 9999 without a sign. */
function plain(text: string | null): string | null {
  const [, year = "", rest = "", era] = /^(\d{4,7})(-\d\d-\d\d.*?)( BC)?$/.exec(text ?? "") ?? [];
  if (year === "" || (year.length === 4 && era === undefined)) return text;
  const digits = String(era === undefined ? Number(year) : Number(year) - 1).padStart(6, "0");
  const isFirst = Number(digits) === 0;
  return isFirst ? `0000${rest}` : `${era === undefined ? "+" : "-"}${digits}${rest}`;
}

/** 0 for a finite bound; the others are below all or above them, NaN last. */
function rankOf(text: string, { kind }: FilterType): number {
  if (kind === "number" && /^nan$/i.test(text)) return 2;
  if (kind !== "number" && kind !== "date" && kind !== "date-time") return 0;
  const [, sign] = /^([+-]?)infinity$/i.exec(text) ?? [];
  return sign === undefined ? 0 : sign === "-" ? -1 : 1;
}

/** Whether no value is after the bound, where PostgreSQL needs the next one. */
function isLast(text: string | null, bound: FilterType, needsNext: boolean): boolean {
  if (text === null || !needsNext || rankOf(text, bound) !== 0) return false;
  return bound.kind === "date" ? text === LAST_DAY : (bound.read(text)?.bound("gt") ?? null) === null;
}

const LAST_DAY = "+5874897-12-31";

/** Whether the first is above the second, which is an error in PostgreSQL. */
function isAbove(lower: string, upper: string, bound: FilterType): boolean {
  const [from, to] = [rankOf(lower, bound), rankOf(upper, bound)];
  if (from !== 0 || to !== 0) return from > to;
  switch (bound.kind) {
    case "integer":
      return BigInt(lower) > BigInt(upper);
    case "number":
      return scaled(lower, upper) > scaled(upper, lower);
    case "date":
      return dayNumber(lower) > dayNumber(upper);
    default: {
      const [from, to] = [PARSERS["date-time"](lower), PARSERS["date-time"](upper)];
      return from !== undefined && to !== undefined && microseconds(from) > microseconds(to);
    }
  }
}

/** In units of the smaller digit of both. */
function scaled(text: string, other: string): bigint {
  const [number, second] = [PARSERS.number(text), PARSERS.number(other)];
  if (number === undefined || second === undefined) return 0n;
  const scale = Math.max(number.scale, second.scale, 0);
  const units = number.digits * 10n ** BigInt(scale - number.scale);
  return number.isNegative ? -units : units;
}

/** Grows with the days; not by one. */
function dayNumber(text: string): number {
  const date = PARSERS.date(text);
  const [, month = 0, day = 0] = (date?.monthAndDay ?? "").split("-").map(Number);
  return (date?.year ?? 0) * 400 + month * 32 + day;
}

function microseconds({ date, seconds, fraction }: FilterTime): bigint {
  const [, month = 1, day = 1] = date.monthAndDay.split("-").map(Number);
  const cycles = Math.floor(date.year / 400);
  const days = Date.UTC(2000 + date.year - cycles * 400, month - 1, day) / 86_400_000 + cycles * 146_097;
  return BigInt(days * 86_400 + seconds) * 1_000_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}

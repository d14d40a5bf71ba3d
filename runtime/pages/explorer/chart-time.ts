import { type ShownRow, textOf } from "./values.js";

/** Periods that irregular instants are put together by. */
export type AxisPeriod = "hour" | "day" | "week" | "month";

const LENGTHS: readonly (readonly [AxisPeriod, number])[] = [
  ["hour", 3_600_000],
  ["day", 86_400_000],
  ["week", 7 * 86_400_000],
  ["month", 30 * 86_400_000],
];

/** Points that a line of events has at most. */
const MAX_POINTS = 120;

/** Milliseconds of a value; a year or a month is its first day. Times without a zone are UTC, as the service means them. */
export function instantOf(value: unknown): number {
  const text = textOf(value);
  if (/^\d{4}$/.test(text)) return Date.UTC(Number(text), 0, 1);
  if (/^\d{4}-\d\d-\d\d[ T]/.test(text) && !/(Z|[+-]\d\d(:?\d\d)?)$/.test(text))
    return Date.parse(`${text.replace(" ", "T")}Z`);
  // PostgreSQL writes `+00` where others write `+00:00`.
  return Date.parse(text.replace(/(:\d\d[\d.]*[+-]\d\d)$/, "$1:00"));
}

/** The period by which instants at irregular distances are counted; null where the rows are periods already. */
export function grainOf(column: string, rows: readonly ShownRow[]): AxisPeriod | null {
  const instants = [...new Set(rows.map((row) => instantOf(row[column] ?? null)))]
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const steps = new Set(instants.slice(1).map((instant, i) => instant - (instants[i] ?? 0)));
  const isWhole = instants.every((instant) => instant % 3_600_000 === 0);
  if (instants.length < 60 || isWhole || steps.size <= 0.2 * instants.length) return null;
  return grainOfSpan(instants);
}

/** The finest period of which a line of events has few enough points. */
export function grainOfSpan(instants: readonly number[]): AxisPeriod {
  const [first, last] = instants.reduce(
    ([least, most], each) => [Math.min(least, each), Math.max(most, each)],
    [Infinity, -Infinity],
  );
  return LENGTHS.find(([, length]) => (last - first) / length <= MAX_POINTS)?.[0] ?? "month";
}

/** The next coarser period; null where there is none. */
export function coarserGrain(grain: AxisPeriod | null): AxisPeriod | null {
  const i = LENGTHS.findIndex(([each]) => each === grain);
  return LENGTHS[grain === null ? 1 : i + 1]?.[0] ?? null;
}

/** The beginning of the period that an instant is in. Weeks begin on Mondays. */
export function startOf(instant: number, grain: AxisPeriod): number {
  const date = new Date(instant);
  if (grain === "hour") return date.setUTCMinutes(0, 0, 0);
  date.setUTCHours(0, 0, 0, 0);
  if (grain === "week") date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  if (grain === "month") date.setUTCDate(1);
  return date.getTime();
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Short labels of the ticks of a time axis: a new year or day is named once. */
export function tickLabels(ticks: readonly number[]): readonly string[] {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  const two = (number: number): string => String(number).padStart(2, "0");
  return ticks.map((tick, i) => {
    const date = new Date(tick);
    const before = i === 0 ? null : new Date(ticks[i - 1] ?? 0);
    const year = date.getUTCFullYear();
    const isNewYear = before?.getUTCFullYear() !== year;
    const month = MONTHS[date.getUTCMonth()] ?? "";
    const day = `${String(date.getUTCDate())} ${month}`;
    if (step >= 300 * 86_400_000) return String(year);
    if (step >= 27 * 86_400_000) return isNewYear ? `${month} ${String(year)}` : month;
    if (step >= 86_400_000) return isNewYear ? `${day} ${String(year)}` : day;
    const isNewDay = before?.getUTCDate() !== date.getUTCDate();
    const clock = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
    return isNewDay ? `${day} ${clock}` : clock;
  });
}

/** Values of numbers and dates, put together in their order, so that each bar is a range that a click selects. */
import type { FoundValues } from "./api-request.js";
import { shortNumber, textOf } from "./values.js";

/** Values from `from`, and less than `below`; up to `to` where it is the last. */
export interface FacetBar {
  readonly label: string;
  readonly rows: number;
  readonly from: string;
  readonly below: string | null;
  readonly to: string | null;
}

/** Bars beside each other: more are too narrow for a finger. */
const MAX_BARS = 12;

type Counted = readonly { readonly text: string; readonly rows: number }[];

/** The bars of a column; null where its values are few, or have no numbers of rows. */
export function barsOf(kind: "number" | "time", { values }: FoundValues): readonly FacetBar[] | null {
  const counted = values.flatMap(({ value, rows }) =>
    value === null || rows === undefined ? [] : [{ text: textOf(value), rows }],
  );
  if (counted.length <= MAX_BARS) return null;
  return kind === "time" ? periodsOf(counted) : rangesOf(counted);
}

function rangesOf(counted: Counted): readonly FacetBar[] | null {
  const numbers = counted.map(({ text }) => Number(text));
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const step = niceStep((most - least) / MAX_BARS);
  const first = Math.floor(least / step);
  const last = Math.floor(most / step);
  // Beyond exact numbers no step tells them apart.
  if (!Number.isFinite(step) || step <= 0 || last - first > 2 * MAX_BARS) return null;
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const [from, below] = [first + i, first + i + 1].map((index) => rounded(index * step));
    const rows = sum(counted.filter(({ text }) => Math.floor(Number(text) / step) === first + i));
    const label = `${short(from ?? 0)} to ${short(below ?? 0)}`;
    return { label, rows, from: plain(from ?? 0), below: plain(below ?? 0), to: null };
  });
}

/** The least of 1, 2 and 5 times a power of ten that is not less. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return rounded((([1, 2, 5] as const).find((each) => each * power >= least) ?? 10) * power);
}

const rounded = (value: number): number => Number(value.toPrecision(12));

const short = (value: number): string => shortNumber(value, { maximumSignificantDigits: 4 });

/** Without an exponent. */
const plain = (value: number): string =>
  value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });

/** Characters of a year, a month, a day and an hour of ISO 8601. */
const LENGTHS = [13, 10, 7, 4] as const;

/** The shortest periods of which there are few enough; only those with rows. */
function periodsOf(counted: Counted): readonly FacetBar[] | null {
  if (!counted.every(({ text }) => /^\d{4}-\d\d-\d\d/.test(text))) return null;
  const isTimed = counted.some(({ text }) => text.length > 10);
  for (const length of isTimed ? LENGTHS : LENGTHS.slice(1)) {
    const names = new Set(counted.map(({ text }) => text.slice(0, length)));
    if (names.size > MAX_BARS) continue;
    return [...names].sort().map((name) => periodBar(name, isTimed, counted));
  }
  return null;
}

function periodBar(name: string, isTimed: boolean, counted: Counted): FacetBar {
  const begin = new Date(`${name}${"0000-01-01T00:00".slice(name.length)}:00Z`);
  const end = new Date(begin);
  if (name.length === 4) end.setUTCFullYear(end.getUTCFullYear() + 1);
  else if (name.length === 7) end.setUTCMonth(end.getUTCMonth() + 1);
  else end.setTime(end.getTime() + (name.length === 10 ? 24 : 1) * 3_600_000);
  const last = new Date(end.getTime() - (isTimed ? 1 : 86_400_000));
  const rows = sum(counted.filter(({ text }) => text.startsWith(name)));
  const text = (time: Date): string => (isTimed ? time.toISOString().replace(".000", "") : day(time));
  const label = name.replace("T", " ") + (name.length === 13 ? ":00" : "");
  // No date is written with five digits of its year.
  const isLast = end.getUTCFullYear() > 9999;
  return {
    ...{ label, rows, from: text(begin), below: isLast ? null : text(end) },
    to: isLast || !isTimed ? text(last) : null,
  };
}

const day = (time: Date): string => time.toISOString().slice(0, 10);

const sum = (counted: Counted): number => counted.reduce((total, { rows }) => total + rows, 0);

import type { AxisPlan } from "./chart-choice.js";
import { instantOf, startOf } from "./chart-time.js";
import { type ShownRow, textOf } from "./values.js";

/** Series that are drawn by themselves; the rest is one more. */
const MAX_SERIES = 8;

/** Bars of a category that are drawn by themselves. */
export const MAX_BARS = 30;

/** A line, or the bars of one colour. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** Whether it is the sum of those that have no series of their own. */
  readonly isOther: boolean;
}

export interface Pivoted {
  /** Milliseconds of times, else positions. */
  readonly x: readonly number[];
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  /** Values that `other` is the sum of. */
  readonly others: number;
  /** Values that are not drawn. */
  readonly leftOut: number;
}

type Points = Map<string, number[][]>;

/** Converts rows to one list of values per series. */
export function pivot(plan: AxisPlan): Pivoted {
  const { x, measures, series, rows, aggregate } = plan;
  const present = rows.filter((row) => row[x] !== null && row[x] !== undefined);
  const keyOf = (row: ShownRow): string => keyIn(plan, row);
  const keys = keysOf(plan, present);
  const at = new Map(keys.map((key, i) => [key, i]));
  const points: Points = new Map();
  for (const row of present) {
    const split = series === null ? null : row[series] === null ? "(none)" : textOf(row[series]);
    for (const measure of measures) {
      const name = split ?? measure;
      const line = points.get(name) ?? keys.map(() => []);
      points.set(name, line);
      const value = row[measure];
      if (value !== null && value !== undefined) line[at.get(keyOf(row)) ?? 0]?.push(Number(value));
    }
  }
  const all = [...points].map(([name, groups]) => ({
    name,
    values: groups.map((group) => aggregated(group, aggregate)),
    isOther: false,
  }));
  // Measures stay in their order, values of a column come by size.
  if (series !== null) all.sort((a, b) => magnitude(b.values) - magnitude(a.values));
  const { kept, rest } = withOther(all, aggregate);
  const xs = plan.xKind === "time" ? keys.map((key) => instantOf(key)) : keys.map((_, i) => i);
  const others = kept.some(({ isOther }) => isOther) ? rest : 0;
  const data = { x: xs, labels: keys, series: kept, others, leftOut: rest - others };
  return plan.xKind === "category" ? largestBars(data, aggregate) : data;
}

/** The point of the axis that a row belongs to. */
export function keyIn({ x, grain }: AxisPlan, row: ShownRow): string {
  const text = textOf(row[x]);
  if (grain === null) return text;
  const start = new Date(startOf(instantOf(row[x]), grain)).toISOString();
  return grain === "hour" ? start.slice(0, 16).replace("T", " ") : start.slice(0, 10);
}

/** The points of the axis, in order. */
function keysOf(plan: AxisPlan, rows: readonly ShownRow[]): readonly string[] {
  const { x, xKind } = plan;
  const keys = [...new Set(rows.map((row) => keyIn(plan, row)))];
  if (xKind === "time") return keys.sort((a, b) => instantOf(a) - instantOf(b));
  if (xKind === "category") return keys;
  const companion = `${x}_order`;
  const order = new Map(rows.map((row) => [keyIn(plan, row), Number(row[companion] ?? NaN)]));
  if ([...order.values()].every(Number.isFinite))
    return keys.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
  return keys.every((key) => key !== "" && Number.isFinite(Number(key)))
    ? keys.sort((a, b) => Number(a) - Number(b))
    : keys;
}

/** The largest series, and the sum of the others. Where they have no sum they are left out. */
function withOther(all: readonly Series[], aggregate: AxisPlan["aggregate"]) {
  const rest = Math.max(0, all.length - MAX_SERIES);
  const kept = all.slice(0, MAX_SERIES);
  if (rest === 0 || aggregate !== "sum") return { kept, rest };
  const values = (all[0]?.values ?? []).map((_, i) =>
    sumOf(all.slice(MAX_SERIES).map((each) => each.values[i] ?? null)),
  );
  return { kept: [...kept, { name: "other", values, isOther: true }], rest };
}

/** Bars from the largest to the smallest, and the sum of those that would be too many. */
function largestBars(data: Pivoted, aggregate: AxisPlan["aggregate"]): Pivoted {
  const sizes = data.labels.map((_, i) => sumOf(data.series.map(({ values }) => values[i] ?? null)) ?? 0);
  const order = sizes.map((_, i) => i).sort((a, b) => Math.abs(sizes[b] ?? 0) - Math.abs(sizes[a] ?? 0));
  const [kept, rest] = [order.slice(0, MAX_BARS), order.slice(MAX_BARS)];
  const hasOther = rest.length > 0 && aggregate === "sum";
  const picked = (values: Series["values"]): (number | null)[] => [
    ...kept.map((i) => values[i] ?? null),
    ...(hasOther ? [sumOf(rest.map((i) => values[i] ?? null))] : []),
  ];
  return {
    x: [...kept, ...(hasOther ? [0] : [])].map((_, i) => i),
    labels: [
      ...kept.map((i) => data.labels[i] ?? ""),
      ...(hasOther ? [`other (${String(rest.length)})`] : []),
    ],
    series: data.series.map((each) => ({ ...each, values: picked(each.values) })),
    others: data.others + (hasOther ? rest.length : 0),
    leftOut: data.leftOut + (hasOther ? 0 : rest.length),
  };
}

function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

function aggregated(values: readonly number[], aggregate: AxisPlan["aggregate"]): number | null {
  const sum = sumOf(values);
  return sum === null || aggregate === "sum" ? sum : sum / values.length;
}

function magnitude(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + Math.abs(value ?? 0), 0);
}

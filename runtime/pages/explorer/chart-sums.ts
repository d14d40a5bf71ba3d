import { isFilterName } from "../../core/model/column-operators.js";
import { fetchPoints, type FoundPoints, ServiceError } from "./api.js";
import { type ApiRequest, type Parameters } from "./api-request.js";
import { type AxisPlan, isTotal } from "./chart-choice.js";
import { keyIn, MAX_BARS } from "./chart-data.js";
import { partOf, type PartPlan } from "./chart-part.js";
import { ChartReader, type ReadProgress } from "./chart-rows.js";
import { GROUP_OPTIONS } from "./asked-groups.js";
import { coarserGrain, grainOf, grainOfSpan, instantOf } from "./chart-time.js";
import { type ShownRow, textOf } from "./values.js";

/**
 * The plan with sums over all rows, which the service makes; null where it makes none: there are too many points, or one of its
 * columns has no sums.
 */
export async function addedUp(
  { endpoint, parameters }: ApiRequest,
  plan: AxisPlan,
  signal: AbortSignal,
): Promise<PartPlan | null> {
  const others = Object.fromEntries(Object.entries(parameters).filter(([name]) => isFilterName(name)));
  const order = `${plan.x}_order`;
  const companion = endpoint.columns.some(({ name }) => name === order) ? [order] : [];
  const totalled = plan.totals.map(({ column }) => column);
  const named = [plan.series, plan.only?.column, ...totalled, ...companion];
  const by = [...new Set(named.flatMap((name) => name ?? []))].filter((name) => name !== plan.x);
  const asked = { x: plan.x, y: plan.measures, by };
  if ([plan.x, ...plan.measures, ...by].some((name) => name.includes(","))) return null;
  const found = await pointsOf(endpoint.path, { plan, asked, others, signal });
  if (found === null) return null;
  const points = found.points.map((point) => rowOf(point, asked)).filter((row) => isDrawn(row, plan));
  const whole = withGrain({ ...plan, grain: found.grain }, points);
  const rows = combined(whole, points);
  const isAggregated =
    points.some(({ counts }) => counts.some((each) => each > 1)) || rows.length < points.length;
  const drawn = { ...whole, rows, isAggregated };
  if (!found.more) return { plan: drawn, notes: [] };
  // The largest come first: these are the largest of all.
  if (plan.xKind !== "category" || plan.aggregate !== "sum" || by.length > 0) return null;
  const top = rows.filter((row) => Number(row[plan.measures[0] ?? ""] ?? NaN) >= 0).slice(0, MAX_BARS);
  return {
    plan: { ...drawn, rows: top },
    notes: [`Only the ${String(top.length)} largest of more are drawn.`],
  };
}

interface AskedPoints {
  readonly plan: AxisPlan;
  readonly asked: { readonly x: string; readonly y: readonly string[]; readonly by: readonly string[] };
  readonly others: Parameters;
  readonly signal: AbortSignal;
}

/** The points by the finest period of which there are not too many. */
async function pointsOf(path: string, { plan, asked, others, signal }: AskedPoints) {
  for (let { grain } = plan; ;) {
    let found: FoundPoints;
    try {
      found = await fetchPoints(path, { ...asked, grain }, others, signal);
    } catch (error) {
      // A column that has no sums, or is not for this caller: a chart of the rows themselves may do.
      if (error instanceof ServiceError && error.status === 400) return null;
      throw error;
    }
    if (!found.more || plan.xKind !== "time") return { ...found, grain };
    const next = coarserGrain(grain);
    if (next === null) return null;
    grain = next;
  }
}

/** A point as a row of its columns, whose numbers are sums, and the number of values of each sum. */
interface PointRow {
  readonly row: ShownRow;
  readonly sums: readonly (number | null)[];
  readonly counts: readonly number[];
}

function rowOf({ x, by, sum, count }: FoundPoints["points"][number], asked: AskedPoints["asked"]): PointRow {
  const columns = [[asked.x, x] as const, ...asked.by.map((name, i) => [name, by[i] ?? null] as const)];
  return {
    row: Object.fromEntries(columns),
    sums: sum.map((each) => (each === null ? null : Number(each))),
    counts: count,
  };
}

function isDrawn({ row }: PointRow, { only, totals }: AxisPlan): boolean {
  return (
    (only === null || textOf(row[only.column] ?? null) === only.value) &&
    !totals.some(({ column }) => isTotal(row, column))
  );
}

/** The plan with the period that all points need, where times are put together. */
function withGrain(plan: AxisPlan, points: readonly PointRow[]): AxisPlan {
  if (plan.xKind !== "time") return plan;
  const rows = points.map(({ row }) => row);
  if (plan.grain === null) return { ...plan, grain: grainOf(plan.x, rows) };
  const instants = rows.map((row) => instantOf(row[plan.x] ?? null)).filter(Number.isFinite);
  const needed = grainOfSpan(instants);
  const periods = ["hour", "day", "week", "month"] as const;
  return periods.indexOf(needed) > periods.indexOf(plan.grain) ? { ...plan, grain: needed } : plan;
}

/** One row for each point of the picture: the sum, or the average of all values. */
function combined(plan: AxisPlan, points: readonly PointRow[]): readonly ShownRow[] {
  const places = new Map<string, { row: ShownRow; sums: (number | null)[]; counts: number[] }>();
  for (const { row, sums, counts } of points) {
    const isNull = row[plan.x] === null || row[plan.x] === undefined;
    const series = plan.series === null ? null : textOf(row[plan.series] ?? null);
    const key = JSON.stringify([isNull ? null : keyIn(plan, row), series]);
    const place = places.get(key) ?? { row, sums: sums.map(() => null), counts: sums.map(() => 0) };
    places.set(key, place);
    sums.forEach((sum, i) => {
      if (sum === null) return;
      place.sums[i] = (place.sums[i] ?? 0) + sum;
      place.counts[i] = (place.counts[i] ?? 0) + (counts[i] ?? 0);
    });
  }
  return [...places.values()].map(({ row, sums, counts }) => {
    const valueOf = (i: number): number | null => {
      const sum = sums[i] ?? null;
      return sum === null || plan.aggregate !== "average" ? sum : sum / (counts[i] ?? 1);
    };
    return { ...row, ...Object.fromEntries(plan.measures.map((name, i) => [name, valueOf(i)])) };
  });
}

/**
 * The plan of groups by what is drawn alone: measures of several groups have no sum, and the endpoint makes those of fewer groups. Null
 * where it does not.
 */
export async function groupedAgain(
  { endpoint, parameters }: ApiRequest,
  plan: AxisPlan,
  reading: ReadProgress,
): Promise<PartPlan | null> {
  const { aggregate } = endpoint;
  if (aggregate === undefined || aggregate.is_saved || plan.grain !== null) return null;
  // Its groups are chosen among those that are asked.
  if (Object.hasOwn(parameters, "top")) return null;
  const groups = [plan.x, plan.series, plan.only?.column].flatMap((name) => name ?? []);
  const others = Object.entries(parameters).filter(
    ([name]) => isFilterName(name) && !GROUP_OPTIONS.includes(name),
  );
  const asked: Parameters = {
    ...Object.fromEntries(others),
    group_by: [[...new Set(groups)].join(",")],
    [aggregate.of]: [plan.measures.join(",")],
  };
  const all = await new ChartReader({ endpoint, parameters: asked }, null).read(() => false, reading);
  const { only } = plan;
  const rows = all.rows.filter((row) => only === null || textOf(row[only.column] ?? null) === only.value);
  return partOf({ ...plan, rows, isAggregated: false }, all);
}

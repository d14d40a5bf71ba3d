import type { AxisPlan, ChartPlan } from "./chart-choice.js";
import { keyIn } from "./chart-data.js";
import type { ChartRows } from "./chart-rows.js";
import { count } from "./values.js";

/** What may be drawn of rows that are not all: the plan, and what the picture says of it. */
export interface PartPlan {
  readonly plan: ChartPlan;
  readonly notes: readonly string[];
}

/**
 * The part of a plan that is true while there are more rows: of rows in the order of time each point but the last one, whose
 * rows may go on; else values that are not added up. Null where nothing is: sums and the largest of some rows are not those of
 * all.
 */
export function partOf(plan: ChartPlan, { rows, hasMore, sort }: ChartRows): PartPlan | null {
  // Measures of groups have no sum.
  if (plan.kind !== "figures" && plan.isAggregated && plan.aggregate === "none") return null;
  if (!hasMore) return { plan, notes: [] };
  if (plan.kind === "figures") return { plan, notes: [`Of ${count(rows.length, "row")}; there are more.`] };
  if (plan.xKind !== "time") return null;
  const isByTime = sort?.[0] === plan.x;
  const order = !isByTime ? "" : sort[1] === "DESC" ? "latest " : "first ";
  const notes = [`Only the ${order}${count(rows.length, "row")} are drawn; there are more.`];
  // A value that is neither added up nor set beside others of its point.
  if (!plan.isAggregated && plan.series === null) return { plan, notes };
  const whole = isByTime ? withoutLastPoint(plan, rows) : null;
  return whole === null || whole.rows.length === 0 ? null : { plan: whole, notes };
}

function withoutLastPoint(plan: AxisPlan, rows: ChartRows["rows"]): AxisPlan {
  const last = rows.at(-1);
  if (last === undefined || last[plan.x] === null || last[plan.x] === undefined) return plan;
  const key = keyIn(plan, last);
  return {
    ...plan,
    rows: plan.rows.filter((row) => row[plan.x] === null || keyIn(plan, row) !== key),
  };
}

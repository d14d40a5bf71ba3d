import type { AxisPlan, ChartPlan } from "./chart-choice.js";
import type { Pivoted } from "./chart-data.js";
import { count } from "./values.js";

/** Short name of a chart: its kind and columns. */
export function namedChart(plan: ChartPlan): string {
  if (plan.kind === "figures")
    return `figures: ${plan.figures
      .map(({ column, compared }) => (compared === null ? column : `${column} (${compared.column})`))
      .join(", ")}`;
  return `${plan.kind}: ${whatOf(plan)}`;
}

/** What an axis chart shows of what, such as `sum of amount by day, split by region`. */
function whatOf({ measures, x, grain, series, only, aggregate, isAggregated }: AxisPlan): string {
  const drawn = `${isAggregated ? `${aggregate} of ` : ""}${measures.join(", ")}`;
  const by = grain === null ? x : `${grain} of ${x}`;
  const split = series === null ? "" : `, split by ${series}`;
  const one = only === null ? "" : `, only ${only.column} ${only.value}`;
  return `${drawn} by ${by}${split}${one}`;
}

/** The chart in words, for readers who do not see it. */
export function labelOf(plan: AxisPlan, data: Pivoted): string {
  const points = count(data.labels.length, "point");
  return `${plan.kind} chart of ${whatOf(plan)}: ${points} from ${data.labels[0] ?? ""} to ${data.labels.at(-1) ?? ""}.`;
}

/** What the picture does not say by itself. */
export function notesOf(
  { series, aggregate, isAggregated, totals, grain }: AxisPlan,
  { others, leftOut }: Pivoted,
): readonly string[] {
  const notes = [
    isAggregated && grain === null && `Several rows share a point: their ${aggregate} is drawn.`,
    others > 0 && `“other” is the sum of ${count(others, "value")} of ${series ?? "the axis"}.`,
    leftOut > 0 &&
      `Only the largest are drawn: ${count(leftOut, "value")} of ${series ?? "the axis"} are left out, which cannot be added up.`,
    totals.length > 0 &&
      `Rows of ${totals.map(({ column, values }) => `${column} ${values.join(", ")}`).join("; ")} are left out: they hold the others.`,
  ];
  return notes.filter((note) => note !== false);
}

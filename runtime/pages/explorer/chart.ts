import type { ApiRequest } from "./api.js";
import { type AxisPlan, type ChartPlan, type ChartState, chooseChart, EVERY } from "./chart-choice.js";
import type { ChartColumn } from "./chart-columns.js";
import { saveBar } from "./chart-files.js";
import { plotOf } from "./chart-plot.js";
import { partOf } from "./chart-part.js";
import { notesOf } from "./chart-text.js";
import { pivot } from "./chart-data.js";
import { count, el, select } from "./dom.js";
import { answeredColumns, asksGroups } from "./grouping.js";
import type { ChartRows } from "./chart-rows.js";

/** The chart of a request, without its controls; null where nothing can be drawn. */
export function planFor(request: ApiRequest, all: ChartRows, state: ChartState): ChartOfRows | null {
  const { rows } = all;
  const columns: readonly ChartColumn[] = answeredColumns(request, rows).map((column) => ({
    ...column,
    description: request.endpoint.columns.find(({ name }) => name === column.name)?.description ?? "",
  }));
  const { resource } = request.endpoint;
  const chosen = chooseChart({ columns, resource, rows }, state, asksGroups(request));
  if (chosen === null) return null;
  const part = partOf(chosen, all);
  if (part === null) return { plan: chosen, columns, notes: null };
  const own = part.plan.kind === "figures" ? [] : notesOf(part.plan, pivot(part.plan));
  return { plan: part.plan, columns, notes: [...own, ...part.notes] };
}

/** A chart; without notes where it would be false, since there are more rows. */
interface ChartOfRows {
  readonly plan: ChartPlan;
  readonly columns: readonly ChartColumn[];
  readonly notes: readonly string[] | null;
}

/** What is shown in place of a chart that would be false. */
export const tooMany = (rows: number): string =>
  `There are more than ${count(rows, "row")}: a sum or the largest of some rows are not those of all. Filter, or choose a time as X.`;

/** A chart of the rows with its controls; null when no column can be drawn. */
export function chartOf(
  request: ApiRequest,
  all: ChartRows,
  state: ChartState,
  change: (state: ChartState) => void,
): HTMLElement | null {
  const found = planFor(request, all, state);
  if (found === null) return null;
  const { plan, columns, notes } = found;
  const controls = plan.kind !== "figures" && controlsOf(plan, state, change);
  if (notes === null) return el("div.chart", controls, el("p.note", tooMany(all.rows.length)));
  const plot = plotOf(plan, columns, notes);
  return el("div.chart", controls, plot.element, saveBar({ request, state }, plot));
}

function controlsOf(plan: AxisPlan, state: ChartState, change: (state: ChartState) => void): HTMLElement {
  const { x, measures, series, only, choices } = plan;
  const y = measures.length > 1 ? EVERY : (measures[0] ?? "");
  const together = series === null && choices.y.length > 1 ? [[EVERY, "(all)"] as const] : [];
  return el(
    "div.controls",
    select("X", choices.x, x, (value) => change({ ...state, x: value })),
    choices.y.length > 1 &&
      select("Y", [...together, ...choices.y], y, (value) => change({ ...state, y: value })),
    choices.series.length > 0 &&
      select("Split by", [["-", "(nothing)"], ...choices.series], series ?? "-", (value) =>
        change({ ...state, series: value }),
      ),
    only !== null &&
      select(`Only ${only.column}`, only.values, only.value, (value) => change({ ...state, only: value })),
  );
}

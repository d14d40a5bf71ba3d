import type { ApiRequest } from "./api.js";
import { type AxisPlan, type ChartPlan, type ChartState, chooseChart, EVERY } from "./chart-choice.js";
import type { ChartColumn } from "./chart-columns.js";
import { saveBar } from "./chart-files.js";
import { plotOf } from "./chart-plot.js";
import { notesOf } from "./chart-text.js";
import { pivot } from "./chart-data.js";
import { count, el, select } from "./dom.js";
import { answeredColumns, asksGroups } from "./grouping.js";
import type { ChartRows } from "./chart-rows.js";
import type { ShownRow } from "./values.js";

/** The chart of a request, without its controls; null where nothing can be drawn. */
export function planFor(request: ApiRequest, rows: readonly ShownRow[], state: ChartState) {
  const columns: readonly ChartColumn[] = answeredColumns(request, rows).map((column) => ({
    ...column,
    description: request.endpoint.columns.find(({ name }) => name === column.name)?.description ?? "",
  }));
  const { resource } = request.endpoint;
  const plan = chooseChart({ columns, resource, rows }, state, asksGroups(request));
  return plan === null ? null : { plan, columns };
}

/** A chart of the rows with its controls; null when no column can be drawn. */
export function chartOf(
  request: ApiRequest,
  { rows, hasMore }: ChartRows,
  state: ChartState,
  change: (state: ChartState) => void,
): HTMLElement | null {
  const found = planFor(request, rows, state);
  if (found === null) return null;
  const { plan, columns } = found;
  const plot = plotOf(plan, columns);
  return el(
    "div.chart",
    plan.kind !== "figures" && controlsOf(plan, state, change),
    plot.element,
    ...notes(plan, rows.length, hasMore).map((note) => el("p.note", note)),
    saveBar({ request, state }, plot),
  );
}

/** What the picture does not say by itself, the number of its rows among it. */
export function notes(plan: ChartPlan, rows: number, hasMore: boolean): readonly string[] {
  const more = hasMore ? [`The first ${count(rows, "row")} are drawn; there are more.`] : [];
  return plan.kind === "figures" ? more : [...notesOf(plan, pivot(plan)), ...more];
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

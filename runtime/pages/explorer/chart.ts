import type { ApiRequest } from "./api-request.js";
import { type AxisPlan, type ChartPlan, type ChartState, chooseChart, EVERY } from "./chart-choice.js";
import type { ChartColumn } from "./chart-columns.js";
import { saveBar } from "./chart-files.js";
import { plotOf } from "./chart-plot.js";
import { partOf } from "./chart-part.js";
import { notesOf } from "./chart-text.js";
import { pivot } from "./chart-data.js";
import { addedUp, groupedAgain } from "./chart-sums.js";
import { el, select } from "./dom.js";
import { asksGroups } from "./asked-groups.js";
import { answeredColumns } from "./grouping.js";
import { type ChartReader, type ChartRows, type ReadProgress, UNWATCHED } from "./chart-rows.js";

/** The chart of a request, without its controls; null where nothing can be drawn. What adds up is of all rows. */
export async function planFor(
  reader: ChartReader,
  state: ChartState,
  reading = UNWATCHED,
): Promise<ChartOfRows | null> {
  const { request, isPart } = reader;
  const isSum = ({ plan }: Chosen): boolean =>
    plan.kind !== "figures" && plan.isAggregated && hasChoice(plan, state) && !isPart;
  const all = await reader.read((rows) => {
    const chosen = chosenOf(request, rows, state);
    return chosen !== null && !asksGroups(request) && isSum(chosen);
  }, reading);
  const chosen = chosenOf(request, all, state);
  if (chosen === null) return null;
  const part = await truePlan(reader, chosen.plan, all, reading);
  const { columns } = chosen;
  if (part === null) return { plan: chosen.plan, columns, notes: null };
  const own = part.plan.kind === "figures" ? [] : notesOf(part.plan, pivot(part.plan));
  const isWhole =
    part.plan.kind !== "figures" && part.plan.isAggregated && !isPart && part.notes.length === 0;
  return { plan: part.plan, columns, notes: [...own, ...(isWhole ? [ALL_ROWS] : part.notes)] };
}

/** Of sums and averages that the service or, with all rows at hand, the browser computes. */
const ALL_ROWS = "Computed from all rows.";

interface Chosen {
  readonly plan: ChartPlan;
  readonly columns: readonly ChartColumn[];
}

function chosenOf(request: ApiRequest, { rows }: ChartRows, state: ChartState): Chosen | null {
  const columns: readonly ChartColumn[] = answeredColumns(request, rows).map((column) => ({
    ...column,
    description: request.endpoint.columns.find(({ name }) => name === column.name)?.description ?? "",
  }));
  const { resource } = request.endpoint;
  const plan = chooseChart({ columns, resource, rows }, state, asksGroups(request));
  return plan === null ? null : { plan, columns };
}

/** Whether the rows so far show what the caller has chosen. */
function hasChoice({ x, series }: AxisPlan, state: ChartState): boolean {
  const isX = state.x === "" || state.x === x;
  return isX && (state.series === "" || state.series === "-" || state.series === series);
}

/** The plan with nothing but what is true of all rows, or of a part that the notes name. */
async function truePlan(reader: ChartReader, plan: ChartPlan, all: ChartRows, reading: ReadProgress) {
  const { request, isPart } = reader;
  const isOfParts = plan.kind !== "figures" && !isPart && !reading.signal.aborted;
  if (isOfParts && plan.isAggregated && asksGroups(request)) return groupedAgain(request, plan, reading);
  const adds = isOfParts && all.hasMore && (plan.isAggregated || plan.xKind !== "time");
  const whole = adds && !asksGroups(request) ? await addedUp(request, plan, reading.signal) : null;
  return whole ?? partOf(plan, all);
}

/** A chart; without notes where it would be false, since there are more rows. */
interface ChartOfRows extends Chosen {
  readonly notes: readonly string[] | null;
}

/** What is shown in place of a chart that would be false. */
export const NOT_TRUE =
  "There are too many rows or points for this chart: a sum or the largest of some rows are not those of all. Filter, or choose a time as X, or no split.";

/** A chart of the rows with its controls; null when no column can be drawn. */
export async function chartOf(
  reader: ChartReader,
  state: ChartState,
  reading: ReadProgress,
  change: (state: ChartState) => void,
): Promise<HTMLElement | null> {
  const found = await planFor(reader, state, reading);
  if (found === null) return null;
  const { plan, columns, notes } = found;
  const controls = plan.kind !== "figures" && controlsOf(plan, state, change);
  if (notes === null) return el("div.chart", controls, el("p.note", NOT_TRUE));
  const plot = plotOf(plan, columns, notes);
  return el("div.chart", controls, plot.element, saveBar({ request: reader.request, state }, plot));
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

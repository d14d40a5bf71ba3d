import uPlot from "uplot";
import type { ApiRequest } from "./api.js";
import { answeredColumns, asksGroups } from "./grouping.js";
import { labelsOf, MAX_LABEL, type ShownRow, shortened } from "./values.js";
import {
  type ChartChoices,
  choicesOf,
  EVERY,
  MAX_SERIES,
  pivot,
  type Pivoted,
  type ChartPlan,
  planOf,
  withoutTotals,
} from "./chart-data.js";
import { count, el, select } from "./dom.js";
import type { ChartState } from "./state.js";

const HEIGHT = 340;

/** A chart of the rows with its controls; null when no column can be drawn. */
export function chartOf(
  request: ApiRequest,
  rows: readonly ShownRow[],
  state: ChartState,
  change: (state: ChartState) => void,
): HTMLElement | null {
  const isGrouped = asksGroups(request);
  const { resource } = request.endpoint;
  const choices = choicesOf({ columns: answeredColumns(request, rows), resource }, rows);
  // A group called "Total" holds no others.
  const { parts, totals } = isGrouped ? { parts: rows, totals: [] } : withoutTotals(choices, rows);
  const plan = planOf(choices, parts, state, isGrouped);
  if (plan === null) return null;
  const data = pivot(parts, plan);
  const plot = el("div.plot", { role: "img", "aria-label": labelOf(plan, data) });
  draw(plot, data, plan);
  const notes = notesOf(plan, data, totals).map((note) => el("p.note", note));
  return el("div", controlsOf(choices, plan, state, change), plot, ...notes);
}

function controlsOf(
  { times, texts, numbers }: ChartChoices,
  plan: ChartPlan,
  state: ChartState,
  change: (state: ChartState) => void,
): HTMLElement {
  const { x, y, series, splits } = plan;
  return el(
    "div.controls",
    select("X", [...times, ...texts], x, (value) => change({ ...state, x: value })),
    numbers.length > 1 &&
      select("Y", plan.every === null ? numbers : [[EVERY, "(all)"], ...numbers], y, (value) =>
        change({ ...state, y: value }),
      ),
    splits.length > 0 &&
      select("Split by", [["-", "(nothing)"], ...splits], series ?? "-", (value) =>
        change({ ...state, series: value }),
      ),
  );
}

function labelOf({ x, y, every, series, kind, aggregate, isAggregated }: ChartPlan, data: Pivoted): string {
  const drawn = y === EVERY ? (every ?? []).join(" and ") : y;
  const what = `${isAggregated ? `${aggregate} of ` : ""}${drawn} by ${x}`;
  const split = series === null ? "" : `, split by ${series}`;
  const points = count(data.x.length, "point");
  return `${kind} chart of ${what}${split}: ${points} from ${data.labels[0] ?? ""} to ${data.labels.at(-1) ?? ""}. The table has the same values.`;
}

/** What the picture does not say by itself. */
function notesOf(
  { series, aggregate, isAggregated }: ChartPlan,
  { leftOut }: Pivoted,
  totals: readonly string[],
): readonly string[] {
  const notes = [
    isAggregated && `Several rows share a point: their ${aggregate} is drawn.`,
    leftOut > 0 &&
      `Only the ${String(MAX_SERIES)} largest of ${String(MAX_SERIES + leftOut)} values of ${series ?? ""} are drawn.`,
    totals.length > 0 && `Rows of ${totals.join(", ")} are left out: they hold the others.`,
  ];
  return notes.filter((note) => note !== false);
}

/** Stacks bars of several series, unless a value is negative. */
function stacked(lines: Pivoted["lines"], kind: ChartPlan["kind"]): readonly (readonly (number | null)[])[] {
  const isNegative = lines.some(({ values }) => values.some((value) => (value ?? 0) < 0));
  if (kind === "line" || isNegative) return lines.map(({ values }) => values);
  const sums = lines[0]?.values.map(() => 0) ?? [];
  return lines.map(({ values }) => values.map((value, i) => (sums[i] = (sums[i] ?? 0) + (value ?? 0))));
}

function draw(plot: HTMLElement, data: Pivoted, { kind, x }: ChartPlan): void {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const values = stacked(data.lines, kind);
  const axis = {
    stroke: color("--soft"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
  };
  // Drawn from the highest sum to the lowest: later ones cover earlier ones.
  const order = data.lines.map((_, i) => i).reverse();
  const options: uPlot.Options = {
    width: 600,
    height: HEIGHT,
    scales: {
      x: {
        time: data.isTime,
        ...((kind === "bar" || data.x.length < 2) && { range: rangeOfBars(data.x, data.isTime) }),
      },
      y: kind === "line" ? {} : { range: (_plot, low, high) => rangeWithZero(low, high) },
    },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    axes: [
      {
        ...axis,
        ...(data.isTime
          ? { values: TIMES }
          : {
              values: (_plot, splits) => splits.map((split) => shortened(data.labels[split] ?? "")),
              space: 8 * Math.min(MAX_LABEL, Math.max(...data.labels.map(({ length }) => length))),
              incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            }),
      },
      { ...axis, size: labelWidth, values: (_plot, splits) => labelsOf(splits) },
    ],
    series: [
      {
        label: x,
        value: (_plot, _x, _series, i) => (i === null ? "" : (data.labels[i] ?? "")),
      },
      ...order.map((line) => seriesOf(data, line, kind, color)),
    ],
    legend: { live: true },
    hooks: {
      // Without a pointer the legend has the last values.
      setCursor: [({ cursor }) => cursor.idx === null && showLast()],
    },
  };
  const columns = [data.x, ...order.map((line) => values[line] ?? [])];
  const chart = new uPlot(options, columns as unknown as uPlot.AlignedData, plot);
  const showLast = (): void => chart.setLegend({ idx: data.x.length - 1 }, false);
  showLast();
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    // In the next frame: a resize during a `ResizeObserver` callback is an error.
    if (width > 0 && width !== chart.width)
      requestAnimationFrame(() => chart.setSize({ width, height: HEIGHT }));
  }).observe(plot);
}

/** Time labels; uPlot's defaults have the American order. Columns: minimum step, label, additions at a new year or day. */
const TIMES: uPlot.Axis.Values = [
  [31_536_000, "{YYYY}", null, null, null, null, null, null, 1],
  [2_419_200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86_400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
];

function seriesOf(
  data: Pivoted,
  line: number,
  kind: ChartPlan["kind"],
  color: (name: string) => string,
): uPlot.Series {
  const stroke = color(`--series-${String(line + 1)}`);
  const { name = "", values = [] } = data.lines[line] ?? {};
  const bars = uPlot.paths.bars?.({ size: [0.7, 60] });
  return {
    label: name,
    stroke,
    width: kind === "bar" ? 0 : 2,
    // A point without neighbours has no line.
    points: {
      show: kind !== "bar" && (data.x.length < 40 || values.filter((value) => value !== null).length < 2),
    },
    // Interleaved series have values at different points.
    spanGaps: true,
    ...(kind !== "line" && { fill: stroke }),
    ...(kind === "bar" && bars && { paths: bars }),
    value: (_plot, _value, _series, i) =>
      i === null ? "" : (values[i]?.toLocaleString("en", { maximumSignificantDigits: 15 }) ?? ""),
  };
}

/** Adds half a step at both ends, so that the first and last bars are complete. */
function rangeOfBars(x: readonly number[], isTime: boolean): [number, number] {
  const steps = x.slice(1).map((value, i) => value - (x[i] ?? 0));
  const margin = steps.length === 0 ? (isTime ? 86_400 : 1) : Math.min(...steps) / 2;
  return [(x[0] ?? 0) - margin, (x.at(-1) ?? 0) + margin];
}

function rangeWithZero(low: number, high: number): [number, number] {
  return [Math.min(0, low), Math.max(0, high) * 1.05];
}

/** Width of the y axis, for its longest label. */
function labelWidth(_plot: uPlot, labels: readonly string[] | null): number {
  return 24 + 8 * Math.max(0, ...(labels ?? []).map(({ length }) => length));
}

import uPlot from "uplot";
import type { CatalogueEndpoint } from "../catalogue-body.js";
import { ExactNumber, type Row, textOf } from "./api.js";
import { count, el, select, toggle } from "./dom.js";
import type { ChartState } from "./state.js";

/** Maximum number of series; with more, only the largest are drawn. */
const MAX_SERIES = 8;

const HEIGHT = 340;

/** Columns that a chart may use, by type. */
interface Choices {
  readonly times: readonly string[];
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
}

function choicesOf({ columns }: Pick<CatalogueEndpoint, "columns">, rows: readonly Row[]): Choices {
  const kinds = columns.map(({ name, type }) => [name, kindOf(type, rows, name)] as const);
  const of = (kind: string): string[] => kinds.filter(([, each]) => each === kind).map(([name]) => name);
  return { times: of("time"), texts: of("text"), numbers: of("number") };
}

/** By the declared type; by the first value where the model declares none. */
function kindOf(
  type: string | null,
  rows: readonly Row[],
  name: string,
): "time" | "number" | "text" | "other" {
  if (type === null) {
    const value = rows.find((row) => row[name] !== null)?.[name];
    if (typeof value === "number" || value instanceof ExactNumber) return "number";
    return typeof value !== "string" ? "other" : /^\d{4}-\d\d-\d\d/.test(value) ? "time" : "text";
  }
  if (/\[\]|^(array|map|tuple|json)/i.test(type)) return "other";
  if (/date|time/i.test(type)) return "time";
  if (/int|float|double|decimal|numeric|real|money/i.test(type)) return "number";
  return "text";
}

/** A chart of the rows with its controls; null when no column can be drawn. */
export function chartOf(
  endpoint: CatalogueEndpoint,
  rows: readonly Row[],
  state: ChartState,
  change: (state: ChartState) => void,
): HTMLElement | null {
  const choices = choicesOf(endpoint, rows);
  const axes = [...choices.times, ...choices.texts];
  const x = axes.find((name) => name === state.x) ?? axes[0];
  const y = choices.numbers.find((name) => name === state.y) ?? choices.numbers[0];
  if (x === undefined || y === undefined || rows.length === 0) return null;
  const split = choices.texts.filter((name) => name !== x);
  const series =
    state.series === "-" ? null : (split.find((name) => name === state.series) ?? split[0] ?? null);
  const named = (names: readonly string[]) => names.map((name) => [name, name] as const);
  const controls = el(
    "div",
    { class: "controls" },
    toggle(
      "Kind of chart",
      [
        ["line", "Line"],
        ["bar", "Bar"],
        ["area", "Area"],
      ],
      state.kind,
      (kind) => change({ ...state, kind: kind as ChartState["kind"] }),
    ),
    select("X", named(axes), x, (value) => change({ ...state, x: value })),
    select("Y", named(choices.numbers), y, (value) => change({ ...state, y: value })),
    split.length > 0 &&
      select("Split by", [["-", "(nothing)"], ...named(split)], series ?? "-", (value) =>
        change({ ...state, series: value }),
      ),
  );
  const data = pivot(rows, x, y, series, choices.times.includes(x));
  const label = `${state.kind} chart of ${y} by ${x}${series === null ? "" : `, split by ${series}`}: ${count(data.x.length, "point")} from ${data.labels[0] ?? ""} to ${data.labels.at(-1) ?? ""}. The table has the same values.`;
  const plot = el("div", { class: "plot", role: "img", "aria-label": label });
  draw(plot, data, state.kind, y);
  const left =
    data.leftOut === 0
      ? null
      : `Only the ${String(MAX_SERIES)} largest of ${String(MAX_SERIES + data.leftOut)} values of ${series ?? ""} are drawn.`;
  return el("div", {}, controls, plot, left !== null && el("p", { class: "note" }, left));
}

interface Pivoted {
  readonly isTime: boolean;
  /** Unix seconds, or positions. */
  readonly x: readonly number[];
  readonly labels: readonly string[];
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
  readonly leftOut: number;
}

/** Converts rows to one list of values per series; values of the same point are added. */
function pivot(rows: readonly Row[], x: string, y: string, series: string | null, isTime: boolean): Pivoted {
  const present = rows.filter((row) => row[x] !== null && row[x] !== undefined);
  const keys = [...new Set(present.map((row) => textOf(row[x])))];
  if (isTime) keys.sort((a, b) => Date.parse(a) - Date.parse(b));
  const at = new Map(keys.map((key, i) => [key, i]));
  const lines = new Map<string, (number | null)[]>();
  for (const row of present) {
    const value = row[y] === null || row[y] === undefined ? NaN : Number(row[y]);
    const name = series === null ? y : row[series] === null ? "(none)" : textOf(row[series]);
    const line = lines.get(name) ?? Array<number | null>(keys.length).fill(null);
    lines.set(name, line);
    const i = at.get(textOf(row[x])) ?? 0;
    if (!Number.isNaN(value)) line[i] = (line[i] ?? 0) + value;
  }
  const total = (values: readonly (number | null)[]): number =>
    values.reduce<number>((sum, value) => sum + Math.abs(value ?? 0), 0);
  const all = [...lines]
    .map(([name, values]) => ({ name, values }))
    .sort((a, b) => total(b.values) - total(a.values));
  return {
    isTime,
    x: isTime ? keys.map((key) => Date.parse(key) / 1000) : keys.map((_, i) => i),
    labels: keys,
    lines: all.slice(0, MAX_SERIES),
    leftOut: Math.max(0, all.length - MAX_SERIES),
  };
}

/** Stacks areas and bars of several series, unless a value is negative. */
function stacked(lines: Pivoted["lines"], kind: ChartState["kind"]): readonly (readonly (number | null)[])[] {
  const isNegative = lines.some(({ values }) => values.some((value) => (value ?? 0) < 0));
  if (kind === "line" || isNegative) return lines.map(({ values }) => values);
  const sums = lines[0]?.values.map(() => 0) ?? [];
  return lines.map(({ values }) => values.map((value, i) => (sums[i] = (sums[i] ?? 0) + (value ?? 0))));
}

function draw(plot: HTMLElement, data: Pivoted, kind: ChartState["kind"], y: string): void {
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
      x: { time: data.isTime, ...(kind === "bar" && { range: rangeOfBars(data.x) }) },
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
              incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            }),
      },
      { ...axis, size: 70, values: (_plot, splits) => splits.map((split) => COMPACT.format(split)) },
    ],
    series: [
      {
        label: data.isTime ? "time" : "at",
        value: (_plot, _x, _series, i) => (i === null ? "" : (data.labels[i] ?? "")),
      },
      ...order.map((line) => seriesOf(data, line, kind, color)),
    ],
    legend: { live: true },
  };
  const columns = [data.x, ...order.map((line) => values[line] ?? [])];
  const chart = new uPlot(options, columns as unknown as uPlot.AlignedData, plot);
  chart.root.title = y;
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

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

function seriesOf(
  data: Pivoted,
  line: number,
  kind: ChartState["kind"],
  color: (name: string) => string,
): uPlot.Series {
  const stroke = color(`--series-${String(line + 1)}`);
  const { name = "", values = [] } = data.lines[line] ?? {};
  const bars = uPlot.paths.bars?.({ size: [0.7, 60] });
  return {
    label: name,
    stroke,
    width: kind === "bar" ? 0 : 2,
    points: { show: kind === "line" && data.x.length < 40 },
    ...(kind !== "line" && { fill: stroke }),
    ...(kind === "bar" && bars && { paths: bars }),
    value: (_plot, _value, _series, i) => (i === null ? "" : (values[i]?.toLocaleString("en") ?? "")),
  };
}

/** Adds half a step at both ends, so that the first and last bars are complete. */
function rangeOfBars(x: readonly number[]): [number, number] {
  const steps = x.slice(1).map((value, i) => value - (x[i] ?? 0));
  const margin = steps.length === 0 ? 1 : Math.min(...steps) / 2;
  return [(x[0] ?? 0) - margin, (x.at(-1) ?? 0) + margin];
}

function rangeWithZero(low: number, high: number): [number, number] {
  return [Math.min(0, low), Math.max(0, high) * 1.05];
}

function shortened(text: string): string {
  return text.length > 14 ? `${text.slice(0, 13)}…` : text;
}

import { scaleLinear, scaleUtc } from "d3-scale";
import type { AxisPlan } from "./chart-choice.js";
import type { Pivoted } from "./chart-data.js";
import {
  type Box,
  colourOf,
  type Colours,
  type Drawing,
  type PlotFrame,
  type Legend,
  legendOf,
  picture,
  round,
  widthOf,
  words,
} from "./chart-svg.js";
import { tickLabels } from "./chart-time.js";
import type { Unit } from "../units.js";
import { namesBeside, roomForNames } from "./chart-names.js";
import { svg } from "./dom.js";
import { labelsOf, shortened, shortNumber } from "./values.js";

const ROW_HEIGHT = 26;

/** Draws lines or bars. */
export function draw(plan: AxisPlan, data: Pivoted, frame: PlotFrame): Drawing {
  const isNamed = plan.kind === "line" && roomForNames(data, frame) > 0;
  const legend = legendOf(plan, data, frame, isNamed);
  return plan.xKind === "category" ? drawRows(data, frame, legend) : drawColumns(plan, data, frame, legend);
}

/** Lines of a time, or upright bars in an order. */
function drawColumns(plan: AxisPlan, data: Pivoted, frame: PlotFrame, legend: Legend): Drawing {
  const { width, colours, plotHeight } = frame;
  const isLine = plan.kind === "line";
  const right = isLine ? roomForNames(data, frame) : 0;
  const tops = isLine ? data.series.map(({ values }) => values) : stacked(data);
  const [low, high] = rangeOf(tops, !isLine);
  const y = scaleLinear()
    .domain([low, high])
    .nice(6)
    .range([legend.height + plotHeight, legend.height + 6]);
  const ticks = y.ticks(6);
  const labels = withUnit(ticks, frame.unit);
  const left = Math.max(...labels.map((label) => widthOf(label))) + 14;
  const area = { left, top: legend.height, width: width - left - 14 - right, height: plotHeight };
  const place = placesOf(plan, data, area);
  const grid = ticks.flatMap((tick, i) => [
    svg("line", {
      x1: left,
      x2: width - 14 - right,
      y1: round(y(tick)),
      y2: round(y(tick)),
      stroke: colours.line,
    }),
    words(left - 8, y(tick) + 4, labels[i] ?? "", colours.soft, { "text-anchor": "end" }),
  ]);
  const marks = isLine ? linesOf(data, place.points, y, colours) : barsOf(data, tops, place, y, colours);
  const names = right === 0 ? [] : namesBeside(data, y, { ...area, left: left + area.width }, colours);
  const bottom = legend.height + plotHeight;
  const axis = axisLabels(plan, data, place, area).map(([x, text]) =>
    words(x, bottom + 18, text, colours.soft, { "text-anchor": x > width - 40 ? "end" : "middle" }),
  );
  const height = bottom + 28;
  const element = picture(width, height, ...legend.parts, ...grid, ...marks, ...axis, ...names);
  return { element, height, points: place.points, axis: "x", area };
}

interface Places {
  readonly points: readonly number[];
  /** Width of a point's own part of the axis. */
  readonly step: number;
  readonly at: (instant: number) => number;
}

function placesOf({ xKind, kind }: AxisPlan, { x }: Pivoted, { left, width }: Box): Places {
  if (xKind !== "time" || kind === "bar") {
    const step = width / Math.max(1, x.length);
    return { points: x.map((_, i) => left + (i + 0.5) * step), step, at: (i) => left + (i + 0.5) * step };
  }
  const scale = scaleUtc()
    .domain([x[0] ?? 0, x.at(-1) ?? 1])
    .range([left + 4, left + width - 4]);
  return {
    points: x.map((instant) => scale(instant)),
    step: width / Math.max(1, x.length),
    at: (instant) => scale(instant),
  };
}

/** Labels below the axis, as many as have room. */
function axisLabels(
  { xKind, kind }: AxisPlan,
  { x, labels }: Pivoted,
  place: Places,
  { width }: Box,
): readonly (readonly [number, string])[] {
  if (xKind === "time" && kind === "line") {
    const ticks = scaleUtc()
      .domain([x[0] ?? 0, x.at(-1) ?? 1])
      .ticks(Math.max(4, Math.floor(width / 95)))
      .map(Number);
    const texts = tickLabels(ticks);
    return ticks.map((tick, i) => [place.at(tick), texts[i] ?? ""] as const);
  }
  const widest = Math.max(...labels.map((label) => widthOf(shortened(label)))) + 12;
  const each = Math.max(1, Math.ceil(widest / place.step));
  return labels.flatMap((label, i) =>
    i % each === 0 ? [[place.points[i] ?? 0, shortened(label)] as const] : [],
  );
}

function linesOf(
  data: Pivoted,
  xs: readonly number[],
  y: (value: number) => number,
  colours: Colours,
): readonly Element[] {
  // The largest comes last, above the others.
  return data.series
    .map((_, i) => data.series.length - 1 - i)
    .flatMap((i) => {
      const { values = [], isOther = false, name = "" } = data.series[i] ?? {};
      const stroke = colourOf(data, i, colours);
      // Interleaved series have values at different points: a gap is passed over.
      const points = values.flatMap((value, at) =>
        value === null ? [] : [[round(xs[at] ?? 0), round(y(value))] as const],
      );
      const dash = isOther || /(^|_)(lower|upper)(_|$)/.test(name) ? { "stroke-dasharray": "5 4" } : {};
      const path = svg("path", {
        ...{ d: points.map(([px, py], at) => `${at === 0 ? "M" : "L"}${String(px)},${String(py)}`).join("") },
        ...{ fill: "none", stroke, "stroke-width": 2, "stroke-linejoin": "round", ...dash },
      });
      const hasDots = points.length < 2 || xs.length < 32;
      const dots = hasDots ? points.map(([cx, cy]) => svg("circle", { cx, cy, r: 2.5, fill: stroke })) : [];
      return [path, ...dots];
    });
}

/** Sums up to each series, unless a value is negative: then bars stand beside each other. */
function stacked({ series, x }: Pivoted): readonly (readonly (number | null)[])[] {
  if (!isStacked({ series })) return series.map(({ values }) => values);
  const sums = x.map(() => 0);
  return series.map(({ values }) => values.map((value, i) => (sums[i] = (sums[i] ?? 0) + (value ?? 0))));
}

const isStacked = ({ series }: Pick<Pivoted, "series">): boolean =>
  series.length > 1 && series.every(({ values }) => values.every((value) => (value ?? 0) >= 0));

function barsOf(
  data: Pivoted,
  tops: ReturnType<typeof stacked>,
  place: Places,
  y: (value: number) => number,
  colours: Colours,
): readonly Element[] {
  return data.series.flatMap((_, i) =>
    data.x.flatMap((_, at) => {
      const [from, to] = ends(data, tops, i, at);
      if (to === null) return [];
      const { offset, size } = thickness(data, i, Math.min(64, 0.74 * place.step));
      const [y1, y2] = [y(from), y(to)];
      const x = (place.points[at] ?? 0) + offset;
      return [
        svg("rect", {
          x: round(x),
          width: round(size),
          y: round(Math.min(y1, y2)),
          height: round(Math.abs(y1 - y2)),
          fill: colourOf(data, i, colours),
        }),
      ];
    }),
  );
}

function ends(
  { series }: Pivoted,
  tops: ReturnType<typeof stacked>,
  i: number,
  at: number,
): readonly [number, number | null] {
  return [
    isStacked({ series }) && i > 0 ? (tops[i - 1]?.[at] ?? 0) : 0,
    series[i]?.values[at] === null ? null : (tops[i]?.[at] ?? null),
  ];
}

/** Where a bar begins beside the middle of its point, and how thick it is. */
function thickness(
  { series }: Pivoted,
  i: number,
  whole: number,
): { readonly offset: number; readonly size: number } {
  if (series.length === 1 || isStacked({ series })) return { offset: -whole / 2, size: whole };
  return { offset: -whole / 2 + (i * whole) / series.length, size: whole / series.length };
}

/** Lying bars with the names of categories beside them. */
function drawRows(data: Pivoted, frame: PlotFrame, legend: Legend): Drawing {
  const { width, colours, unit } = frame;
  const tops = stacked(data);
  const [low, high] = rangeOf(tops, true);
  const names = data.labels.map((label) => (label.length > 26 ? shortened(label) : label));
  const left = Math.min(width * 0.4, Math.max(...names.map((name) => widthOf(name))) + 14);
  const values = data.labels.map((_, i) => data.series.reduce((sum, each) => sum + (each.values[i] ?? 0), 0));
  const texts = data.series.length === 1 || isStacked(data) ? compact(values, unit) : values.map(() => "");
  const right = Math.max(...texts.map((text) => widthOf(text))) + 12;
  const x = scaleLinear()
    .domain([low, high])
    .range([left, width - right]);
  const middle = (i: number): number => legend.height + 4 + (i + 0.5) * ROW_HEIGHT;
  const bars = data.series.flatMap((_, i) =>
    data.labels.flatMap((_, at) => {
      const [from, to] = ends(data, tops, i, at);
      if (to === null) return [];
      const { offset, size } = thickness(data, i, ROW_HEIGHT - 8);
      const [x1, x2] = [x(from), x(to)];
      return [
        svg("rect", {
          x: round(Math.min(x1, x2)),
          width: round(Math.max(1, Math.abs(x1 - x2))),
          y: round(middle(at) + offset),
          height: round(size),
          rx: 2,
          fill: colourOf(data, i, colours),
        }),
      ];
    }),
  );
  const ofRows = names.flatMap((name, i) => [
    words(left - 8, middle(i) + 4, name, colours.text, { "text-anchor": "end" }),
    words(x(Math.max(0, values[i] ?? 0)) + 6, middle(i) + 4, texts[i] ?? "", colours.soft),
  ]);
  const zero = svg("line", {
    x1: round(x(0)),
    x2: round(x(0)),
    y1: legend.height,
    y2: middle(names.length) - 8,
    stroke: colours.line,
  });
  const height = middle(names.length) - ROW_HEIGHT / 2 + 8;
  const element = picture(width, height, ...legend.parts, zero, ...bars, ...ofRows);
  const area = { left: 0, top: legend.height, width, height: height - legend.height };
  return { element, height, points: names.map((_, i) => middle(i)), axis: "y", area };
}

/** From zero for bars, and for lines that are not far from it. */
function rangeOf(
  lines: readonly (readonly (number | null)[])[],
  hasZero: boolean,
): readonly [number, number] {
  const values = lines.flat().filter((value) => value !== null);
  const [low, high] = [
    values.reduce((a, b) => Math.min(a, b), Infinity),
    values.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const isNear = hasZero || (low >= 0 && low < 0.6 * high) || (high <= 0 && high > 0.6 * low);
  const ends: readonly [number, number] = isNear ? [Math.min(0, low), Math.max(0, high)] : [low, high];
  return ends[0] === ends[1] ? [ends[0] - 1, ends[1] + 1] : ends;
}

function withUnit(ticks: readonly number[], { before, behind }: Unit): readonly string[] {
  return labelsOf(ticks).map((label) =>
    label === "0" ? "0" : label.replace(/^-?/, (sign) => `${sign}${before}`) + (behind === "%" ? "%" : ""),
  );
}

function compact(values: readonly number[], { before, behind }: Unit): readonly string[] {
  return values.map((value) => {
    const figure = shortNumber(Math.abs(value), { maximumSignificantDigits: 4 });
    return `${value < 0 ? "−" : ""}${before}${figure}${behind}`;
  });
}

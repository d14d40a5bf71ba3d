/** Live numbers of the first page. */
import type { CatalogueEndpoint } from "../catalogue-body.js";
import { inWords } from "../../core/model/endpoint-title.js";
import { unitOf } from "../units.js";
import { el, svg } from "./dom.js";
import type { LiveFigure } from "./live-figure.js";
import { NO_REQUEST, type State } from "./state.js";
import { shortNumber, withSeparators } from "./values.js";

type ChangeState = (changes: Partial<State>) => void;

/** The numbers that the first page begins with. */
export function headlineView(figures: readonly LiveFigure[], change: ChangeState): HTMLElement {
  return el(
    "ul.headline",
    ...figures.map((figure) => {
      const { endpoint, column, at, series } = figure;
      const said = `${column}: the last ${String(series.length)} rows`;
      const line = series.length > 2 ? [sparkline(series, said)] : [];
      return el(
        "li",
        el("p", linkTo(endpoint, change)),
        el("div", numberOf(figure), ...line),
        el("p.note", [at.slice(0, 10), changeOf(figure)].filter((text) => text !== "").join(" · ")),
      );
    }),
  );
}

/** The change from the row before, such as `+2.1% on 2026-06-29`, or the one that the row says; empty where there is none. */
function changeOf({ series, before, change }: LiveFigure): string {
  const [last, value] = series.slice(-2);
  const isSeries = last !== undefined && value !== undefined;
  if (!isSeries && change !== null) return `${percent(change / 100)} on the period before`;
  if (!isSeries || last === 0 || before === "") return "";
  return `${percent((value - last) / Math.abs(last))} on ${before.slice(0, 10)}`;
}

const percent = (share: number): string =>
  share.toLocaleString("en", { style: "percent", maximumFractionDigits: 1, signDisplay: "exceptZero" });

function linkTo({ path, title }: CatalogueEndpoint, change: ChangeState): HTMLElement {
  const open = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    change({ endpoint: path, ...NO_REQUEST });
  };
  return el("a", { href: `?endpoint=${encodeURIComponent(path)}`, click: open }, title);
}

/** A short number with its unit, and all digits where a pointer rests. */
function numberOf({ endpoint, column, value, digits }: LiveFigure): HTMLElement {
  const { description = "" } = endpoint.columns.find(({ name }) => name === column) ?? {};
  const { before, behind } = unitOf({ name: column, description }, null);
  const sign = value < 0 ? "−" : "";
  const short = shortNumber(Math.abs(value), { maximumFractionDigits: 1 });
  return el("strong.number", { title: withSeparators(digits) }, `${sign}${before}${short}${behind}`);
}

/** The figure of a card. */
export function figureView(figure: LiveFigure, change: ChangeState): readonly HTMLElement[] {
  const { endpoint, column, at, series } = figure;
  const link = linkTo(endpoint, change);
  const number = numberOf(figure);
  // A column `value` is what the endpoint is named for.
  const what = [column === "value" ? "" : inWords(column), at.slice(0, 10)].filter((text) => text !== "");
  const line =
    series.length > 2 ? [sparkline(series, `${column}: the last ${String(series.length)} rows`)] : [];
  return [el("div", number, ...line), el("p", what.join(", "), what.length > 0 && " · ", link)];
}

const [WIDTH, HEIGHT] = [120, 32];

function sparkline(series: readonly number[], label: string): Element {
  const [low, high] = [Math.min(...series), Math.max(...series)];
  const x = (i: number): number => (i / (series.length - 1)) * (WIDTH - 4) + 2;
  const y = (value: number): number => HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6);
  const points = series.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const size = { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${String(WIDTH)} ${String(HEIGHT)}` };
  return svg("svg.sparkline", { ...size, role: "img", "aria-label": label }, svg("polyline", { points }));
}

import type { CatalogueEndpoint } from "../catalogue-body.js";
import {
  downloadCsv,
  ExactNumber,
  type ApiRequest,
  type Limits,
  MAX_ROWS,
  type QueryResponse,
  type Row,
  textOf,
} from "./api.js";
import { chartOf } from "./chart.js";
import { button, count, el, time, toggle } from "./dom.js";
import type { ChartState, State } from "./state.js";

/** Rows that the table shows. */
const SHOWN = 500;

export interface ResultActions {
  readonly change: (change: Partial<Pick<State, "view" | "chart">>) => void;
  /** Shows the next page. */
  readonly next: () => void;
  readonly fail: (error: unknown) => void;
}

/** The rows of a request as table, chart or JSON. */
export function resultView(
  request: ApiRequest,
  result: QueryResponse,
  { view, chart }: Pick<State, "view" | "chart">,
  { change, next, fail }: ResultActions,
): HTMLElement {
  const { rows, hasNext, isCut, asOf, limits, milliseconds } = result;
  const facts = [
    isCut ? `The first ${MAX_ROWS.toLocaleString("en")} rows` : count(rows.length, "row"),
    `${Math.round(milliseconds).toLocaleString("en")} ms`,
  ];
  return el(
    "div",
    { class: "result" },
    el(
      "div",
      { class: "bar" },
      toggle(
        "Show the rows as",
        [
          ["table", "Table"],
          ["chart", "Chart"],
          ["json", "JSON"],
        ],
        view,
        (value) => change({ view: value as State["view"] }),
      ),
      el(
        "span",
        { class: "facts" },
        facts.join(" · "),
        asOf !== null && " · data as of ",
        asOf !== null && time(asOf),
      ),
      el("span", { class: "spring" }),
      hasNext && button("Next page", next),
      button("Download CSV", () => void downloadCsv(request).catch(fail)),
    ),
    content(request.endpoint, result, view, chart, (next) => change({ chart: next })),
    limits !== null && el("p", { class: "note" }, limitsText(limits)),
  );
}

function content(
  endpoint: CatalogueEndpoint,
  { rows, texts }: QueryResponse,
  view: State["view"],
  chart: ChartState,
  changeChart: (chart: ChartState) => void,
): HTMLElement {
  switch (view) {
    case "table":
      return table(endpoint, rows);
    case "json":
      return el(
        "pre",
        { class: "code", tabindex: 0, role: "region", "aria-label": "Rows as JSON" },
        `[\n${texts.slice(0, SHOWN).join(",\n")}\n]`,
      );
    case "chart":
      return (
        chartOf(endpoint, rows, chart, changeChart) ??
        el("p", { class: "note" }, "A chart needs rows with a number, and a time or a text to draw it by.")
      );
  }
}

function table({ columns }: CatalogueEndpoint, rows: readonly Row[]): HTMLElement {
  if (rows.length === 0) return el("p", { class: "note" }, "No row matches.");
  const names = Object.keys(rows[0] ?? {});
  const types = new Map(columns.map(({ name, type }) => [name, type ?? ""]));
  return el(
    "div",
    { class: "wide rowsview", tabindex: 0, role: "region", "aria-label": "Rows" },
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...names.map((name) =>
            el(
              "th",
              {
                scope: "col",
                title: types.get(name) ?? "",
                class: rows.some((row) => isNumber(row[name])) ? "number" : null,
              },
              name,
            ),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        ...rows.slice(0, SHOWN).map((row) => el("tr", {}, ...names.map((name) => cell(row[name])))),
      ),
    ),
    rows.length > SHOWN &&
      el("p", { class: "note" }, `The first ${String(SHOWN)} of ${count(rows.length, "row")}.`),
  );
}

function cell(value: unknown): HTMLTableCellElement {
  if (value === null || value === undefined) return el("td", { class: "null" }, "null");
  return el("td", { class: isNumber(value) ? "number" : null }, textOf(value));
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || value instanceof ExactNumber;
}

function limitsText({ limit, remaining, reset }: Limits): string {
  const seconds = Math.max(0, Math.ceil(reset - Date.now() / 1000));
  return `${remaining.toLocaleString("en")} of ${count(limit, "request")} left; the window ends in ${count(seconds, "second")}.`;
}

import { downloadCsv, type ApiRequest, type Limits, MAX_ROWS, type QueryResponse } from "./api.js";
import { chartOf } from "./chart.js";
import { button, count, el, time, toggle } from "./dom.js";
import { tableOf } from "./table.js";
import type { ChartState, State } from "./state.js";

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
    content(request, result, view, chart, (next) => change({ chart: next })),
    limits !== null && el("p", { class: "note" }, limitsText(limits)),
  );
}

function content(
  request: ApiRequest,
  result: QueryResponse,
  view: State["view"],
  chart: ChartState,
  changeChart: (chart: ChartState) => void,
): HTMLElement {
  const [{ endpoint }, { rows, json }] = [request, result];
  switch (view) {
    case "table":
      return tableOf(endpoint, rows);
    case "json":
      return el("pre", { class: "code", tabindex: 0, role: "region", "aria-label": "Rows as JSON" }, json);
    case "chart":
      return (
        chartOf(endpoint, rows, chart, changeChart) ??
        el("p", { class: "note" }, "A chart needs rows with a number, and a time or a text to draw it by.")
      );
  }
}

function limitsText({ limit, remaining, reset }: Limits): string {
  const seconds = Math.max(0, Math.ceil(reset - Date.now() / 1000));
  return `${remaining.toLocaleString("en")} of ${count(limit, "request")} left; the window ends in ${count(seconds, "second")}.`;
}

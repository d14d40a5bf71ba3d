import { MAX_ROWS, type QueryResponse } from "./api.js";
import { type ApiRequest, type PagePosition, type Parameters, placeOf, totalOf } from "./api-request.js";
import type { ChartReader } from "./chart-rows.js";
import { button, copyable, count, el, time, toggle } from "./dom.js";
import { tableOf } from "./table.js";
import type { State } from "./state.js";
import { formatted, textOf } from "./values.js";

export interface ResultActions {
  readonly change: (change: Partial<Pick<State, "view" | "chart">>) => void;
  /** Shows another page. */
  readonly go: (parameters: Parameters) => void;
  /** Aborted once something else is shown. */
  readonly left: AbortSignal;
  readonly download: HTMLElement;
  readonly fail: (error: unknown) => void;
  /** The button that saves the view. */
  readonly save: HTMLElement;
  /** The rows that a chart is drawn from. */
  readonly chartReader: () => ChartReader;
}

/** The rows of a request as table, chart or JSON. */
export function resultView(
  request: ApiRequest,
  result: QueryResponse,
  position: PagePosition,
  state: Pick<State, "view" | "chart">,
  actions: ResultActions,
): HTMLElement {
  const { rows, isCut, asOf, limits, milliseconds } = result;
  const { change } = actions;
  const place = isCut ? `The first ${MAX_ROWS.toLocaleString("en")} rows` : placeOf(rows.length, position);
  const isPaged = state.view !== "chart" || Object.hasOwn(request.parameters, "limit");
  const whole = totalOf(rows.length, position);
  const until = latestIn(request, result, position);
  const took = ` · ${Math.round(milliseconds).toLocaleString("en")} ms`;
  return el(
    "div.result",
    el(
      "div.bar",
      toggle(
        "Show the rows as",
        [
          ["table", "Table"],
          ["chart", "Chart"],
          ["json", "JSON"],
        ],
        state.view,
        (view) => change({ view }),
      ),
      el(
        "span.facts",
        // A chart has the rows of all pages.
        isPaged ? el("span.place", place) : whole === null ? "All pages" : count(whole, "row"),
        // What has no room is cut: the least important stands last.
        until !== null && ` · data until ${until}`,
        asOf !== null && " · built ",
        asOf !== null && time(asOf),
        took,
      ),
      el("span.spring"),
      ...(isPaged ? pageButtons(position, actions) : []),
      actions.download,
    ),
    content(request, result, position, state, actions),
    el(
      "p.note.below",
      actions.save,
      limits !== null &&
        `${limits.remaining.toLocaleString("en")} of ${count(limits.limit, "request")} left this minute.`,
    ),
  );
}

/** The latest day in the result; null where the rows that are there do not say it. */
function latestIn(
  { endpoint, parameters }: ApiRequest,
  { rows, isCut }: QueryResponse,
  { previous, next }: PagePosition,
): string | null {
  const isWhole = previous === null && next === null && !isCut;
  const [first] = endpoint.sort;
  const isSorted = previous === null && !Object.hasOwn(parameters, "sort_by") && first?.[1] === "DESC";
  const times = endpoint.columns
    .filter(({ type }) => /date|timestamp/i.test(type ?? ""))
    .map(({ name }) => name);
  const column = isSorted && times.includes(first[0]) ? first[0] : isWhole ? times[0] : undefined;
  if (column === undefined) return null;
  const days = rows.map((row) => textOf(row[column] ?? "").slice(0, 10)).filter((day) => /^\d{4}-/.test(day));
  return days.sort().at(-1) ?? null;
}

function pageButtons(
  { skipped, previous, next }: PagePosition,
  { go }: ResultActions,
): readonly HTMLElement[] {
  if (previous === null && next === null) return [];
  const step = (label: string, parameters: Parameters | null): HTMLElement =>
    button(label, () => parameters !== null && go(parameters), {
      disabled: parameters === null,
      class: `step ${label.split(" ")[0]?.toLowerCase() ?? ""}`,
    });
  return [step(skipped === null ? "First page" : "Previous page", previous), step("Next page", next)];
}

function content(
  request: ApiRequest,
  { rows, json, isCut }: QueryResponse,
  { previous, next }: PagePosition,
  { view, chart }: Pick<State, "view" | "chart">,
  { change, go, left, chartReader, fail }: ResultActions,
): HTMLElement {
  const isWhole = previous === null && next === null && !isCut;
  if (view === "table") return tableOf(request, rows, { go, isWhole });
  if (view === "json") return copyable("Rows as JSON", json, formatted(json));
  const stop = new AbortController();
  left.addEventListener("abort", () => stop.abort());
  const read = el("span", "Loading the chart …");
  const box = el(
    "div",
    el(
      "p.note.running",
      read,
      " ",
      button("Stop", () => stop.abort()),
    ),
  );
  const show = (count: number): void =>
    read.replaceChildren(`Loading the chart … ${count.toLocaleString("en")} rows`);
  // The code of charts is loaded with the first one.
  void import("./chart.js")
    .then(({ chartOf }) =>
      chartOf(chartReader(), chart, { signal: stop.signal, show }, (next) => change({ chart: next })),
    )
    .then(
      (made) => box.replaceChildren(made ?? el("p.note", NO_CHART)),
      (error: unknown) => left.aborted || fail(error),
    );
  return box;
}

const NO_CHART = "A chart needs rows with a number, and a time or a text to draw it by.";

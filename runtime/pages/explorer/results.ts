import {
  type ApiRequest,
  MAX_ROWS,
  nextOf,
  nextPage,
  type Parameters,
  type QueryResponse,
  readText,
  sendRequest,
  withoutPage,
} from "./api.js";
import { button, copyable, count, el, time, toggle } from "./dom.js";
import { tableOf } from "./table.js";
import type { State } from "./state.js";
import { formatted } from "./values.js";

export interface ResultActions {
  readonly change: (change: Partial<Pick<State, "view" | "chart">>) => void;
  /** Shows another page. */
  readonly go: (parameters: Parameters) => void;
  readonly fail: (error: unknown) => void;
}

/** Where a page stands in the result. */
export interface PagePosition {
  /** Rows before the page; null where it is not known, after a cursor. */
  readonly skipped: number | null;
  readonly previous: Parameters | null;
  readonly next: Parameters | null;
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
  const facts = [
    isCut ? `The first ${MAX_ROWS.toLocaleString("en")} rows` : placeOf(rows.length, position),
    `${Math.round(milliseconds).toLocaleString("en")} ms`,
  ];
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
      el("span.facts", facts.join(" · "), asOf !== null && " · data as of ", asOf !== null && time(asOf)),
      el("span.spring"),
      ...pageButtons(position, actions),
      csvButton(request, actions),
    ),
    content(request, result, state, actions),
    limits !== null &&
      el(
        "p.note",
        `${limits.remaining.toLocaleString("en")} of ${count(limits.limit, "request")} left this minute.`,
      ),
  );
}

function placeOf(rows: number, { skipped, previous, next }: PagePosition): string {
  if (skipped === null || rows === 0 || (previous === null && next === null)) return count(rows, "row");
  const [first, last] = [skipped + 1, skipped + rows].map((each) => each.toLocaleString("en"));
  return `Rows ${first ?? ""} to ${last ?? ""}`;
}

function pageButtons(
  { skipped, previous, next }: PagePosition,
  { go }: ResultActions,
): readonly HTMLElement[] {
  if (previous === null && next === null) return [];
  const step = (label: string, parameters: Parameters | null): HTMLElement =>
    button(label, () => parameters !== null && go(parameters), { disabled: parameters === null });
  return [step(skipped === null ? "First page" : "Previous page", previous), step("Next page", next)];
}

function csvButton(request: ApiRequest, { fail }: ResultActions): HTMLElement {
  const label = "Download CSV";
  const made = button(
    label,
    () => {
      made.disabled = true;
      const progress = (characters: number): void => {
        made.textContent = `Downloading: ${(characters / 1e6).toFixed(1)} MB`;
      };
      void downloadCsv(request, progress)
        .catch(fail)
        .finally(() => {
          made.disabled = false;
          made.textContent = label;
        });
    },
    { title: "All rows of the result" },
  );
  return made;
}

/** Pages that one download fetches at most: each counts as a request. */
const MAX_PAGES = 100;

/**
 * Downloads the whole result as a CSV file, page by page; `progress` gets the characters read so far. The name of a file
 * that had to stop before the last page says how many rows it holds.
 */
async function downloadCsv(request: ApiRequest, progress: (characters: number) => void): Promise<void> {
  const { endpoint } = request;
  const limit = endpoint.pagination?.max_limit;
  const filters = withoutPage(request.parameters);
  let parameters: Parameters = limit === undefined ? filters : { ...filters, limit: [String(limit)] };
  // Excel reads UTF-8 with a byte order mark only.
  const texts = ["\ufeff"];
  let [read, rows, hasNext] = [0, 0, true];
  for (let page = 0; hasNext && page < MAX_PAGES; page++) {
    const response = await sendRequest({ ...request, parameters }, ".csv");
    let text = "";
    await readText(response, (piece) => {
      text += piece;
      progress(read + text.length);
      return true;
    });
    read += text.length;
    texts.push(page === 0 ? text : text.slice(text.indexOf("\r\n") + 2));
    const onPage = limit === undefined ? 0 : rowsIn(text);
    const next = nextOf(response);
    hasNext = next.hasNext;
    rows += onPage;
    parameters = nextPage(parameters, next.cursor, onPage);
  }
  const name = endpoint.path.slice(4).replaceAll("/", "-") + (hasNext ? `-first-${String(rows)}-rows` : "");
  save(new Blob(texts, { type: "text/csv" }), `${name}.csv`);
}

/** Rows of a CSV text with a header; quoted values may hold line breaks. */
function rowsIn(text: string): number {
  return text.replace(/"[^"]*"/g, "").split("\r\n").length - 2;
}

function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function content(
  request: ApiRequest,
  { rows, json }: QueryResponse,
  { view, chart }: Pick<State, "view" | "chart">,
  { change }: ResultActions,
): HTMLElement {
  if (view === "table") return tableOf(request.endpoint, rows);
  if (view === "json") return copyable("Rows as JSON", json, formatted(json));
  const box = el("div", el("p.note", "Loading the chart …"));
  // The code of charts is loaded with the first one.
  void import("./chart.js").then(({ chartOf }) => {
    const made = chartOf(request, rows, chart, (next) => change({ chart: next }));
    box.replaceChildren(made ?? el("p.note", NO_CHART));
  });
  return box;
}

const NO_CHART = "A chart needs rows with a number, and a time or a text to draw it by.";

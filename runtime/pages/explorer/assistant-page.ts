/** A chart, rows or an endpoint in the conversation with an assistant (MCP Apps; runtime/docs/mcp.md, In the conversation). */
import { App } from "@modelcontextprotocol/ext-apps";
import type { CatalogueEndpoint } from "../catalogue-body.js";
import { fetchValues, type FoundPoints, query } from "./api.js";
import { type ApiRequest, type Parameters } from "./api-request.js";
import { chooseChart, EVERY, NO_CHOICE } from "./chart-choice.js";
import { pivot } from "./chart-data.js";
import { plotOf } from "./chart-plot.js";
import { addedUp } from "./chart-sums.js";
import { notesOf } from "./chart-text.js";
import { button, type Child, count, el, time } from "./dom.js";
import { filterChips } from "./filter-chips.js";
import { filterBy, rowFilters } from "./filters.js";
import { describedEndpoint, fetchByHost } from "./host-calls.js";
import { columnsTable, facts, measuresTable, overview, parametersTable } from "./overview.js";
import { tableOf } from "./table.js";
import { keepDigits, type ShownRow, textOf } from "./values.js";
import { messageOf } from "../../core/model/outcome.js";

/** Arguments of the tools that have a view. */
interface Asked {
  readonly path: string;
  readonly x?: string;
  readonly y?: readonly string[];
  readonly by?: readonly string[];
  readonly grain?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

const root = document.querySelector("main") ?? document.body;
const app = new App({ name: "Routewright", version: "1" }, {});
globalThis.fetch = fetchByHost(app);
/** Never aborted: a frame that is closed is gone. */
const { signal } = new AbortController();

/** What each view shows of a call and the text of its result. */
const VIEWS: Readonly<Record<string, (asked: Asked, text: string) => Promise<readonly Child[]>>> = {
  chart: chartView,
  table: tableView,
  endpoint: (_, text) => Promise.resolve(endpointView(JSON.parse(text) as CatalogueEndpoint)),
};

let asked: Asked = { path: "" };

app.addEventListener("toolinput", ({ arguments: given }) => void (asked = given as unknown as Asked));
app.addEventListener("toolresult", ({ content, isError }) => {
  const [first] = content;
  const text = first?.type === "text" ? first.text : "";
  const view = VIEWS[document.body.dataset["view"] ?? ""];
  const shown = isError === true || view === undefined ? Promise.reject(new Error(text)) : view(asked, text);
  void shown
    .then((parts) => root.replaceChildren(...parts.filter((part) => part !== null && part !== false)))
    .catch(fail);
});
app.addEventListener("hostcontextchanged", ({ theme }) => setTheme(theme));
void app.connect().then(() => setTheme(app.getHostContext()?.theme), fail);

function fail(error: unknown): void {
  root.replaceChildren(el("p.problem", { role: "alert" }, messageOf(error)));
}

function setTheme(theme: "light" | "dark" | undefined): void {
  document.documentElement.classList.toggle("dark-mode", theme === "dark");
}

function parametersIn({ parameters = {} }: Asked): Parameters {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, [value].flat().map(String)]),
  );
}

/** Of the periods of points, those that the explorer puts times together by. */
const PERIODS = ["hour", "day", "week", "month"] as const;

/** The points as the explorer draws them: the service adds them up over all rows. */
async function chartView(call: Asked, text: string): Promise<readonly Child[]> {
  const { x = "", y = [], by = [] } = call;
  const endpoint = await describedEndpoint(app, call.path);
  const { points } = JSON.parse(text, keepDigits) as FoundPoints;
  const rows: readonly ShownRow[] = points.map((point) =>
    Object.fromEntries([
      [x, point.x] as const,
      ...by.map((name, i) => [name, point.by[i]] as const),
      ...y.map((name, i) => [name, point.sum[i]] as const),
    ]),
  );
  const columns = endpoint.columns.filter(({ name }) => [x, ...y, ...by].includes(name));
  const choice = { ...NO_CHOICE, x, y: y.length > 1 ? EVERY : (y[0] ?? ""), series: by[0] ?? "-" };
  const plan = chooseChart({ columns, resource: endpoint.resource, rows }, choice);
  if (plan === null) throw new Error("There is nothing to draw in these rows.");
  const request = { endpoint, parameters: parametersIn(call) };
  const grain = PERIODS.find((each) => each === call.grain);
  const whole =
    plan.kind === "figures" ? null : await addedUp(request, grain ? { ...plan, grain } : plan, signal);
  const drawn = whole?.plan ?? plan;
  const notes = [...(drawn.kind === "figures" ? [] : notesOf(drawn, pivot(drawn))), ...(whole?.notes ?? [])];
  return [el("h1", endpoint.title), plotOf(drawn, columns, notes).element, sourceOf(endpoint)];
}

function sourceOf({ path, data_as_of: asOf }: CatalogueEndpoint): HTMLElement {
  return el(
    "p.note",
    "Source: ",
    el("code", path),
    asOf !== null && " · as of ",
    asOf !== null && time(asOf),
  );
}

async function tableView(call: Asked, text: string): Promise<readonly Child[]> {
  const endpoint = await describedEndpoint(app, call.path);
  const { rows } = JSON.parse(text, keepDigits) as { readonly rows: readonly ShownRow[] };
  return [
    el("h1", endpoint.title),
    rowsView({ endpoint, parameters: parametersIn(call) }, rows),
    sourceOf(endpoint),
  ];
}

/** Rows with the facets of their columns; a click on a value asks again. */
function rowsView(request: ApiRequest, rows: readonly ShownRow[]): HTMLElement {
  const view = el("div");
  const go = (parameters: Parameters): void => {
    const next = { ...request, parameters };
    void query(next, signal).then((answer) => view.replaceWith(rowsView(next, answer.rows)), fail);
  };
  const facets = el("div.facets");
  void showFacets(facets, request, go);
  const chips = filterChips(request, go);
  view.append(facets, ...(chips === null ? [] : [chips]), tableOf(request, rows, { go, isWhole: false }));
  return view;
}

/** Columns with facets, and values of each. */
const [MAX_FACETS, MAX_VALUES] = [3, 6];

async function showFacets(
  place: HTMLElement,
  request: ApiRequest,
  go: (parameters: Parameters) => void,
): Promise<void> {
  const { endpoint } = request;
  const texts = endpoint.columns.filter(
    ({ name, type }) => /text|char|string|enum|bool/i.test(type ?? "") && canFilter(request, name),
  );
  for (const { name } of texts.slice(0, MAX_FACETS)) {
    const asks = { prefix: "", limit: MAX_VALUES, others: rowFilters(request) };
    const found = await fetchValues(endpoint, name, asks, signal).catch(() => null);
    if (found !== null) place.append(facetOf(request, name, found.values, go));
  }
}

const canFilter = (request: ApiRequest, name: string): boolean => filterBy(request, name, "x") !== null;

function facetOf(
  request: ApiRequest,
  name: string,
  values: readonly { readonly value: unknown; readonly rows?: number }[],
  go: (parameters: Parameters) => void,
): HTMLElement {
  const buttons = values.map(({ value, rows }) => {
    const label = `${value === null ? "null" : textOf(value)}${rows === undefined ? "" : ` (${count(rows, "row")})`}`;
    return button(label, () => go(filterBy(request, name, value) ?? request.parameters), { class: "facet" });
  });
  return el("div", { role: "group", "aria-label": name }, el("strong", name), " ", ...buttons);
}

function endpointView(endpoint: CatalogueEndpoint): readonly Child[] {
  const place = el("section", { "aria-label": "Rows" });
  const request = { endpoint, parameters: {} };
  const load = button("Show rows", () => {
    void query(request, signal).then(({ rows }) => place.replaceChildren(rowsView(request, rows)), fail);
  });
  place.append(load);
  return [
    ...overview(endpoint),
    facts(endpoint),
    place,
    endpoint.aggregate !== undefined && measuresTable(endpoint.aggregate),
    endpoint.columns.length > 0 && columnsTable(endpoint),
    parametersTable(endpoint),
  ];
}

/** Counts of values beside the rows, by which a click selects. Loaded when the reader opens them. */
import { fetchFacets } from "./api.js";
import { type ApiRequest, type FoundValues, type Parameters, valuesOf, withoutPage } from "./api-request.js";
import { count, el } from "./dom.js";
import { barsOf, type FacetBar } from "./facet-bars.js";
import { isChosen, listsOf, rangeOf, selectedBy, unselected } from "./facet-selection.js";
import { comparisonsOf, hasRequired, onlyFilters, rowFilters, withoutColumn } from "./filters.js";
import { messageOf } from "../../core/model/outcome.js";
import { isNumberType, textOf } from "./values.js";

/** Columns of one request (runtime/docs/system-endpoints.md, Values). */
const MAX_COLUMNS = 10;

/** Values that are listed, and those that bars are made of. */
const LISTED = 8;
const COUNTED = 1000;

type FacetKind = "text" | "number" | "time";

type Choose = (parameters: Parameters) => void;

/** The facets of a request, and what a click on one selects. */
export class FacetPanel {
  readonly element = el("div.facets");
  readonly #choose: Choose;
  #reading: AbortController | null = null;

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  /** Reads the values under the request's filters. The former stay until then. */
  async show(request: ApiRequest): Promise<void> {
    this.#reading?.abort();
    const reading = (this.#reading = new AbortController());
    if (!hasRequired(request.endpoint, onlyFilters(request.parameters)))
      return this.element.replaceChildren(el("p.note", "Choose one of the required filters first."));
    if (this.element.childElementCount === 0) this.element.append(el("p.note", "Counting values …"));
    this.element.setAttribute("aria-busy", "true");
    try {
      const found = await readFacets(request, reading.signal);
      if (!reading.signal.aborted) this.#draw(request, found);
    } catch (error) {
      if (!reading.signal.aborted)
        this.element.replaceChildren(el("p.note", { role: "status" }, messageOf(error)));
    }
    if (!reading.signal.aborted) this.element.removeAttribute("aria-busy");
  }

  /** What was pressed keeps the focus: its buttons are made anew. */
  #draw(request: ApiRequest, found: readonly Facet[]): void {
    const focused = document.activeElement?.getAttribute("data-facet") ?? null;
    const views = found.map((facet) => facetView(request, facet, this.#choose));
    this.element.replaceChildren(
      ...(views.length > 0 ? views : [el("p.note", "No column has values to count.")]),
    );
    if (focused !== null)
      this.element.querySelector<HTMLElement>(`[data-facet="${CSS.escape(focused)}"]`)?.focus();
  }
}

interface Facet {
  readonly column: string;
  readonly kind: FacetKind;
  readonly found: FoundValues;
}

/** Columns that the endpoint filters by, in its own order. */
function facetColumns(request: ApiRequest): readonly string[] {
  const { endpoint } = request;
  const compared = new Set(comparisonsOf(request).map(({ column }) => column));
  return endpoint.columns
    .filter(({ name, type }) => compared.has(name) && !/\[\]|json|^(array|map|tuple)/i.test(type ?? ""))
    .map(({ name }) => name)
    .slice(0, MAX_COLUMNS);
}

function kindOf({ endpoint }: ApiRequest, column: string): FacetKind {
  const type = endpoint.columns.find(({ name }) => name === column)?.type ?? "";
  if (/^(nullable\()?(date|timestamp)/i.test(type)) return "time";
  return isNumberType(type) ? "number" : "text";
}

async function readFacets(request: ApiRequest, signal: AbortSignal): Promise<readonly Facet[]> {
  const columns = facetColumns(request).map((column) => ({ column, kind: kindOf(request, column) }));
  const read = async (isListed: boolean): Promise<Readonly<Record<string, FoundValues>>> => {
    const asked = columns.filter(({ kind }) => (kind === "text") === isListed).map(({ column }) => column);
    const options = { limit: isListed ? LISTED : COUNTED, others: rowFilters(request) };
    return asked.length === 0 ? {} : fetchFacets(request.endpoint, asked, options, signal);
  };
  const found = { ...(await read(true)), ...(await read(false)) };
  return columns.flatMap(({ column, kind }) => {
    const values = found[column];
    return values === undefined || values.values.length === 0 ? [] : [{ column, kind, found: values }];
  });
}

function facetView(request: ApiRequest, { column, kind, found }: Facet, choose: Choose): HTMLElement {
  const bars = kind === "text" ? null : barsOf(kind, found);
  const shown =
    bars === null ? listOf(request, column, found, choose) : barsView(request, column, bars, choose);
  const isCut = found.more || (bars === null && found.values.length > LISTED);
  const listed = bars === null ? Math.min(LISTED, found.values.length) : found.values.length;
  return el(
    "div.facet",
    { role: "group", "aria-label": `Values of ${column}` },
    el("h3", column),
    shown,
    isCut && el("p.note", `The ${count(listed, "most frequent value")}.`),
  );
}

function listOf(request: ApiRequest, column: string, { values }: FoundValues, choose: Choose): HTMLElement {
  const most = Math.max(...values.map(({ rows = 0 }) => rows));
  return el(
    "div.values",
    ...values.slice(0, LISTED).map(({ value, rows }) => {
      const text = value === null ? "null" : textOf(value);
      const isPressed = isChosen(request, column, value);
      const selected = isPressed ? unselected(request, column, text) : selectedBy(request, column, value);
      const made = el(
        "button",
        {
          ...{ type: "button", "data-facet": `${column} ${text}`, disabled: selected === null },
          ...{
            "aria-pressed": isPressed ? "true" : "false",
            click: () => selected !== null && choose(selected),
          },
        },
        el("span.text", text),
        rows !== undefined && countBar(rows, most),
        el("span.rows-of", rows === undefined ? "" : rows.toLocaleString("en")),
      );
      return made;
    }),
  );
}

/** As long, or as high, as the part of the largest number. */
function countBar(rows: number, most: number): HTMLElement {
  const made = el("span.count-bar", { "aria-hidden": "true" });
  made.style.setProperty("--part", String(most === 0 ? 0 : rows / most));
  return made;
}

function barsView(
  request: ApiRequest,
  column: string,
  bars: readonly FacetBar[],
  choose: Choose,
): HTMLElement {
  const most = Math.max(...bars.map(({ rows }) => rows));
  const [first, last] = [bars[0], bars.at(-1)];
  return el(
    "div",
    el("div.facet-bars", ...bars.map((bar) => barView(request, { column, bar, most }, choose))),
    el(
      "div.facet-ends",
      { "aria-hidden": "true" },
      el("span", first?.label ?? ""),
      el("span", last?.label ?? ""),
    ),
  );
}

function barView(
  request: ApiRequest,
  { column, bar, most }: { readonly column: string; readonly bar: FacetBar; readonly most: number },
  choose: Choose,
): HTMLElement {
  const range = rangeOf(request, column, bar);
  const isPressed =
    range !== null &&
    Object.entries(range).every(([name, text]) => valuesOf(request.parameters, name)[0] === text);
  const others = withoutPage(withoutColumn(request, column));
  const label = `${bar.label}: ${count(bar.rows, "row")}`;
  return el(
    "button",
    {
      ...{ type: "button", title: label, "aria-label": label, "data-facet": `${column} ${bar.from}` },
      ...{ disabled: range === null, "aria-pressed": isPressed ? "true" : "false" },
      click: () => choose(isPressed ? others : { ...others, ...listsOf(range ?? {}) }),
    },
    countBar(bar.rows, most),
  );
}

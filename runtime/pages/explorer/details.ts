import type { CatalogueBody, CatalogueEndpoint, UpstreamNode } from "../catalogue-body.js";
import { fetchTotal, query, type QueryResponse } from "./api.js";
import { type ApiRequest, nextPage, pageBefore, type Parameters } from "./api-request.js";
import { coloured } from "./code-colours.js";
import { downloadMenu } from "./downloads.js";
import type { Language, LANGUAGES, sampleOf } from "./code-samples.js";
import { type Child, copyable, el, toggle } from "./dom.js";
import { ASK_FOR_KEY, failedView } from "./failed-request.js";
import { requiredValues } from "./required.js";
import { markField, parameterForm } from "./parameter-form.js";
import type { FacetPanel } from "./facets.js";
import { filterChips } from "./filter-chips.js";
import { comparisonsOf, filtersInWords, hasRequired, rowsOf } from "./filters.js";
import { withoutTotals } from "./asked-groups.js";
import { groupingChips } from "./grouping.js";
import { withoutOldResults } from "./result-filters.js";
import { lineageGraph } from "./lineage.js";
import { columnsTable, facts, measuresTable, overview, parametersTable } from "./overview.js";
import { ChartReader } from "./chart-rows.js";
import { type PagePosition, placeOf, totalOf } from "./api-request.js";
import { resultView } from "./results.js";
import { type State, writeState } from "./state.js";
import { remember, saveButton } from "./views.js";
import { key } from "./storage.js";
import { allows, TIER_NAMES } from "../../core/model/tier.js";
import { messageOf } from "../../core/model/outcome.js";

/** One endpoint: overview, request form, result, columns and lineage. */
export class EndpointDetails {
  readonly element: HTMLElement;
  readonly #endpoint: CatalogueEndpoint;
  readonly #change: (change: Partial<State>) => void;
  readonly #rows = el("div.answer", { "aria-live": "polite" });
  readonly #samples = el("div.samples");
  readonly #form = el("div");
  readonly #chips = el("div");
  readonly #facets = el("details.counts");
  /** Once the reader has opened them. */
  #facetPanel: FacetPanel | null = null;
  #state: State;
  #language: Language = "curl";
  #running: AbortController | null = null;
  /** Ends what the shown result still reads, such as the rows of its chart. */
  #shown = new AbortController();
  /** Of the result: it stays while another view of it is shown. */
  #download: HTMLElement | null = null;
  #result: QueryResponse | null = null;
  /** Pages reached by "Next page", by their parameters: the rows before each, and the page before. */
  readonly #trail = new Map<string, Omit<PagePosition, "next" | "total">>();
  /** Rows of the chart, and the parameters that they are of. */
  #chart: { readonly of: string; readonly reader: ChartReader } | null = null;
  /** Rows on all pages, by the filters that select them. */
  readonly #totals = new Map<string, number | null>();

  constructor(
    endpoint: CatalogueEndpoint,
    body: Pick<CatalogueBody, "tier" | "about">,
    lineage: ReadonlyMap<string, UpstreamNode> | null,
    state: State,
    change: (change: Partial<State>) => void,
  ) {
    this.#endpoint = endpoint;
    this.#state = state;
    this.#change = change;
    const graph = lineage === null ? null : lineageGraph(endpoint.node, lineage);
    this.element = el(
      "article",
      { "aria-labelledby": "endpoint-title" },
      ...overview(endpoint),
      endpoint.callable
        ? el(
            "div.workspace",
            el("section", { "aria-label": "Request" }, this.#form, this.#facets, this.#chips),
            el("section.output", { "aria-label": "Result" }, this.#rows),
            section("Code", this.#samples),
          )
        : el(
            "p.warning",
            allows(body.tier, endpoint.tier)
              ? "This key may not call it: its list names neither the category nor the path."
              : `Needs ${TIER_NAMES[endpoint.tier]} (${endpoint.tier}): ${ASK_FOR_KEY}`,
            ...askedOf(body.about.contact),
          ),
      facts(endpoint),
      !endpoint.callable && section("Parameters", parametersTable(endpoint)),
      endpoint.aggregate !== undefined && section("Measures", measuresTable(endpoint.aggregate)),
      endpoint.aggregate?.of !== "metrics" && section("Columns", columnsTable(endpoint)),
      graph !== null && section("Made from", graph),
    );
    if (!endpoint.callable) return;
    remember(this.#viewOf(state));
    this.#addFacets();
    this.#fillForm();
    this.#runWhenComplete();
  }

  /** Values with their numbers of rows, which are read while they are open. */
  #addFacets(): void {
    if (comparisonsOf(this.#request).length === 0) return this.#facets.remove();
    this.#facets.append(el("summary", "Values and their rows"));
    this.#facets.addEventListener("toggle", () => void this.#showFacets());
  }

  async #showFacets(): Promise<void> {
    if (!this.#facets.open) return;
    const { FacetPanel: Panel } = await import("./facets.js");
    this.#facetPanel ??= new Panel((parameters) => this.#change({ parameters }));
    if (!this.#facetPanel.element.isConnected) this.#facets.append(this.#facetPanel.element);
    await this.#facetPanel.show(this.#request);
  }

  /** The address of a state, and what it shows in words. */
  #viewOf(state: State) {
    const words = filtersInWords({ endpoint: this.#endpoint, parameters: state.parameters }).values();
    const view = state.view === "table" ? [] : [state.view];
    const title = [this.#endpoint.title, ...words, ...view].join(" · ");
    return { address: writeState({ ...state, search: "", category: "", tier: "" }), title };
  }

  get #request(): ApiRequest {
    return { endpoint: this.#endpoint, parameters: this.#state.parameters };
  }

  /** Updates it after the address has changed. */
  update(state: State): void {
    if (!this.#endpoint.callable) return;
    remember(this.#viewOf(state));
    const isSame = JSON.stringify(state.parameters) === JSON.stringify(this.#state.parameters);
    this.#state = state;
    if (isSame) return this.#showResult();
    this.#fillForm();
    this.#runWhenComplete();
  }

  /** Another endpoint is shown: nothing more is read. */
  leave(): void {
    this.#running?.abort();
    this.#shown.abort();
  }

  #forget(): void {
    this.leave();
    this.#result = null;
    this.#chart = null;
    this.#download = null;
  }

  #runWhenComplete(): void {
    if (hasRequired(this.#endpoint, this.#state.parameters)) return void this.run();
    this.#forget();
    this.#rows.replaceChildren(requiredValues(this.#request, (parameters) => this.#change({ parameters })));
  }

  /** The chip that was pressed keeps the focus: chips are made anew. */
  #fillChips(): void {
    const focused = document.activeElement?.getAttribute("data-chip") ?? null;
    const change = (parameters: Parameters): void => this.#change({ parameters });
    const regroup = (parameters: Parameters): void =>
      change(withoutOldResults({ endpoint: this.#endpoint, parameters }));
    const chips = [groupingChips(this.#request, regroup), filterChips(this.#request, change)];
    this.#chips.replaceChildren(...chips.filter((each) => each !== null));
    if (focused !== null)
      this.#chips.querySelector<HTMLElement>(`[data-chip="${CSS.escape(focused)}"]`)?.focus();
  }

  #fillForm(): void {
    this.#fillChips();
    const wasOpen = this.#form.querySelector<HTMLDetailsElement>(".request")?.open;
    const form = parameterForm(this.#request, (parameters) => {
      if (JSON.stringify(parameters) === JSON.stringify(this.#state.parameters)) void this.run();
      else this.#change({ parameters });
    });
    this.#form.replaceChildren(collapsible(form, wasOpen ?? false));
    void this.#showSamples();
    void this.#showFacets();
  }

  async run(): Promise<void> {
    this.#forget();
    const running = new AbortController();
    this.#running = running;
    this.#rows.replaceChildren(el("p.note.running", "Running …"));
    try {
      const result = await query(this.#request, running.signal);
      if (running.signal.aborted) return;
      this.#result = result;
      this.#showResult();
      if (result.hasNext || this.#position(result).previous !== null) await this.#count(running.signal);
    } catch (error) {
      if (!running.signal.aborted) this.#fail(error);
    }
  }

  /** Reads how many rows there are; the page is complete without. */
  async #count(signal: AbortSignal): Promise<void> {
    const filters = this.#filters;
    if (this.#totals.has(filters)) return;
    const total = await fetchTotal(this.#request, signal).catch(() => null);
    if (signal.aborted) return;
    this.#totals.set(filters, total);
    const place = this.#rows.querySelector(".place");
    if (place !== null && this.#result !== null)
      place.textContent = placeOf(this.#result.rows.length, this.#position(this.#result));
  }

  /** What decides how many rows there are. */
  get #filters(): string {
    return JSON.stringify(rowsOf(this.#state.parameters));
  }

  #showResult(): void {
    const result = this.#result;
    if (result === null) return;
    const position = this.#position(result);
    const go = (parameters: Parameters): void => {
      const { skipped } = position;
      if (parameters === position.next)
        this.#trail.set(JSON.stringify(parameters), {
          skipped: skipped === null ? null : skipped + result.rows.length,
          previous: this.#state.parameters,
        });
      this.#change({ parameters });
    };
    this.#shown.abort();
    this.#shown = new AbortController();
    this.#download ??= this.#downloadOf(result);
    this.#rows.replaceChildren(
      resultView(this.#request, result, position, this.#state, {
        change: this.#change,
        go,
        left: this.#shown.signal,
        download: this.#download,
        fail: (error) => this.#fail(error),
        chartReader: () => this.#chartReader(result),
        save: saveButton(() => this.#viewOf(this.#state)),
      }),
    );
  }

  /** One that fails once other rows are shown leaves them. */
  #downloadOf(result: QueryResponse): HTMLElement {
    const total = (): number | null => totalOf(result.rows.length, this.#position(result));
    const fail = (error: unknown): void => {
      if (this.#result === result) return this.#fail(error);
      this.#rows.prepend(
        el("div.problem", { role: "alert" }, `The download has failed. ${messageOf(error)}`),
      );
    };
    return downloadMenu(this.#request, total, fail);
  }

  /** The rows of all pages; those of the page where the request has a limit of its own. */
  #chartReader(result: QueryResponse): ChartReader {
    const of = JSON.stringify(this.#state.parameters);
    const request = withoutTotals(this.#request);
    const page = request.parameters === this.#state.parameters ? result : null;
    if (this.#chart?.of !== of) this.#chart = { of, reader: new ChartReader(request, page) };
    return this.#chart.reader;
  }

  #position({ hasNext, cursor, rows }: QueryResponse): PagePosition {
    const { parameters } = this.#state;
    const next = hasNext ? nextPage(parameters, cursor, rows.length) : null;
    const total = this.#totals.get(this.#filters) ?? null;
    const known = this.#trail.get(JSON.stringify(parameters));
    if (known !== undefined) return { ...known, total, next };
    return { ...pageBefore(this.#endpoint, parameters), total, next };
  }

  #fail(error: unknown): void {
    this.#forget();
    markField(this.#form, messageOf(error));
    this.#rows.replaceChildren(failedView(error, () => void this.run()));
  }

  /** The code of samples is loaded with the first endpoint. */
  async #showSamples(): Promise<void> {
    this.#drawSamples(await import("./code-samples.js"));
  }

  #drawSamples(code: SampleCode): void {
    const hasKey = key.get() !== "" || this.#endpoint.tier !== "tier0";
    const text = code.sampleOf(this.#request, this.#language, hasKey);
    const choose = (language: Language): void => {
      this.#language = language;
      this.#drawSamples(code);
    };
    this.#samples.replaceChildren(
      el("div.bar", toggle("Request as", code.LANGUAGES, this.#language, choose)),
      copyable("Request as code", text, ...coloured(text)),
    );
  }
}

/** The part of the page that is loaded with the first endpoint. */
interface SampleCode {
  readonly LANGUAGES: typeof LANGUAGES;
  readonly sampleOf: typeof sampleOf;
}

/** On a phone the form is one line that opens, so that the rows are in sight. */
const NARROW = matchMedia("(max-width: 760px)");
NARROW.addEventListener("change", () => {
  const request = document.querySelector<HTMLDetailsElement>(".request");
  if (request !== null && !NARROW.matches) request.open = true;
});

function collapsible(form: HTMLFormElement, isOpen: boolean): HTMLElement {
  const fields = form.querySelectorAll(".input").length;
  if (fields === 0) return form;
  const summary = el("summary", `Filters and page (${String(fields)})`);
  return el("details.request", { open: isOpen || !NARROW.matches }, summary, form);
}

function askedOf(contact: string | null): readonly Child[] {
  const asked = contact && el("a", { href: contact }, contact.replace(/^mailto:/, ""));
  return asked ? [" To get a key: ", asked, "."] : [" To get a key, ask the operator of this API."];
}

function section(title: string, ...children: readonly Child[]): HTMLElement {
  return el("section", el("h3", title), ...children);
}

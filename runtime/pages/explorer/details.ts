import type { Method } from "../../model/endpoint.js";
import type { CatalogueEndpoint, LineageNode } from "../catalogue-body.js";
import { type ApiRequest, key, query, type QueryResponse, ServiceError, withMethod } from "./api.js";
import { button, type Child, copyButton, el, toggle } from "./dom.js";
import { markField, parameterForm, readForm } from "./parameter-form.js";
import { lineageGraph } from "./lineage.js";
import { columnsTable, facts, overview } from "./overview.js";
import { resultView } from "./results.js";
import { highlighted, type Language, LANGUAGES, samplesOf } from "./samples.js";
import type { State } from "./state.js";
import { allows, type Tier, TIER_NAMES } from "../../model/tier.js";
import { messageOf } from "../../model/error-message.js";

/** The page of one endpoint: overview, request form, result, columns and lineage. */
export class EndpointDetails {
  readonly element: HTMLElement;
  readonly #endpoint: CatalogueEndpoint;
  readonly #change: (change: Partial<State>) => void;
  readonly #rows = el("div", { class: "answer", "aria-live": "polite" });
  readonly #samples = el("div", { class: "samples" });
  readonly #form = el("div", {});
  #state: State;
  #language: Language = "curl";
  #running: AbortController | null = null;
  #result: QueryResponse | null = null;

  constructor(
    endpoint: CatalogueEndpoint,
    held: Tier,
    lineage: ReadonlyMap<string, LineageNode> | null,
    state: State,
    change: (change: Partial<State>) => void,
  ) {
    this.#endpoint = endpoint;
    this.#state = state;
    this.#change = change;
    const graph = lineage === null ? null : lineageGraph(endpoint.node, lineage);
    this.element = el(
      "article",
      { "aria-labelledby": "endpoint-path" },
      ...overview(endpoint),
      endpoint.callable
        ? el(
            "div",
            { class: "workspace" },
            el("section", { class: "output", "aria-label": "Result" }, this.#rows),
            section("Request", this.#form),
            section("Code", this.#samples),
          )
        : el(
            "p",
            { class: "warning" },
            allows(held, endpoint.tier)
              ? "This key may not call it: its list names neither the category nor the path."
              : `Needs ${TIER_NAMES[endpoint.tier]} (${endpoint.tier}): ${ASK_FOR_KEY}`,
          ),
      facts(endpoint),
      section("Columns", columnsTable(endpoint)),
      graph !== null && section("Made from", graph),
    );
    if (!endpoint.callable) return;
    this.#fillForm();
    this.#runWhenComplete();
  }

  get #request(): ApiRequest {
    const { method, parameters } = this.#state;
    return {
      endpoint: this.#endpoint,
      method: this.#endpoint.methods.includes(method) ? method : "GET",
      parameters,
    };
  }

  /** Updates the page after its address has changed. */
  update(state: State): void {
    if (!this.#endpoint.callable) return;
    const textOf = ({ method, parameters }: Pick<State, "method" | "parameters">): string =>
      JSON.stringify([method, parameters]);
    const isSame = textOf(state) === textOf(this.#state);
    const isChosen = state.method !== this.#state.method;
    this.#state = state;
    if (isSame) return this.#showResult();
    this.#fillForm();
    if (isChosen) this.#wait("Run it to see its rows.");
    else this.#runWhenComplete();
  }

  #runWhenComplete(): void {
    const { require_any_of } = this.#endpoint;
    const given = Object.keys(this.#state.parameters);
    const isGiven = (name: string) => given.some((each) => each === name || each.startsWith(`${name}[`));
    if (require_any_of.length === 0 || require_any_of.some(isGiven)) return void this.run();
    this.#wait("Fill in a parameter, then run it.");
  }

  #wait(words: string): void {
    this.#running?.abort();
    this.#result = null;
    this.#rows.replaceChildren(el("p", { class: "note" }, words));
  }

  #fillForm(): void {
    const request = this.#request;
    const form = parameterForm(request, (parameters) => {
      if (JSON.stringify(parameters) === JSON.stringify(this.#state.parameters)) void this.run();
      else this.#change({ parameters });
    });
    const { methods } = this.#endpoint;
    const choose = (method: string): void =>
      this.#change(withMethod({ ...request, parameters: readForm(form, request) }, method as Method));
    this.#form.replaceChildren(
      ...(methods.length < 2
        ? []
        : [
            el(
              "div",
              { class: "bar" },
              toggle(
                "Method",
                methods.map((method) => [method, method] as const),
                request.method,
                choose,
              ),
              el("span", { class: "facts" }, METHOD_HINTS[request.method]),
            ),
          ]),
      form,
    );
    this.#showSamples();
  }

  async run(): Promise<void> {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.#rows.replaceChildren(el("p", { class: "note" }, "Running …"));
    try {
      const result = await query(this.#request, running.signal);
      if (running.signal.aborted) return;
      this.#result = result;
      this.#showResult();
    } catch (error) {
      if (!running.signal.aborted) this.#fail(error);
    }
  }

  #showResult(): void {
    const [result, { parameters }] = [this.#result, this.#state];
    if (result === null) return;
    const next = (): void => {
      const { offset, ...others } = parameters;
      const skipped = Number(offset?.[0] ?? 0) + result.rows.length;
      const place = result.cursor === null ? { offset: [String(skipped)] } : { cursor: [result.cursor] };
      this.#change({ parameters: { ...others, ...place } });
    };
    this.#rows.replaceChildren(
      resultView(this.#request, result, this.#state, {
        change: this.#change,
        next,
        fail: (error) => this.#fail(error),
      }),
    );
  }

  #fail(error: unknown): void {
    this.#result = null;
    const words = messageOf(error);
    const isKeyNeeded = error instanceof ServiceError && error.status === 403;
    const requestId = error instanceof ServiceError ? error.requestId : null;
    markField(this.#form, words);
    this.#rows.replaceChildren(
      el(
        "div",
        { class: "problem", role: "alert" },
        el("strong", {}, words),
        requestId !== null && el("p", {}, "Request id: ", el("code", {}, requestId)),
        button("Try again", () => void this.run()),
        isKeyNeeded && el("p", {}, `Next: ${ASK_FOR_KEY}`),
      ),
    );
  }

  #showSamples(): void {
    const hasKey = key.get() !== "" || this.#endpoint.tier !== "tier0";
    const samples = samplesOf(this.#request, location.origin, hasKey);
    const choose = (value: string): void => {
      this.#language = LANGUAGES.find((each) => each === value) ?? "curl";
      this.#showSamples();
    };
    this.#samples.replaceChildren(
      el(
        "div",
        { class: "bar" },
        toggle(
          "Request as",
          LANGUAGES.map((each) => [each, each] as const),
          this.#language,
          choose,
        ),
        el("span", { class: "spring" }),
        copyButton(() => samples[this.#language]),
      ),
      el(
        "pre",
        { class: "code", tabindex: 0, role: "region", "aria-label": "Request as code" },
        ...highlighted(samples[this.#language]),
      ),
    );
  }
}

const ASK_FOR_KEY = "enter a key of this tier at the top of the page.";

/** Hints for the choice of the method. */
const METHOD_HINTS: Readonly<Record<Method, string>> = {
  GET: "Parameters in the address.",
  POST: "Parameters in a JSON body: for long lists, and for values with commas.",
};

function section(title: string, ...children: readonly Child[]): HTMLElement {
  return el("section", {}, el("h3", {}, title), ...children);
}

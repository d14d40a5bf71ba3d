import { TIER_NAMES } from "../../model/tier.js";
import type { CatalogueEndpoint, LineageNode, TestSummary } from "../catalogue.js";
import { type ApiRequest, key, type Method, query, type Result, ServiceError, withMethod } from "./api.js";
import { type Child, copyButton, count, el, time, toggle } from "./dom.js";
import { parameterForm, readForm } from "./form.js";
import { lineageGraph } from "./lineage.js";
import { resultView } from "./results.js";
import { type Language, LANGUAGES, samplesOf } from "./samples.js";
import type { State } from "./state.js";

/** One endpoint: what it is, a form to try it, its rows, its columns, what it is made from. */
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
  #result: Result | null = null;

  constructor(
    endpoint: CatalogueEndpoint,
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
      heading(endpoint),
      el("p", { class: "description" }, endpoint.description || "No description."),
      deprecation(endpoint),
      facts(endpoint),
      section("Try it", this.#form, this.#samples, this.#rows),
      section(`Columns`, columnsTable(endpoint)),
      graph !== null && section("Made from", graph),
    );
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

  /** Takes a change of the page's address. */
  update(state: State): void {
    const textOf = ({ method, parameters }: Pick<State, "method" | "parameters">): string =>
      JSON.stringify([method, parameters]);
    const isSame = textOf(state) === textOf(this.#state);
    this.#state = state;
    if (isSame) return this.#showResult();
    this.#fillForm();
    this.#runWhenComplete();
  }

  #runWhenComplete(): void {
    if (this.#endpoint.require_any_of.length === 0 || Object.keys(this.#state.parameters).length > 0)
      return void this.run();
    this.#running?.abort();
    this.#result = null;
    this.#rows.replaceChildren(el("p", { class: "note" }, "Fill in a parameter, then run it."));
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
      const offset = Number(parameters["offset"]?.[0] ?? 0) + result.rows.length;
      this.#change({ parameters: { ...parameters, offset: [String(offset)] } });
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
    const words = error instanceof Error ? error.message : String(error);
    const isKeyNeeded = error instanceof ServiceError && error.status === 403;
    this.#rows.replaceChildren(
      el(
        "div",
        { class: "problem", role: "alert" },
        el("strong", {}, words),
        isKeyNeeded && el("p", {}, "Enter a key of a higher tier at the top of the page."),
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
        samples[this.#language],
      ),
    );
  }
}

/** What each method is for. */
const METHOD_HINTS: Readonly<Record<Method, string>> = {
  GET: "Parameters in the address.",
  POST: "Parameters in a JSON body: for long lists, and for values with commas.",
};

function heading({ path, methods, tier, model }: CatalogueEndpoint): HTMLElement {
  return el(
    "header",
    {},
    el(
      "div",
      { class: "badges" },
      ...methods.map((method) => el("span", { class: "badge method" }, method)),
      el("span", { class: `badge ${tier}` }, `${TIER_NAMES[tier]} (${tier})`),
    ),
    el("h2", { id: "endpoint-path", tabindex: -1 }, path),
    el("p", { class: "model" }, `dbt model ${model}`),
  );
}

function deprecation({ deprecation_date, successor }: CatalogueEndpoint): Child {
  if (deprecation_date === null && successor === null) return null;
  return el(
    "p",
    { class: "warning" },
    deprecation_date === null ? "There is a later version" : "Deprecated: it may be removed ",
    deprecation_date !== null && time(deprecation_date),
    successor !== null && ": use ",
    successor !== null && el("a", { href: `?endpoint=${encodeURIComponent(successor)}` }, successor),
    ".",
  );
}

function facts({ last_build, data_as_of, tests, pagination, sort }: CatalogueEndpoint): HTMLElement {
  const rows: (readonly [string, readonly Child[]])[] = [
    ["Last build", buildFact(last_build)],
    ["Data as of", data_as_of === null ? [] : [time(data_as_of)]],
    ["Tests", tests === null ? ["none"] : [testsFact(tests)]],
    [
      "Rows per page",
      pagination === null
        ? ["all"]
        : [
            `${pagination.default_limit.toLocaleString("en")}, at most ${pagination.max_limit.toLocaleString("en")}`,
          ],
    ],
    ["Sorted by", sort.length === 0 ? [] : [sort.map((order) => order.join(" ")).join(", ")]],
  ];
  return el(
    "dl",
    { class: "facts" },
    ...rows
      .filter(([, value]) => value.length > 0)
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value))),
  );
}

function buildFact(build: CatalogueEndpoint["last_build"]): readonly Child[] {
  if (build === null) return ["not known"];
  const rows = build.rows === null ? "" : `, ${count(build.rows, "row")}`;
  return [build.failed && el("strong", { class: "bad" }, "failed "), time(build.completed_at), rows];
}

function testsFact({ passed, warned, failed, unknown, problems }: TestSummary): HTMLElement {
  const parts = [
    [passed, "passed", "good"],
    [warned, "warned", "odd"],
    [failed, "failed", "bad"],
    [unknown, "not run yet", ""],
  ] as const;
  const summary = parts
    .filter(([number]) => number > 0)
    .map(([number, words, style], i) =>
      el("span", { class: style }, `${i === 0 ? "" : ", "}${String(number)} ${words}`),
    );
  if (problems.length === 0) return el("span", {}, ...summary);
  const list = problems.map(({ name, status, failures }) =>
    el("li", {}, `${name}: ${status}${failures === null ? "" : `, ${count(failures, "row")}`}`),
  );
  return el("details", {}, el("summary", {}, ...summary), el("ul", {}, ...list));
}

function columnsTable({ columns }: CatalogueEndpoint): HTMLElement {
  if (columns.length === 0)
    return el("p", { class: "note" }, "The model declares no columns: all of the table's are served.");
  return el(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": "Columns" },
    el(
      "table",
      { class: "columns" },
      el(
        "thead",
        {},
        el("tr", {}, ...["Column", "Type", "Description"].map((name) => el("th", { scope: "col" }, name))),
      ),
      el(
        "tbody",
        {},
        ...columns.map(({ name, type, description, accepted_values }) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, name),
            el("td", { class: "type" }, type ?? ""),
            el(
              "td",
              {},
              description,
              accepted_values !== undefined && ` One of: ${accepted_values.join(", ")}.`,
            ),
          ),
        ),
      ),
    ),
  );
}

function section(title: string, ...children: readonly Child[]): HTMLElement {
  return el("section", {}, el("h3", {}, title), ...children);
}

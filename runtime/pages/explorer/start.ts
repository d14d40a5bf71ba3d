/** The first page of the explorer: what the API holds, a call that answers, and the way to a key. */
import { type CatalogueBody, type CatalogueEndpoint, categoriesOf, lockOf } from "../catalogue-body.js";
import type { Tier } from "../../core/model/tier.js";
import { titleInWords } from "../../core/model/endpoint-title.js";
import { answersOf } from "./answers.js";
import { BASE, readText, curlOf, sendRequest } from "./api.js";
import { button, type Child, copyable, count, el, prose, time } from "./dom.js";
import { liveEndpoint } from "../live-endpoint.js";
import { figureView, headlineView } from "./figures.js";
import { type LiveFigure, readFigure, readHeadline } from "./live-figure.js";
import type { State } from "./state.js";
import { key } from "./storage.js";
import { viewsSection } from "./views.js";
import { formatted } from "./values.js";

/** What the first page needs of the page around it. */
interface StartActions {
  readonly change: (changes: Partial<State>) => void;
  /** The list's own search box, which stands in the middle while no endpoint is open. */
  readonly search: HTMLElement;
  /** What changed for consumers. */
  readonly changes: () => Child;
}

/** Follows the search and the filters. */
export class StartPage {
  readonly element: HTMLElement;
  readonly #body: CatalogueBody;
  readonly #actions: StartActions;
  readonly #heading = el("h2", { id: "start", tabindex: -1 });
  readonly #status = el("p.found");
  readonly #about: HTMLElement;
  readonly #headline = el("div.awaited");
  readonly #rest = el("div.rest");
  /** What has been read, by path: typing in the search reads nothing again. */
  readonly #figures = new Map<string, Promise<LiveFigure | null>>();
  readonly #answers = new Map<string, Promise<Node>>();

  constructor(body: CatalogueBody, actions: StartActions) {
    this.#body = body;
    this.#actions = actions;
    this.#about = el("p.about-api");
    this.element = el(
      "div.welcome",
      this.#heading,
      this.#about,
      el("div.hero"),
      this.#status,
      this.#headline,
      this.#rest,
    );
    whenVisible(this.#status, () => this.#showHeadline());
  }

  /** Left out where nothing can be read: the page works without it. */
  async #showHeadline(): Promise<void> {
    const figures = await readHeadline(this.#body.endpoints).catch(() => []);
    this.#headline.classList.remove("awaited");
    if (figures.length > 0) this.#headline.replaceChildren(headlineView(figures, this.#actions.change));
  }

  /** Takes the search box, from the list or from nowhere. */
  takeSearch(): void {
    this.element.querySelector(".hero")?.replaceChildren(this.#actions.search);
  }

  update(found: readonly CatalogueEndpoint[], { search, category }: State): void {
    const { title, endpoints } = this.#body;
    const { change, changes } = this.#actions;
    const isAll = found.length === endpoints.length;
    this.#heading.textContent = titleInWords(category) || (search ? `Found for “${search}”` : title);
    this.#about.replaceChildren(el("span", ...prose(this.#aboutOf(found, category, isAll))));
    this.#about.toggleAttribute("hidden", this.#about.textContent === "");
    this.#headline.toggleAttribute("hidden", !isAll);
    this.#status.textContent = `${count(found.length, "endpoint")}.`;
    this.element.classList.toggle("narrowed", !isAll);
    const parts: readonly Child[] = [
      !isAll && button("Show all endpoints", () => change({ search: "", category: "", tier: "" })),
      category === "" && this.#cards(found),
      ...this.#firstCall(found),
      el("h3", "Key"),
      ...keyPart(this.#body),
      isAll && viewsSection(),
      isAll && changes(),
    ];
    this.#rest.replaceChildren(...parts.filter((part) => part !== null && part !== false));
  }

  /** The API's text, or that of a category and what it answers. */
  #aboutOf(found: readonly CatalogueEndpoint[], category: string, isAll: boolean): string {
    if (isAll) return this.#body.about.description;
    if (category === "" || found.length === 0) return "";
    const own = this.#descriptionOf(category);
    return [own, answersOf(found)].filter((text) => text !== "").join(" ");
  }

  #descriptionOf(category: string): string {
    return this.#body.categories.find(({ name }) => name === category)?.description ?? "";
  }

  #cards(found: readonly CatalogueEndpoint[]): HTMLElement {
    return el("ul.cards", ...[...categoriesOf(found).keys()].map((name) => this.#card(name, found)));
  }

  #card(name: string, found: readonly CatalogueEndpoint[]): HTMLElement {
    const endpoints = found.filter((endpoint) => endpoint.category === name);
    const described = this.#descriptionOf(name);
    const lock = lockOfAll(endpoints, this.#body.tier);
    const built = latestBuild(endpoints);
    const figure = el("div.figure");
    const live = liveEndpoint(endpoints);
    if (live !== null) whenVisible(figure, () => this.#show(live, figure));
    return el(
      "li.card",
      el(
        "button",
        { type: "button", click: () => this.#actions.change({ category: name }) },
        el("strong", titleInWords(name)),
        el("span", count(endpoints.length, "endpoint")),
      ),
      described !== "" && el("p.about", ...prose(described)),
      el("p.about", answersOf(endpoints)),
      lock !== null && el("p", lock),
      built !== null && el("p.built", "Built ", time(built)),
      live !== null && figure,
    );
  }

  async #show(endpoint: CatalogueEndpoint, place: HTMLElement): Promise<void> {
    const { path } = endpoint;
    // A figure that cannot be read is left out: the page works without it.
    const reading = this.#figures.get(path) ?? readFigure(endpoint).catch(() => null);
    this.#figures.set(path, reading);
    const figure = await reading;
    if (figure === null) place.remove();
    else place.replaceChildren(...figureView(figure, this.#actions.change));
  }

  /** A call to copy that answers without a parameter, and its answer. */
  #firstCall(found: readonly CatalogueEndpoint[]): readonly Child[] {
    const base = [el("h3", "Base address"), copyable("Base address", BASE)];
    const callable = found.filter((each) => each.callable && each.require_any_of.length === 0);
    const endpoint = callable.find(({ tier }) => tier === "tier0") ?? callable[0];
    if (endpoint === undefined) return base;
    const { pagination } = endpoint;
    const limit = pagination && String(Math.min(5, pagination.max_limit));
    const request = { endpoint, parameters: limit === null ? ({} as const) : { limit: [limit] } };
    const answer = el("div.first-answer");
    whenVisible(answer, async () => {
      const reading = this.#answers.get(endpoint.path) ?? inTurn(() => answerOf(request)).catch(() => null);
      const shown = await reading;
      if (shown === null) return;
      this.#answers.set(endpoint.path, Promise.resolve(shown));
      answer.replaceChildren(shown);
    });
    return [
      ...base,
      el("h3", "First call"),
      copyable("First call", curlOf(request, endpoint.tier !== "tier0")),
      answer,
    ];
  }
}

/** Why none of the endpoints may be called; null where one may. */
function lockOfAll(endpoints: readonly CatalogueEndpoint[], tier: Tier): string | null {
  const locks = endpoints.map((endpoint) => lockOf(endpoint, tier));
  const [first] = locks;
  if (!first || locks.includes(null)) return null;
  const lock = new Set(locks).size === 1 ? first : "needs another key";
  return `${lock.charAt(0).toUpperCase()}${lock.slice(1)}.`;
}

function latestBuild(endpoints: readonly CatalogueEndpoint[]): string | null {
  const builds = endpoints.flatMap(
    ({ data_as_of, last_build }) => data_as_of ?? last_build?.completed_at ?? [],
  );
  return builds.sort().at(-1) ?? null;
}

/** Runs one after another: the page asks for one thing at a time. */
let turn: Promise<unknown> = Promise.resolve();
function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const result = turn.then(run);
  turn = result.catch(() => undefined);
  return result;
}

/** Runs once the element comes into sight. */
function whenVisible(element: Element, run: () => Promise<void>): void {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    void run();
  });
  observer.observe(element);
}

/** Characters of an answer that are shown. */
const MAX_ANSWER = 1500;

async function answerOf(request: Parameters<typeof sendRequest>[0]): Promise<Node> {
  const started = performance.now();
  const response = await sendRequest(request, "");
  let text = "";
  await readText(response, (piece) => {
    text += piece;
    return text.length <= MAX_ANSWER;
  });
  const took = `${Math.round(performance.now() - started).toLocaleString("en")} ms`;
  const shown = formatted(text.slice(0, MAX_ANSWER)) + (text.length > MAX_ANSWER ? " …" : "");
  return el(
    "div",
    el("p.note", `${String(response.status)} · ${took}`),
    el("pre.code", { tabindex: 0, role: "region", "aria-label": "Answer" }, shown),
  );
}

/** What the tab's key opens, and how to get another one where the operator says it. */
function keyPart({ about, endpoints, locked }: CatalogueBody): readonly Child[] {
  const { contact, terms_of_service: terms } = about;
  const hasKey = key.get() !== "";
  const shown = endpoints.filter(({ callable }) => !callable).length;
  const hidden = Object.values(locked).reduce((sum, number) => sum + number, 0);
  const closed = shown > 0 ? shown : hidden;
  const verb = closed === 1 ? "needs" : "need";
  const state =
    closed > 0
      ? `${count(closed, "endpoint")} ${verb} ${hasKey ? "another key" : "a key"}. `
      : hasKey
        ? "Your key opens every endpoint. "
        : "Every endpoint answers without a key. ";
  const asked = contact === null ? null : el("a", { href: contact }, contact.replace(/^mailto:/, ""));
  const header = el("code", "X-API-Key");
  const way: readonly Child[] =
    closed === 0
      ? [asked && "Questions: ", asked, asked && "."]
      : [
          ...(asked === null ? [] : ["Ask for one: ", asked, ". "]),
          "Enter it above, and send it in the header ",
          header,
          ".",
        ];
  return [el("p", state, ...way), terms !== null && el("p", el("a", { href: terms }, "Terms of service"))];
}

import { type CatalogueBody, type CatalogueEndpoint, lockOf } from "../catalogue-body.js";
import { titleInWords, withoutPreamble } from "../../core/model/endpoint-title.js";
import { groupedBy } from "../../core/model/grouped.js";
import { TIER_NAMES, TIERS, type Tier } from "../../core/model/tier.js";
import { Search } from "../search.js";
import { breakable, count, el, select } from "./dom.js";
import { NO_REQUEST, type State } from "./state.js";

/** The list of endpoints with its search and filters. */
export class EndpointList {
  readonly element: HTMLElement;
  readonly #body: CatalogueBody;
  /** Stands in the middle while no endpoint is open. */
  readonly searchBox: HTMLInputElement;
  readonly #search: Search;
  readonly #change: (change: Partial<State>) => void;
  readonly #rows: HTMLUListElement;
  readonly #status: HTMLElement;
  /** Groups that were opened or closed. */
  readonly #pressed = new Map<string, boolean>();
  /** Descriptions that several endpoints have, which tell them apart no more. */
  readonly #repeated: ReadonlySet<string>;
  #found: readonly CatalogueEndpoint[] = [];
  #state: State;

  constructor(body: CatalogueBody, state: State, change: (change: Partial<State>) => void) {
    this.#body = body;
    this.#state = state;
    this.#change = change;
    this.#search = new Search(body.endpoints);
    const described = groupedBy(body.endpoints, ({ description }) => description);
    this.#repeated = new Set([...described].filter(([, all]) => all.length > 1).map(([text]) => text));
    // Between other events, so that the first search need not wait.
    const prepare = (): void => {
      if (this.#search.prepare()) setTimeout(prepare);
    };
    setTimeout(prepare);
    this.searchBox = this.#box(state.search);
    this.#rows = el("ul.rows", { keydown: (event: KeyboardEvent) => this.#move(event) });
    this.#status = el("p.status", { role: "status" });
    this.element = el(
      "nav.list",
      { "aria-label": "Endpoints" },
      this.#filters(),
      this.#status,
      this.#rows,
      this.#locked(),
    );
    this.update(state);
  }

  /** The endpoints that match the search and the filters. */
  get found(): readonly CatalogueEndpoint[] {
    return this.#found;
  }

  update(state: State): void {
    this.#state = state;
    this.#showFilters(state);
    const { found, complete } = this.#search.find(state.search);
    this.#found = found
      // Where endpoints have every word, those with some are left out.
      .slice(0, complete > 0 ? complete : found.length)
      .flatMap((i) => this.#body.endpoints[i] ?? [])
      .filter(
        ({ category, tier }) =>
          (state.category === "" || category === state.category) &&
          (state.tier === "" || tier === state.tier),
      );
    const notes = [count(this.#found.length, "endpoint"), complete === 0 && "none has every word"].filter(
      (note) => note !== false,
    );
    this.#status.textContent = this.#found.length === 0 ? "No endpoint matches." : notes.join(": ");
    this.#rows.replaceChildren(...this.#groups(this.#found));
    this.#makeTabStop(this.#rows.querySelector("[aria-current]") ?? this.#rows.querySelector("a, .group"));
  }

  /** Scrolls to the row of the open endpoint. */
  reveal(): void {
    this.#rows.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  }

  focusSearch(): void {
    this.searchBox.focus();
  }

  /** What the list is filtered by, also where a card, a link or the browser's history has chosen it. */
  #showFilters({ search, category, tier }: State): void {
    if (this.searchBox.value !== search) this.searchBox.value = search;
    const selects = this.element.querySelectorAll("select");
    for (const [i, value] of [category, tier].entries())
      if (selects[i] !== undefined) selects[i].value = value;
  }

  /** Takes the search box back. */
  takeSearch(): void {
    this.element.querySelector(".filters")?.prepend(this.searchBox);
  }

  #box(search: string): HTMLInputElement {
    const box = el("input", {
      type: "search",
      value: search,
      placeholder: "Search paths, columns, descriptions",
      "aria-label": "Search endpoints",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.#filter({ search: box.value }),
      keydown: (event: KeyboardEvent) => {
        if (event.key !== "ArrowDown") return;
        event.preventDefault();
        this.#focus(this.#rows.querySelector("a"));
      },
    });
    return box;
  }

  #filters(): HTMLElement {
    const { category, tier } = this.#state;
    const categories = [...new Set(this.#body.endpoints.map((endpoint) => endpoint.category))];
    const tiers = TIERS.filter((each) => this.#body.endpoints.some((endpoint) => endpoint.tier === each));
    return el(
      "div.filters",
      this.searchBox,
      el(
        "div.selects",
        select(
          "Category",
          [["", "All"], ...categories.map((each) => [each, titleInWords(each)] as const)],
          category,
          (value) => this.#filter({ category: value }),
        ),
        select(
          "Tier",
          [["", "All"], ...tiers.map((each) => [each, TIER_NAMES[each]] as const)],
          tier,
          (value) => this.#filter({ tier: value }),
        ),
      ),
    );
  }

  #filter(change: Partial<State>): void {
    this.#change(change);
    this.#rows.scrollTop = 0;
  }

  /** How many endpoints keys of higher tiers add. */
  #locked(): HTMLElement | null {
    const tiers = Object.entries(this.#body.locked) as [Tier, number][];
    if (tiers.length === 0 || this.#body.endpoints.some(({ callable }) => !callable)) return null;
    const parts = tiers.map(([tier, number]) => `${number.toLocaleString("en")} ${TIER_NAMES[tier]}`);
    return el("p.locked", `With a key of a higher tier: ${parts.join(", ")}.`);
  }

  /** Rows below the names of their categories, which close them; of large categories also below subjects. A search ranks across categories. */
  #groups(listed: readonly CatalogueEndpoint[]): readonly HTMLLIElement[] {
    const lines = (endpoints: readonly CatalogueEndpoint[]) =>
      endpoints.map((endpoint) => el("li", this.#row(endpoint)));
    if (this.#state.search !== "") return lines(listed);
    return [...groupedBy(listed, ({ category }) => category)].flatMap(([category, members]) => {
      const head = this.#head(category, titleInWords(category), members, true);
      if (!this.#isOpen(category, members, true)) return [head];
      const subjects = subjectsOf(members);
      if (subjects === null) return [head, ...lines(members)];
      const parts = [...subjects].flatMap(([subject, own]) => {
        const name = `${category}/${subject}`;
        const open = this.#isOpen(name, own, false);
        return [this.#head(name, subject, own, false), ...(open ? lines(own) : [])];
      });
      return [head, ...parts];
    });
  }

  /** Categories are open and subjects closed, but for that of the open endpoint, until they are pressed. */
  #isOpen(name: string, members: readonly CatalogueEndpoint[], isCategory: boolean): boolean {
    return (
      this.#pressed.get(name) ??
      ((isCategory && !this.#isLong) || members.some(({ path }) => path === this.#state.endpoint))
    );
  }

  /** On a phone the list is part of the document: of many endpoints it shows the categories. */
  get #isLong(): boolean {
    const isOne = this.#found.every(({ category }) => category === this.#found[0]?.category);
    return NARROW.matches && !isOne && this.#found.length > MAX_UNGROUPED;
  }

  #head(
    name: string,
    text: string,
    members: readonly CatalogueEndpoint[],
    isCategory: boolean,
  ): HTMLLIElement {
    const open = this.#isOpen(name, members, isCategory);
    const press = (): void => {
      this.#pressed.set(name, !open);
      this.update(this.#state);
      const heads = [...this.#rows.querySelectorAll<HTMLElement>(".group")];
      this.#focus(heads.find((each) => each.dataset["name"] === name) ?? null);
    };
    const toggle = el(
      "button.group",
      {
        ...{ type: "button", tabindex: -1, "aria-expanded": String(open), "data-name": name },
        ...{ "data-count": members.length.toLocaleString("en"), click: press },
      },
      text,
    );
    return el(isCategory ? "li.category" : "li.subject", toggle);
  }

  #row({
    path,
    title,
    description,
    columns,
    tier,
    callable,
    deprecation_date,
    stability,
  }: CatalogueEndpoint): HTMLAnchorElement {
    const lock = lockOf({ callable, tier }, this.#body.tier);
    const about = withoutPreamble(description);
    // Below its category's name a path needs no category.
    const name = path.split("/").slice(this.#state.search === "" ? 3 : 2);
    return el(
      "a",
      {
        href: `?endpoint=${encodeURIComponent(path)}`,
        title: path,
        "aria-current": path === this.#state.endpoint ? "true" : null,
        tabindex: -1,
        click: (event: MouseEvent) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.#change({ endpoint: path, ...NO_REQUEST });
        },
      },
      el("span.title", title),
      el("span.path", ...breakable(name.join("/"))),
      el(
        "span.about",
        lock !== null && el(`span.lock.${tier}`, lock),
        stability === "preview" && el("span.badge.preview", "preview"),
        deprecation_date !== null && "Deprecated. ",
        // Where words do not tell endpoints apart, columns do.
        this.#repeated.has(description) && columns.length > 0
          ? `${columns.map(({ name }) => name).join(", ")}${about === "" ? "" : `: ${about}`}`
          : about,
      ),
    );
  }

  /** Arrow keys, Home and End, over rows and the heads of their groups. */
  #move(event: KeyboardEvent): void {
    const stops = [...this.#rows.querySelectorAll<HTMLElement>("a, .group")];
    const at = stops.indexOf(event.target as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    if (to < 0) this.focusSearch();
    else this.#focus(stops[to] ?? null);
  }

  #focus(stop: HTMLElement | null): void {
    this.#makeTabStop(stop);
    stop?.focus();
  }

  /** Tab reaches one row or head; arrow keys move from there. */
  #makeTabStop(stop: Element | null): void {
    this.#rows.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    stop?.setAttribute("tabindex", "0");
  }
}

const NARROW = matchMedia("(max-width: 760px)");

/** Endpoints of a category, or on a phone of a list, that need no further groups. */
const MAX_UNGROUPED = 40;
/** Endpoints that make a subject. */
const MIN_SUBJECT = 3;

/** Endpoints of a large category by the first word of their resource, those of rare words together; null where that tells nothing apart. */
function subjectsOf(
  members: readonly CatalogueEndpoint[],
): ReadonlyMap<string, readonly CatalogueEndpoint[]> | null {
  if (members.length <= MAX_UNGROUPED) return null;
  const byWord = groupedBy(members, ({ resource }) => resource.split("_")[0] ?? "");
  const subjects = groupedBy(members, ({ resource }) => {
    const word = resource.split("_")[0] ?? "";
    return (byWord.get(word)?.length ?? 0) < MIN_SUBJECT ? "other" : word;
  });
  const others = subjects.get("other");
  // Last, whatever stands first.
  if (others !== undefined && subjects.delete("other")) subjects.set("other", others);
  return subjects.size < 2 ? null : subjects;
}

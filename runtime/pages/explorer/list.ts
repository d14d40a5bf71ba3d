import { type CatalogueBody, type CatalogueEndpoint, lockOf } from "../catalogue-body.js";
import { TIER_NAMES, TIERS, type Tier } from "../../model/tier.js";
import { Search } from "../search.js";
import { breakable, count, el, select } from "./dom.js";
import { NO_REQUEST, type State } from "./state.js";

/** Heights in pixels, as in the style sheet. */
const ROW = 58;
const HEADING = 34;

/** Pixels rendered above and below the visible part. */
const SPARE = 350;

/** A row of the list: a category's name, or an endpoint. */
interface Line {
  readonly top: number;
  readonly height: number;
  /** Position among the endpoints; null for a category. */
  readonly index: number | null;
}

const FRESHNESS = [
  ["", "Any time"],
  ["1", "Last 24 hours"],
  ["7", "Last 7 days"],
  ["30", "Last 30 days"],
] as const;

/** Calls a task between other events, until it returns false. */
function whenIdle(task: () => boolean): void {
  const run = (): void => {
    if (task()) setTimeout(run);
  };
  setTimeout(run);
}

/** The list of endpoints with its search and filters. Only visible rows are in the document. */
export class EndpointList {
  readonly element: HTMLElement;
  readonly #body: CatalogueBody;
  readonly #search: Search;
  readonly #change: (change: Partial<State>) => void;
  readonly #scroller: HTMLElement;
  readonly #rows: HTMLUListElement;
  readonly #status: HTMLElement;
  #found: readonly CatalogueEndpoint[] = [];
  #state: State;
  #tabStop = 0;
  #lines: readonly Line[] = [];
  #rowsOf: readonly Line[] = [];

  constructor(body: CatalogueBody, state: State, change: (change: Partial<State>) => void) {
    this.#body = body;
    this.#state = state;
    this.#change = change;
    this.#search = new Search(body.endpoints);
    whenIdle(() => this.#search.prepare());
    this.#rows = el("ul", { class: "rows" });
    this.#scroller = el(
      "div",
      { class: "scroller", scroll: () => this.#draw(), keydown: (event: KeyboardEvent) => this.#move(event) },
      this.#rows,
    );
    this.#status = el("p", { class: "status", role: "status" });
    this.element = el(
      "nav",
      { class: "list", "aria-label": "Endpoints" },
      this.#filters(),
      this.#status,
      this.#scroller,
      this.#locked(),
    );
    new ResizeObserver(() => requestAnimationFrame(() => this.#draw())).observe(this.#scroller);
    this.update(state);
  }

  /** The endpoints that match the search and the filters. */
  get found(): readonly CatalogueEndpoint[] {
    return this.#found;
  }

  update(state: State): void {
    this.#state = state;
    const oldest = state.fresh === "" ? null : Date.now() - Number(state.fresh) * 86_400_000;
    const { found, complete } = this.#search.find(state.search);
    this.#found = found
      // Where endpoints have every word, those with some are left out.
      .slice(0, complete > 0 ? complete : found.length)
      .flatMap((i) => this.#body.endpoints[i] ?? [])
      .filter(
        ({ category, tier, last_build }) =>
          (state.category === "" || category === state.category) &&
          (state.tier === "" || tier === state.tier) &&
          (oldest === null || (last_build !== null && Date.parse(last_build.completed_at) >= oldest)),
      );
    const status = complete > 0 ? "" : ": none has every word";
    this.#status.textContent =
      this.#found.length === 0 ? "No endpoint matches." : `${count(this.#found.length, "endpoint")}${status}`;
    this.#tabStop = Math.max(
      0,
      this.#found.findIndex(({ path }) => path === state.endpoint),
    );
    this.#lines = linesOf(this.#found, state.search === "");
    this.#rowsOf = this.#lines.filter(({ index }) => index !== null);
    const { top, height } = this.#lines.at(-1) ?? { top: 0, height: 0 };
    this.#rows.style.setProperty("height", `${String(top + height)}px`);
    this.#draw();
  }

  /** Scrolls to the row of the open endpoint. */
  reveal(): void {
    const index = this.#found.findIndex(({ path }) => path === this.#state.endpoint);
    const { scrollTop, clientHeight } = this.#scroller;
    const top = this.#rowsOf[index]?.top ?? 0;
    if (top < scrollTop || top + ROW > scrollTop + clientHeight)
      this.#scroller.scrollTop = Math.max(0, top - clientHeight / 2);
  }

  focusSearch(): void {
    this.element.querySelector("input")?.focus();
  }

  #filters(): HTMLElement {
    const { search, category, tier, fresh } = this.#state;
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
        this.#focus(0);
      },
    });
    const categories = [...new Set(this.#body.endpoints.map((endpoint) => endpoint.category))];
    const tiers = TIERS.filter((each) => this.#body.endpoints.some((endpoint) => endpoint.tier === each));
    return el(
      "div",
      { class: "filters" },
      box,
      el(
        "div",
        { class: "selects" },
        select(
          "Category",
          [["", "All"], ...categories.map((name) => [name, name] as const)],
          category,
          (value) => this.#filter({ category: value }),
        ),
        select(
          "Tier",
          [["", "All"], ...tiers.map((each) => [each, TIER_NAMES[each]] as const)],
          tier,
          (value) => this.#filter({ tier: value }),
        ),
        select("Last build", FRESHNESS, fresh, (value) => this.#filter({ fresh: value })),
      ),
    );
  }

  #filter(change: Partial<State>): void {
    this.#scroller.scrollTop = 0;
    this.#change(change);
  }

  /** How many endpoints keys of higher tiers add. */
  #locked(): HTMLElement | null {
    const tiers = Object.entries(this.#body.locked) as [Tier, number][];
    if (tiers.length === 0 || this.#body.endpoints.some(({ callable }) => !callable)) return null;
    const parts = tiers.map(([tier, number]) => `${number.toLocaleString("en")} ${TIER_NAMES[tier]}`);
    return el("p", { class: "locked" }, `With a key of a higher tier: ${parts.join(", ")}.`);
  }

  #draw(): void {
    const { scrollTop, clientHeight } = this.#scroller;
    const [from, to] = [scrollTop - SPARE, scrollTop + clientHeight + SPARE];
    const focused = (document.activeElement as HTMLElement | null)?.dataset["index"];
    const lines = this.#lines.filter(({ top }) => top > from && top < to);
    this.#rows.replaceChildren(...lines.flatMap((line, i) => this.#line(line, lines[i + 1])));
    if (focused !== undefined) this.#link(Number(focused))?.focus({ preventScroll: true });
  }

  #line(line: Line, next: Line | undefined): readonly HTMLLIElement[] {
    const endpoint = this.#found[line.index ?? next?.index ?? -1];
    if (endpoint === undefined) return [];
    const row =
      line.index === null
        ? el("li", { class: "category" }, endpoint.category)
        : el(
            "li",
            { "aria-setsize": this.#found.length, "aria-posinset": line.index + 1 },
            this.#row(endpoint, line.index),
          );
    row.style.setProperty("top", `${String(line.top)}px`);
    return [row];
  }

  #row(
    { path, description, tier, callable, deprecation_date }: CatalogueEndpoint,
    index: number,
  ): HTMLAnchorElement {
    const lock = lockOf({ callable, tier }, this.#body.tier);
    // Below its category's name a path needs no category.
    const name = path.split("/").slice(this.#state.search === "" ? 3 : 2);
    return el(
      "a",
      {
        href: `?endpoint=${encodeURIComponent(path)}`,
        title: path,
        "aria-current": path === this.#state.endpoint ? "true" : null,
        "data-index": index,
        // Tab reaches one row; arrow keys move from there.
        tabindex: index === this.#tabStop ? 0 : -1,
        click: (event: MouseEvent) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.#change({ endpoint: path, ...NO_REQUEST });
        },
      },
      el("span", { class: "path" }, ...breakable(name.join("/"))),
      el(
        "span",
        { class: "about" },
        lock !== null && el("span", { class: `lock ${tier}` }, lock),
        deprecation_date === null ? description : `Deprecated. ${description}`,
      ),
    );
  }

  #link(index: number): HTMLElement | null {
    return this.#rows.querySelector(`[data-index="${String(index)}"]`);
  }

  /** Arrow keys, Home and End move through all rows, also through those that are not rendered. */
  #move(event: KeyboardEvent): void {
    const at = Number((event.target as HTMLElement).dataset["index"]);
    if (Number.isNaN(at)) return;
    const last = this.#found.length - 1;
    const to = new Map([
      ["ArrowDown", at + 1],
      ["ArrowUp", at - 1],
      ["Home", 0],
      ["End", last],
    ]).get(event.key);
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0) this.focusSearch();
    else this.#focus(Math.min(to, last));
  }

  #focus(index: number): void {
    this.#tabStop = index;
    const { scrollTop, clientHeight } = this.#scroller;
    const top = this.#rowsOf[index]?.top ?? 0;
    // The first row of a category shows its name too.
    if (top - HEADING < scrollTop) this.#scroller.scrollTop = top - HEADING;
    else if (top + ROW > scrollTop + clientHeight) this.#scroller.scrollTop = top + ROW - clientHeight;
    this.#draw();
    this.#link(index)?.focus({ preventScroll: true });
  }
}

/** Endpoints in the order of the catalogue stand below their category's name; a search ranks across categories. */
function linesOf(found: readonly CatalogueEndpoint[], isGrouped: boolean): readonly Line[] {
  const lines: Line[] = [];
  let top = 0;
  const add = (height: number, index: number | null): void => {
    lines.push({ top, height, index });
    top += height;
  };
  for (const [index, { category }] of found.entries()) {
    if (isGrouped && found[index - 1]?.category !== category) add(HEADING, null);
    add(ROW, index);
  }
  return lines;
}

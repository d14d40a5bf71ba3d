/** The explorer: search, read, call and chart the endpoints that the caller may use (runtime/docs/catalogue.md, Explorer). */
import { type CatalogueBody, type CatalogueEndpoint, type UpstreamNode } from "../catalogue-body.js";
import { TIER_NAMES } from "../../core/model/tier.js";
import { fetchCatalogue, fetchChangelog } from "./api.js";
import type * as Details from "./details.js";
import type * as Keys from "./keys.js";
import { button, el } from "./dom.js";
import { EndpointList } from "./list.js";
import { NO_REQUEST, readState, type State, writeState } from "./state.js";
import { similarPaths } from "./similar-paths.js";
import { StartPage } from "./start.js";
import { key } from "./storage.js";
import { type Changelog, NO_CHANGELOG } from "../../core/model/changelog.js";
import { messageOf } from "../../core/model/outcome.js";
import { changesOf, changesSection, ownChanges } from "./changes.js";

const root = document.querySelector("main") ?? document.body;
let state = readState(location.search);
let catalogue: CatalogueBody | null = null;
let lineage: ReadonlyMap<string, UpstreamNode> | null = null;
let changelog: Changelog = NO_CHANGELOG;
let list: EndpointList | null = null;
let start: StartPage | null = null;
let details: Details.EndpointDetails | null = null;

window.addEventListener("error", ({ message }) => showFailure(message));
window.addEventListener("unhandledrejection", ({ reason }: PromiseRejectionEvent) =>
  showFailure(messageOf(reason)),
);

function showFailure(message: string): void {
  showProblem(`This page has failed: ${message}. Reload it.`);
}

window.addEventListener("popstate", () => {
  state = readState(location.search);
  whenLoaded(() => render(state));
});

document.addEventListener("keydown", (event) => {
  const isTyping =
    event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey) return;
  const act = { "/": () => list?.focusSearch(), "?": () => void import("./keys.js").then(showKeysOf) }[
    event.key
  ];
  if (act === undefined) return;
  event.preventDefault();
  act();
});

const showKeysOf = ({ showKeys }: typeof Keys): void => {
  if (document.querySelector("dialog[open]") === null) showKeys();
};

/** Another endpoint, request or category adds an entry to the browser's history; typing and filters of the list replace the current one. */
function change(changes: Partial<State>): void {
  const before = state;
  state = { ...state, ...changes };
  const isStep = (["endpoint", "parameters", "category"] as const).some(
    (name) => state[name] !== before[name],
  );
  history[isStep ? "pushState" : "replaceState"](null, "", writeState(state));
  whenLoaded(() => {
    render(state);
    if (state.endpoint !== before.endpoint) document.getElementById("endpoint-title")?.focus();
    // The buttons of the start panel are made anew.
    else if (document.activeElement === document.body) document.getElementById("start")?.focus();
  });
}

/** The code that shows an endpoint, loaded with the first one. */
let panelCode: typeof Details | null = null;

async function loadPanelCode(): Promise<void> {
  panelCode ??= await import("./details.js");
}

function whenLoaded(show: () => void): void {
  if (state.endpoint === "" || panelCode !== null) return show();
  void loadPanelCode().then(show);
}

/** Path of the endpoint in the panel. */
let shown = "";

function render(next: State): void {
  if (catalogue === null) return;
  list?.update(next);
  root.classList.toggle("open", next.endpoint !== "");
  if (next.endpoint === shown && details !== null) return details.update(next);
  shown = next.endpoint;
  const panel = root.querySelector(".panel");
  const endpoint = catalogue.endpoints.find(({ path }) => path === next.endpoint);
  details?.leave();
  details =
    endpoint === undefined || panelCode === null
      ? null
      : new panelCode.EndpointDetails(endpoint, catalogue, lineage, next, change);
  const back = button("All endpoints", () => change({ endpoint: "", ...NO_REQUEST }), { class: "back" });
  if (next.endpoint === "") return showStart(panel, next);
  list?.takeSearch();
  panel?.replaceChildren(
    ...[
      back,
      details?.element ?? missing(next.endpoint),
      changesSection(changesOf(changelog, next.endpoint), null),
    ].filter((part) => part instanceof Node),
  );
  document.title = `${next.endpoint} · ${catalogue.title}`;
  scrollToTop(panel);
}

/** The first page is kept while it is shown: the search box in it keeps its focus. */
function showStart(panel: Element | null, next: State): void {
  start?.update(list?.found ?? [], next);
  if (panel === null || start === null || panel.contains(start.element)) return;
  start.takeSearch();
  panel.replaceChildren(start.element);
  document.title = catalogue?.title ?? "";
  scrollToTop(panel);
}

function scrollToTop(panel: Element | null): void {
  panel?.scrollTo(0, 0);
  // On a phone the document scrolls.
  scrollTo(0, 0);
}

function missing(path: string): HTMLElement {
  return el(
    "div.welcome",
    el("h2", { id: "endpoint-title", tabindex: -1 }, path),
    el("p", "There is no such endpoint, or it needs a key of a higher tier."),
    ...similarTo(path),
  );
}

/** Endpoints that share words with a path that leads nowhere. */
function similarTo(path: string): readonly HTMLElement[] {
  const found = similarPaths(
    path,
    (catalogue?.endpoints ?? []).map((endpoint) => endpoint.path),
  );
  if (found.length === 0) return [];
  const items = found.map((other) =>
    el(
      "li",
      button(other, () => change({ endpoint: other, ...NO_REQUEST }), { class: "plain" }),
    ),
  );
  return [el("p", "Similar paths:"), el("ul", ...items)];
}

const openerOf = (endpoints: readonly CatalogueEndpoint[]) => (path: string) =>
  endpoints.some((endpoint) => endpoint.path === path)
    ? () => change({ endpoint: path, ...NO_REQUEST })
    : null;

function showProblem(message: string): void {
  const box = document.querySelector("#problem");
  box?.replaceChildren(el("div.problem", { role: "alert" }, message));
}

/** The last loading: an answer to an earlier one, by another key, is of no use. */
let loading = 0;

async function load(): Promise<void> {
  const own = (loading += 1);
  root.setAttribute("aria-busy", "true");
  try {
    const [found, changed] = await Promise.all([
      fetchCatalogue(),
      fetchChangelog(),
      state.endpoint === "" ? null : loadPanelCode(),
    ]);
    if (own !== loading) return;
    catalogue = found.catalogue;
    changelog = ownChanges(changed, catalogue);
    showRefusal(found.refused);
  } catch (error) {
    if (own !== loading) return;
    root.querySelector(".waiting")?.remove();
    return showProblem(messageOf(error));
  } finally {
    if (own === loading) root.removeAttribute("aria-busy");
  }
  showCaller(catalogue);
  lineage = catalogue.lineage && new Map(catalogue.lineage.map((node) => [node.id, node]));
  list = new EndpointList(catalogue, state, change);
  start = startOf(catalogue, list);
  root.replaceChildren(list.element, el("div.panel", { id: "panel", tabindex: -1 }));
  details?.leave();
  details = null;
  render(state);
  list.reveal();
}

function startOf(body: CatalogueBody, { searchBox }: EndpointList): StartPage {
  const opener = openerOf(body.endpoints);
  return new StartPage(body, {
    change,
    search: searchBox,
    changes: () => changesSection(changelog, opener),
  });
}

/** Why the tab's key was dropped. Its text stays in the field, to be corrected. */
function showRefusal(refused: string | null): void {
  document.querySelector("#problem")?.replaceChildren();
  if (refused === null) return;
  showProblem(`${refused}. The public part is shown without it. Correct the key to see the rest.`);
  keyInput?.focus();
}

const keyForm = document.querySelector<HTMLFormElement>("#key-form");
const keyInput = document.querySelector<HTMLInputElement>("#key");
const forget = document.querySelector("#forget");
if (keyInput) keyInput.value = key.get();
keyForm?.addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(keyInput?.value.trim() ?? "");
});
forget?.addEventListener("click", () => {
  if (keyInput) keyInput.value = "";
  useKey("");
});

function useKey(text: string): void {
  key.set(text);
  void load();
}

/** The tier of the key in the header. */
function showCaller({ tier }: CatalogueBody): void {
  const caller = document.querySelector("#caller");
  const hasKey = key.get() !== "";
  caller?.replaceChildren(hasKey ? el(`span.badge.${tier}`, `${TIER_NAMES[tier]} (${tier})`) : "No key");
  // A key in use is a chip; its field comes back with the next one.
  keyForm?.classList.toggle("used", hasKey);
  forget?.toggleAttribute("hidden", !hasKey);
}

// Charts are drawn in the colours of the theme.
document.addEventListener("theme", () => render(state));

void load();

/** The explorer: search, read, call and chart the endpoints that the caller may use (runtime/docs/catalogue.md, Explorer). */
import {
  type CatalogueBody,
  type CatalogueEndpoint,
  categoriesOf,
  type UpstreamNode,
} from "../catalogue-body.js";
import { TIER_NAMES } from "../../model/tier.js";
import { BASE, fetchCatalogue, fetchChangelog, samplesOf, ServiceError } from "./api.js";
import { EndpointDetails } from "./details.js";
import { button, type Child, copyable, count, el } from "./dom.js";
import { EndpointList } from "./list.js";
import { NO_REQUEST, readState, type State, writeState } from "./state.js";
import { key } from "./storage.js";
import { type Changelog, NO_CHANGELOG } from "../../model/changelog.js";
import { messageOf } from "../../model/outcome.js";
import { changesOf, changesSection, ownChanges } from "./changes.js";

const root = document.querySelector("main") ?? document.body;
let state = readState(location.search);
let catalogue: CatalogueBody | null = null;
let lineage: ReadonlyMap<string, UpstreamNode> | null = null;
let changelog: Changelog = NO_CHANGELOG;
let list: EndpointList | null = null;
let details: EndpointDetails | null = null;

window.addEventListener("error", ({ message }) => showFailure(message));
window.addEventListener("unhandledrejection", ({ reason }: PromiseRejectionEvent) =>
  showFailure(messageOf(reason)),
);

function showFailure(message: string): void {
  showProblem(`This page has failed: ${message}. Reload it.`);
}

window.addEventListener("popstate", () => {
  state = readState(location.search);
  render(state);
});

document.addEventListener("keydown", (event) => {
  const isTyping =
    event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  list?.focusSearch();
});

/** Another endpoint or request adds an entry to the browser's history; typing and filters replace the current one. */
function change(changes: Partial<State>): void {
  const before = state;
  state = { ...state, ...changes };
  const isStep = state.endpoint !== before.endpoint || state.parameters !== before.parameters;
  history[isStep ? "pushState" : "replaceState"](null, "", writeState(state));
  render(state);
  if (state.endpoint !== before.endpoint) document.getElementById("endpoint-path")?.focus();
  // The buttons of the start panel are made anew.
  else if (document.activeElement === document.body) document.getElementById("start")?.focus();
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
  details =
    endpoint === undefined ? null : new EndpointDetails(endpoint, catalogue.tier, lineage, next, change);
  const back = button("All endpoints", () => change({ endpoint: "", ...NO_REQUEST }), { class: "back" });
  panel?.replaceChildren(
    ...(next.endpoint === ""
      ? [startPanel(catalogue, list?.found ?? [], next)]
      : [
          back,
          details?.element ?? missing(next.endpoint),
          changesSection(changesOf(changelog, next.endpoint), null),
        ].filter((part) => part instanceof Node)),
  );
  panel?.scrollTo(0, 0);
  // On a phone the document scrolls.
  scrollTo(0, 0);
  document.title = next.endpoint === "" ? catalogue.title : `${next.endpoint} · ${catalogue.title}`;
}

function missing(path: string): HTMLElement {
  return el(
    "div.welcome",
    el("h2", { id: "endpoint-path", tabindex: -1 }, path),
    el("p", "There is no such endpoint, or it needs a key of a higher tier."),
  );
}

const openerOf = (endpoints: readonly CatalogueEndpoint[]) => (path: string) =>
  endpoints.some((endpoint) => endpoint.path === path)
    ? () => change({ endpoint: path, ...NO_REQUEST })
    : null;

/** What to do first, and the endpoints found, by category. Follows the search and the filters. */
function startPanel(
  { title, endpoints }: CatalogueBody,
  found: readonly CatalogueEndpoint[],
  { search, category }: State,
): HTMLElement {
  const isAll = found.length === endpoints.length;
  const heading = category || (search ? `Found for “${search}”` : title);
  const cards = [...categoriesOf(found)].map(([name, number]) =>
    el(
      "li",
      el(
        "button",
        { type: "button", click: () => change({ category: name }) },
        el("strong", name),
        el("span", count(number, "endpoint")),
      ),
    ),
  );
  return el(
    "div.welcome",
    el("h2", { id: "start", tabindex: -1 }, heading),
    el("p", `${count(found.length, "endpoint")}.`),
    ...firstCall(found),
    category === "" && el("ul.cards", ...cards),
    isAll && changesSection(changelog, openerOf(endpoints)),
    !isAll && button("Show all endpoints", () => change({ search: "", category: "", tier: "" })),
  );
}

/** A call to copy that answers without a parameter, and what a key is for. */
function firstCall(found: readonly CatalogueEndpoint[]): readonly Child[] {
  const callable = found.filter((each) => each.callable && each.require_any_of.length === 0);
  const endpoint = callable.find(({ tier }) => tier === "tier0") ?? callable[0];
  const locked = found.filter((each) => !each.callable).length;
  const parameters = endpoint?.pagination ? { limit: ["5"] } : {};
  const call = endpoint && samplesOf({ endpoint, parameters }, endpoint.tier !== "tier0").curl;
  return [
    el("h3", "Base address"),
    copyable("Base address", BASE),
    ...(call === undefined ? [] : [el("h3", "First call"), copyable("First call", call)]),
    el("h3", "Key"),
    el(
      "p",
      locked === 0
        ? "You may call all of these. "
        : `${locked.toLocaleString("en")} of these need another key. `,
      "Ask the operator of this API for a key. Enter it above, and send it in the header ",
      el("code", "X-API-Key"),
      ".",
    ),
  ];
}

function showProblem(message: string): void {
  const box = document.querySelector("#problem");
  box?.replaceChildren(el("div.problem", { role: "alert" }, message));
}

async function load(): Promise<void> {
  root.setAttribute("aria-busy", "true");
  try {
    const [found, changed] = await Promise.all([fetchCatalogue(), fetchChangelog()]);
    [catalogue, changelog] = [found, ownChanges(changed, found)];
    document.querySelector("#problem")?.replaceChildren();
  } catch (error) {
    const message = messageOf(error);
    const isRefused = error instanceof ServiceError && error.status === 403;
    forget?.toggleAttribute("hidden", key.get() === "");
    root.querySelector(".waiting")?.remove();
    if (isRefused) keyInput?.focus();
    return showProblem(isRefused ? `${message}. Correct the key, or remove it.` : message);
  } finally {
    root.removeAttribute("aria-busy");
  }
  showCaller(catalogue);
  lineage = catalogue.lineage && new Map(catalogue.lineage.map((node) => [node.id, node]));
  list = new EndpointList(catalogue, state, change);
  root.replaceChildren(list.element, el("div.panel", { id: "panel", tabindex: -1 }));
  details = null;
  render(state);
  list.reveal();
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
  const [hasKey, name] = [key.get() !== "", `${TIER_NAMES[tier]} (${tier})`];
  caller?.replaceChildren(hasKey ? el(`span.badge.${tier}`, name) : "No key");
  forget?.toggleAttribute("hidden", !hasKey);
}

// Charts are drawn in the colours of the theme.
document.addEventListener("theme", () => render(state));

void load();

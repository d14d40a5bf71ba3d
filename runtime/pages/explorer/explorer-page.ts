/** The explorer: search, read, call and chart the endpoints that the caller may use (runtime/docs/catalogue.md, Explorer). */
import type { CatalogueBody, LineageNode } from "../catalogue-body.js";
import { TIER_NAMES } from "../../model/tier.js";
import { fetchCatalogue, ServiceError } from "./api.js";
import { EndpointDetails } from "./details.js";
import { button, el } from "./dom.js";
import { EndpointList } from "./list.js";
import { startPanel } from "./start.js";
import { NO_REQUEST, readState, type State, writeState } from "./state.js";
import { key } from "./storage.js";
import { messageOf } from "../../model/outcome.js";

const root = document.querySelector("main") ?? document.body;
let state = readState(location.search);
let catalogue: CatalogueBody | null = null;
let lineage: ReadonlyMap<string, LineageNode> | null = null;
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
      ? [startPanel(catalogue, list?.found ?? [], next, change)]
      : [back, details?.element ?? missing(next.endpoint)]),
  );
  panel?.scrollTo(0, 0);
  // On a phone the document scrolls.
  scrollTo(0, 0);
  document.title = next.endpoint === "" ? catalogue.title : `${next.endpoint} · ${catalogue.title}`;
}

function missing(path: string): HTMLElement {
  return el(
    "div",
    { class: "welcome" },
    el("h2", { id: "endpoint-path", tabindex: -1 }, path),
    el("p", {}, "There is no such endpoint, or it needs a key of a higher tier."),
  );
}

function showProblem(message: string): void {
  const box = document.querySelector("#problem");
  box?.replaceChildren(el("div", { class: "problem", role: "alert" }, message));
}

async function load(): Promise<void> {
  root.setAttribute("aria-busy", "true");
  try {
    catalogue = await fetchCatalogue();
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
  root.replaceChildren(list.element, el("div", { class: "panel", id: "panel", tabindex: -1 }));
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
  caller?.replaceChildren(hasKey ? el("span", { class: `badge ${tier}` }, name) : "No key");
  forget?.toggleAttribute("hidden", !hasKey);
}

// Charts are drawn in the colours of the theme.
document.addEventListener("theme", () => render(state));

void load();

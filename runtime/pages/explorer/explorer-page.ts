/** The explorer: search, read, call and chart the endpoints that the caller may use (runtime/docs/catalogue.md, Explorer). */
import type { CatalogueBody, LineageNode } from "../catalogue-body.js";
import { TIER_NAMES } from "../../model/tier.js";
import { fetchCatalogue, key, ServiceError, storage } from "./api.js";
import { EndpointDetails } from "./details.js";
import { button, count, el, time } from "./dom.js";
import { EndpointList } from "./list.js";
import { NO_REQUEST, readState, type State, writeState } from "./state.js";
import { messageOf } from "../../model/error-message.js";

const root = document.querySelector("main") ?? document.body;
let state = readState(location.search);
let catalogue: CatalogueBody | null = null;
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
    endpoint === undefined
      ? null
      : new EndpointDetails(endpoint, catalogue.tier, lineageOf(catalogue), next, change);
  const back = button("All endpoints", () => change({ endpoint: "", ...NO_REQUEST }), { class: "back" });
  panel?.replaceChildren(
    ...(next.endpoint === "" ? [welcome(catalogue)] : [back, details?.element ?? missing(next.endpoint)]),
  );
  panel?.scrollTo(0, 0);
  document.title = next.endpoint === "" ? catalogue.title : `${next.endpoint} · ${catalogue.title}`;
}

const lineages = new WeakMap<CatalogueBody, ReadonlyMap<string, LineageNode>>();

function lineageOf(body: CatalogueBody): ReadonlyMap<string, LineageNode> | null {
  if (body.lineage === null) return null;
  const known = lineages.get(body) ?? new Map(body.lineage.map((node) => [node.id, node]));
  lineages.set(body, known);
  return known;
}

function welcome({ title, endpoints, categories }: CatalogueBody): HTMLElement {
  const counts = new Map<string, number>();
  for (const { category } of endpoints) counts.set(category, (counts.get(category) ?? 0) + 1);
  const latest = new Map<string, string>();
  const built = endpoints.flatMap(({ path, category, last_build }) =>
    last_build === null ? [] : [{ path, category, at: last_build.completed_at }],
  );
  built.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  for (const { category, at } of built) if (!latest.has(category)) latest.set(category, at);
  const changed = built
    .slice(0, MAX_CHANGED)
    .map(({ path, at }) =>
      el("li", {}, el("a", { href: `?endpoint=${encodeURIComponent(path)}` }, path), " ", time(at)),
    );
  const cards = [...counts].map(([name, number]) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", click: () => change({ category: name }) },
        el("strong", {}, name),
        el(
          "span",
          {},
          count(number, "endpoint"),
          latest.has(name) && ", built ",
          latest.has(name) && time(latest.get(name) ?? ""),
        ),
        Object.hasOwn(categories, name) && el("span", { class: "about" }, categories[name] ?? ""),
      ),
    ),
  );
  const locked = endpoints.filter(({ callable }) => !callable).length;
  const more = locked === 0 ? "" : ` ${locked.toLocaleString("en")} of them need another key.`;
  return el(
    "div",
    { class: "welcome" },
    el("h2", {}, title),
    el("p", {}, `${count(endpoints.length, "endpoint")}.${more} Choose one, or search: press / to begin.`),
    el("ul", { class: "cards" }, ...cards),
    changed.length > 0 && el("h3", {}, "Built last"),
    changed.length > 0 && el("ul", { class: "changed" }, ...changed),
  );
}

/** Endpoints that the home page lists by their last build. */
const MAX_CHANGED = 6;

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

const THEME = "routewright.theme";
const themeButton = document.querySelector("#theme");

function setTheme(theme: string): void {
  document.documentElement.dataset["theme"] = theme;
  themeButton?.setAttribute("aria-pressed", theme === "dark" ? "true" : "false");
}
setTheme(
  storage("localStorage").getItem(THEME) ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
);
themeButton?.addEventListener("click", () => {
  const theme = document.documentElement.dataset["theme"] === "dark" ? "light" : "dark";
  storage("localStorage").setItem(THEME, theme);
  setTheme(theme);
  render(state);
});

void load();

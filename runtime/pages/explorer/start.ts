import type { CatalogueBody, CatalogueEndpoint } from "../catalogue-body.js";
import { button, type Child, copyable, count, el } from "./dom.js";
import { samplesOf } from "./samples.js";
import type { State } from "./state.js";

/** What to do first, and the endpoints found, by category. Follows the search and the filters. */
export function startPanel(
  { title, endpoints }: CatalogueBody,
  found: readonly CatalogueEndpoint[],
  { search, category }: State,
  change: (change: Partial<State>) => void,
): HTMLElement {
  const isAll = found.length === endpoints.length;
  const heading = category || (search ? `Found for “${search}”` : title);
  const counts = new Map<string, number>();
  for (const each of found) counts.set(each.category, (counts.get(each.category) ?? 0) + 1);
  const cards = [...counts].map(([name, number]) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", click: () => change({ category: name }) },
        el("strong", {}, name),
        el("span", {}, count(number, "endpoint")),
      ),
    ),
  );
  return el(
    "div",
    { class: "welcome" },
    el("h2", { id: "start", tabindex: -1 }, heading),
    el("p", {}, `${count(found.length, "endpoint")}.`),
    ...firstCall(found),
    category === "" && el("ul", { class: "cards" }, ...cards),
    !isAll && button("Show all endpoints", () => change({ search: "", category: "", tier: "" })),
  );
}

/** A call to copy that answers without a parameter, and what a key is for. */
function firstCall(found: readonly CatalogueEndpoint[]): readonly Child[] {
  const callable = found.filter((each) => each.callable && each.require_any_of.length === 0);
  const endpoint = callable.find(({ tier }) => tier === "tier0") ?? callable[0];
  const locked = found.filter((each) => !each.callable).length;
  const parameters = endpoint?.pagination ? { limit: ["5"] } : {};
  const call =
    endpoint === undefined
      ? null
      : samplesOf({ endpoint, parameters }, location.origin, endpoint.tier !== "tier0").curl;
  return [
    el("h3", {}, "Base address"),
    copyable("Base address", location.origin),
    call !== null && el("h3", {}, "First call"),
    call !== null && copyable("First call", call),
    el("h3", {}, "Key"),
    el(
      "p",
      {},
      locked === 0
        ? "You may call all of these. "
        : `${locked.toLocaleString("en")} of these need another key. `,
      "Ask the operator of this API for a key. Enter it above, and send it in the header ",
      el("code", {}, "X-API-Key"),
      ".",
    ),
  ];
}

import { type ApiRequest, type Parameters, valuesOf, withoutPage } from "./api-request.js";
import { button, el } from "./dom.js";
import { filtersInWords, without, withoutSort } from "./filters.js";

/** A chip for each filter and for the order, which a click removes; null where there are none. */
export function filterChips(
  request: ApiRequest,
  change: (parameters: Parameters) => void,
): HTMLElement | null {
  const { parameters } = request;
  const chips = [...filtersInWords(request)].map(([name, words]) =>
    chip(words, () => change(without(withoutPage(parameters), (each) => each === name))),
  );
  const [sortBy] = valuesOf(parameters, "sort_by");
  if (sortBy !== undefined) {
    const isDescending = valuesOf(parameters, "sort_direction")[0]?.toUpperCase() === "DESC";
    const rest = withoutSort(parameters);
    chips.push(chip(`sorted by ${sortBy}${isDescending ? ", descending" : ""}`, () => change(rest)));
  }
  if (chips.length === 0) return null;
  const all = button(
    "Remove all",
    () => change(without(parameters, (name) => !/^(limit|fields|group_by|measures|metrics)$/.test(name))),
    {
      class: "plain",
    },
  );
  return el(
    "div.active",
    { role: "group", "aria-label": "Active filters" },
    ...chips,
    chips.length > 1 && all,
  );
}

function chip(text: string, remove: () => void): HTMLElement {
  const made = el("button.chip", {
    type: "button",
    "aria-label": `Remove: ${text}`,
    title: "Remove",
    click: remove,
  });
  made.append(el("span", text), el("span.cross", { "aria-hidden": "true" }, "×"));
  return made;
}

import type { CatalogueParameter } from "../catalogue-body.js";
import { fetchValues } from "./api.js";
import { type ApiRequest, type Parameters } from "./api-request.js";
import { button, el } from "./dom.js";
import { textOf } from "./values.js";

const DAY_MS = 86_400_000;
/** Periods that a request with a first day begins with. */
const PERIODS = [
  [7, "the last 7 days"],
  [30, "the last 30 days"],
  [365, "the last year"],
] as const;

/** Where a filter is required: one click asks for a value that exists, or for the latest days. */
export function requiredValues(request: ApiRequest, go: (parameters: Parameters) => void): HTMLElement {
  const { endpoint, parameters } = request;
  const choices = (endpoint.parameters ?? [])
    .filter(({ name }) => endpoint.require_any_of.includes(name))
    .map((parameter) => ({ parameter, values: valuesFor(parameter, endpoint.data_as_of) }))
    .filter(({ values }) => values.length > 0);
  const found = el("div.chips-found");
  void findValues(request, go, found);
  return el(
    "div.required",
    el(
      "p",
      `Rows need a filter: ${list(endpoint.require_any_of)}.`,
      choices.length > 0 && " Begin with one of these:",
    ),
    ...choices.map(({ parameter: { name }, values }) =>
      chips(
        name,
        values.map(([value, text]) => button(text, () => go({ ...parameters, [name]: [value] }))),
      ),
    ),
    found,
  );
}

/** Values that a filter offers. */
const OFFERED = 8;

/** Real values of the other required columns, in the latest period: the service lists none without a required filter. */
async function findValues(
  { endpoint, parameters }: ApiRequest,
  go: (parameters: Parameters) => void,
  place: HTMLElement,
): Promise<void> {
  const required = (endpoint.parameters ?? []).filter(({ name }) => endpoint.require_any_of.includes(name));
  const first = required.find(({ operator }) => operator === ">=");
  const since = first === undefined ? undefined : valuesFor(first, endpoint.data_as_of).at(-1);
  if (first === undefined || since === undefined) return;
  const asked = required.filter(
    ({ operator, accepted_values }) => /^(=|IN|ILIKE)$/.test(operator) && accepted_values === undefined,
  );
  for (const { name, column } of asked) {
    const options = { prefix: "", limit: OFFERED, others: { [first.name]: [since[0]] } };
    // Columns with private data have no values.
    const answer = await fetchValues(endpoint, column, options, new AbortController().signal).catch(
      () => null,
    );
    const values = (answer?.values ?? []).flatMap(({ value }) => (value === null ? [] : [textOf(value)]));
    // A column whose values all differ is no choice.
    if (values.length === 0 || values.some((value) => value.length > 40 || value.includes(","))) continue;
    place.append(
      chips(
        name,
        values.map((value) => button(value, () => go({ ...parameters, [name]: [value] }))),
      ),
    );
  }
}

function chips(name: string, buttons: readonly HTMLElement[]): HTMLElement {
  return el(
    "div.chips",
    { role: "group", "aria-label": name },
    el("span.chips-label", { "aria-hidden": "true" }, name),
    el("div.chips-list", ...buttons),
  );
}

/** Values that dbt's tests accept; for a first day, periods up to the day of the data. */
function valuesFor(
  { operator, accepted_values }: CatalogueParameter,
  asOf: string | null,
): readonly (readonly [value: string, text: string])[] {
  if (accepted_values) return accepted_values.map((value) => [value, value]);
  if (operator !== ">=") return [];
  const last = asOf === null ? Date.now() : Date.parse(asOf);
  return PERIODS.map(([days, text]) => [new Date(last - days * DAY_MS).toISOString().slice(0, 10), text]);
}

function list(names: readonly string[]): string {
  return names.length === 1 ? (names[0] ?? "") : `one of ${names.join(", ")}`;
}

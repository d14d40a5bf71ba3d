/** What a click on a value or on a bar of a facet selects. */
import { type ApiRequest, type Parameters, valuesOf, withoutPage } from "./api-request.js";
import type { FacetBar } from "./facet-bars.js";
import { comparisonsOf, filterBy, withoutColumn } from "./filters.js";
import { splitList, textOf } from "./values.js";

const comparisonOf = (request: ApiRequest, column: string, sign: string) =>
  comparisonsOf(request).find((each) => each.column === column && each.sign === sign)?.name;

/** The values of a column that `=` and `in` ask for. */
function chosenValues(request: ApiRequest, column: string): readonly string[] {
  return comparisonsOf(request)
    .filter((each) => each.column === column && (each.sign === "=" || each.sign === "in"))
    .flatMap(({ name, sign }) => {
      const values = valuesOf(request.parameters, name);
      return sign === "in" ? values.flatMap(splitList) : values;
    });
}

/** Whether a value is one of those that the request asks for. */
export function isChosen(request: ApiRequest, column: string, value: unknown): boolean {
  return value === null
    ? isNullChosen(request, column)
    : chosenValues(request, column).includes(textOf(value));
}

function isNullChosen(request: ApiRequest, column: string): boolean {
  const name = comparisonOf(request, column, "is null:");
  return name !== undefined && valuesOf(request.parameters, name)[0] === "true";
}

/** With a value beside those that are chosen, where the endpoint takes several; else in their place. */
export function selectedBy(request: ApiRequest, column: string, value: unknown): Parameters | null {
  const others = { ...request, parameters: withoutColumn(request, column) };
  const chosen = chosenValues(request, column);
  const list = comparisonOf(request, column, "in");
  const texts = value === null ? [] : [...chosen, textOf(value)];
  if (chosen.length === 0 || list === undefined || texts.some((text) => text.includes(",")) || value === null)
    return filterBy(others, column, value);
  return { ...withoutPage(others.parameters), [list]: [texts.join(",")] };
}

export function unselected(request: ApiRequest, column: string, text: string): Parameters {
  const others = withoutPage(withoutColumn(request, column));
  const rest = chosenValues(request, column).filter((each) => each !== text);
  const list = comparisonOf(request, column, "in");
  return rest.length === 0 || list === undefined ? others : { ...others, [list]: [rest.join(",")] };
}

export const listsOf = (texts: Readonly<Record<string, string>>): Parameters =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, [text]]));

/** Both bounds of a bar; null where the endpoint does not have them. */
export function rangeOf(
  request: ApiRequest,
  column: string,
  { from, below, to }: FacetBar,
): Readonly<Record<string, string>> | null {
  const least = comparisonOf(request, column, "≥");
  const [less, most] = [comparisonOf(request, column, "<"), comparisonOf(request, column, "≤")];
  if (least === undefined) return null;
  if (less !== undefined && below !== null) return { [least]: from, [less]: below };
  return most !== undefined && to !== null ? { [least]: from, [most]: to } : null;
}

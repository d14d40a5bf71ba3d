import { fetchValues } from "./api.js";
import { type ApiRequest } from "./api-request.js";
import { count, el } from "./dom.js";
import { hasRequired, rowFilters, withoutColumn } from "./filters.js";
import { textOf } from "./values.js";

/** Values that an input suggests. */
const SUGGESTED = 20;

/** The most frequent values of a column under the other filters, each with its number of rows: read when the input is first used. */
export function suggestions(request: ApiRequest, column: string, input: HTMLInputElement): HTMLElement {
  const id = `${input.id}-values`;
  const list = el("datalist", { id });
  input.setAttribute("list", id);
  const others = rowFilters({ ...request, parameters: withoutColumn(request, column) });
  // Without a filter that is required the service lists no values.
  if (!hasRequired(request.endpoint, others)) return list;
  const read = async (): Promise<void> => {
    const asked = { prefix: "", limit: SUGGESTED, others };
    const { values } = await fetchValues(request.endpoint, column, asked, new AbortController().signal);
    list.replaceChildren(
      ...values
        .filter(({ value }) => value !== null)
        .map(({ value, rows }) => {
          const text = textOf(value);
          return el("option", { value: text }, rows === undefined ? text : `${text} (${count(rows, "row")})`);
        }),
    );
  };
  // The input works without: a column may have no list of values.
  input.addEventListener("focus", () => void read().catch(() => undefined), { once: true });
  return list;
}

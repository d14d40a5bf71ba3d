import { fetchValues } from "./api.js";
import { type ApiRequest, type Parameters } from "./api-request.js";
import { button, count, el, popover, prose } from "./dom.js";
import { filterBy, rowFilters, withoutColumn } from "./filters.js";
import { messageOf } from "../../core/model/outcome.js";
import { textOf, typeInWords } from "./values.js";

export type SortOrder = "ASC" | "DESC";

/** What a menu may do; `sort` is null where the rows cannot be sorted by the column. */
export interface ColumnActions {
  readonly filter: (parameters: Parameters) => void;
  readonly sort: ((direction: SortOrder) => void) | null;
}

/** Values that a menu lists. */
const LISTED = 20;

/** The button of a column, which opens what is known of it: type, description, order, and the values that its rows have. */
export function columnMenu(request: ApiRequest, name: string, actions: ColumnActions): HTMLElement {
  return popover("", `Column ${name}`, "menu-button", (close) => {
    const column = request.endpoint.columns.find((each) => each.name === name);
    const { sort } = actions;
    const order = (label: string, direction: SortOrder): HTMLElement =>
      button(label, () => {
        close();
        sort?.(direction);
      });
    return [
      el("h3", name),
      el("p.type", { title: column?.type ?? null }, typeInWords(column?.type ?? null)),
      column !== undefined && column.description !== "" && el("p", ...prose(column.description)),
      sort !== null && el("div.bar", order("Sort ascending", "ASC"), order("Sort descending", "DESC")),
      ...valuesPart(request, name, (parameters) => {
        close();
        actions.filter(parameters);
      }),
    ];
  });
}

/** The most frequent values under the other filters, and those that begin with what is typed. */
function valuesPart(
  request: ApiRequest,
  name: string,
  filter: (parameters: Parameters) => void,
): readonly HTMLElement[] {
  const list = el("div.values", { role: "group", "aria-label": `Values of ${name}` });
  const note = el("p.note", { role: "status" }, "Reading its values …");
  let last: AbortController | null = null;
  const others = rowFilters({ ...request, parameters: withoutColumn(request, name) });
  const read = async (prefix: string): Promise<void> => {
    last?.abort();
    const reading = (last = new AbortController());
    try {
      const { values, more } = await fetchValues(
        request.endpoint,
        name,
        { prefix, limit: LISTED, others },
        reading.signal,
      );
      list.replaceChildren(
        ...values.map(({ value, rows }) => {
          const parameters = filterBy(request, name, value);
          const made = button("", () => parameters !== null && filter(parameters), {
            disabled: parameters === null,
          });
          made.append(
            el("span.text", value === null ? "null" : textOf(value)),
            el("span.rows-of", rows === undefined ? "" : rows.toLocaleString("en")),
          );
          return made;
        }),
      );
      note.textContent = more
        ? `The ${count(values.length, "most frequent value")}.`
        : count(values.length, "value");
    } catch (error) {
      if (reading.signal.aborted) return;
      list.replaceChildren();
      note.textContent = messageOf(error);
    }
  };
  void read("");
  const search = el("input", {
    type: "text",
    placeholder: "Begins with …",
    "aria-label": `Values of ${name} that begin with`,
    input: () => void read(search.value.trim()),
  });
  return [search, list, note];
}

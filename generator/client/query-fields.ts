import type { Endpoint, Parameter } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { HIDDEN } from "../manifest/strings.js";

/** A field of a query: a declared parameter, or one of pagination and sorting. */
export interface QueryField {
  readonly name: string;
  readonly type: "text" | "texts" | "integer" | { readonly oneOf: readonly string[] };
  readonly description: string;
}

/** What a caller may send to an endpoint, in the documented order. */
export function queryFieldsOf({ endpoint, documentation }: CatalogueEntry): readonly QueryField[] {
  const parameters = endpoint.parameters.map((parameter) => ({
    name: parameter.name,
    type: parameter.operator === "IN" ? ("texts" as const) : ("text" as const),
    description: describe(parameter, documentation.parameters.get(parameter.name) ?? ""),
  }));
  return [...parameters, ...pageFields(endpoint), ...sortFields(endpoint)];
}

function describe({ column, operator }: Parameter, description: string): string {
  const filter = `${column} ${operator} ${operator === "IN" ? "values" : "value"}.`;
  const about = description.trim().replace(/\.$/, "");
  return about === "" ? filter : `${about}: ${filter}`;
}

function pageFields({ pagination }: Endpoint): readonly QueryField[] {
  if (pagination === null) return [];
  const { defaultLimit, maxLimit } = pagination;
  const limits = `Default ${String(defaultLimit)}, at most ${String(maxLimit)}.`;
  return [
    { name: "limit", type: "integer", description: `Rows on a page. ${limits}` },
    { name: "offset", type: "integer", description: "Rows to skip. Default 0." },
  ];
}

function sortFields({ sortableFields }: Endpoint): readonly QueryField[] {
  if (sortableFields.length === 0) return [];
  return [
    { name: "sort_by", type: { oneOf: sortableFields }, description: "Column to sort by." },
    { name: "sort_direction", type: { oneOf: ["ASC", "DESC"] }, description: "Default ASC." },
  ];
}

/** Text of a manifest for the rest of a comment line: on one line, and nothing in it hidden. */
export function onOneLine(text: string): string {
  return text.replace(HIDDEN, " ").replace(/\s+/g, " ").trim();
}

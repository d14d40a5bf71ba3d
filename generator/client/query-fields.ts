import { columnParameters, type Endpoint, type Parameter } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { parseColumnType } from "../catalogue/column-types/column-type.js";
import { HIDDEN } from "../manifest/strings.js";

/** A field of a query: a declared parameter, or one of pagination and sorting. */
export interface QueryField {
  readonly name: string;
  /** A `number` may be written as a text, which keeps all of its digits. */
  readonly type: "text" | "integer" | "number" | { readonly oneOf: readonly string[] };
  /** Whether it also takes several values. */
  readonly isList: boolean;
  readonly description: string;
}

/** What a caller may send to an endpoint, in the documented order. */
export function queryFieldsOf({ endpoint, documentation }: CatalogueEntry): readonly QueryField[] {
  const parameters = endpoint.parameters.map((parameter) => ({
    name: parameter.name,
    type: valuesOf(parameter, endpoint),
    isList: parameter.operator === "IN",
    description: describe(parameter, documentation.parameters.get(parameter.name) ?? ""),
  }));
  return [
    ...parameters,
    ...columnFields(endpoint),
    ...fieldsOf(endpoint),
    ...pageFields(endpoint),
    ...cursorFields(endpoint),
    ...sortFields(endpoint),
  ];
}

/** A field per operator of a filtered column, named as in a query string. */
function columnFields({ filters = [] }: Endpoint): readonly QueryField[] {
  return filters.flatMap((filter) =>
    columnParameters(filter).map(({ name, column, operator }) => ({
      name,
      type:
        operator === "null" || filter.type === "boolean"
          ? { oneOf: ["true", "false"] }
          : filter.type === "integer" || filter.type === "number"
            ? ("number" as const)
            : ("text" as const),
      isList: operator === "IN",
      description: `Filters by ${column}.`,
    })),
  );
}

/** A parameter with `case` accepts its values in any letter case, which a union cannot express. */
function valuesOf(parameter: Parameter, { columns }: Endpoint): QueryField["type"] {
  const type = columns.find(({ name }) => name === parameter.column)?.type ?? null;
  const isText = ["string", "enum"].includes(parseColumnType(type ?? undefined).kind);
  const { values } =
    "values" in parameter && !("case" in parameter) && isText ? parameter : { values: undefined };
  return values === undefined ? "text" : { oneOf: values };
}

function describe({ column, operator }: Parameter, description: string): string {
  const filter = `${column} ${operator} ${operator === "IN" ? "values" : "value"}.`;
  const about = description.trim().replace(/\.$/, "");
  return about === "" ? filter : `${about}: ${filter}`;
}

function fieldsOf({ fields, columns }: Endpoint): readonly QueryField[] {
  if (!fields) return [];
  const oneOf = columns.map(({ name }) => name);
  return [
    { name: "fields", type: { oneOf }, isList: true, description: "Only these columns, in their order." },
  ];
}

function cursorFields({ cursor }: Endpoint): readonly QueryField[] {
  if (cursor === undefined) return [];
  return [
    {
      name: "cursor",
      type: "text",
      isList: false,
      description: "The page behind another: its `next_cursor`.",
    },
    {
      name: "consistent",
      type: { oneOf: ["true", "false"] },
      isList: false,
      description: "Fail with 409 once the rows have changed.",
    },
  ];
}

function pageFields({ pagination }: Endpoint): readonly QueryField[] {
  if (pagination === null) return [];
  const { defaultLimit, maxLimit } = pagination;
  const limits = `Default ${String(defaultLimit)}, at most ${String(maxLimit)}.`;
  return [
    { name: "limit", type: "integer", isList: false, description: `Rows on a page. ${limits}` },
    { name: "offset", type: "integer", isList: false, description: "Rows to skip. Default 0." },
  ];
}

function sortFields({ sortableFields }: Endpoint): readonly QueryField[] {
  if (sortableFields.length === 0) return [];
  return [
    { name: "sort_by", type: { oneOf: sortableFields }, isList: false, description: "Column to sort by." },
    { name: "sort_direction", type: { oneOf: ["ASC", "DESC"] }, isList: false, description: "Default ASC." },
  ];
}

/** Texts as sentences one after the other; each ends with a punctuation mark. */
export function sentences(...texts: readonly string[]): string {
  return texts
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .map((text) => (/[.!?…:;)]$/.test(text) ? text : `${text}.`))
    .join(" ");
}

/** Text of a manifest for the rest of a comment line: on one line, and nothing in it hidden. */
export function onOneLine(text: string): string {
  return text.replace(HIDDEN, " ").replace(/\s+/g, " ").trim();
}

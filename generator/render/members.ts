import type { Filter } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { parseColumnType, typeScriptOf } from "../catalogue/column-types/column-type.js";
import { memberName, stringLiteral } from "./code.js";
import { docComment } from "./comment.js";

/** Lines of the `Row` interface: a property per column, in the model's order. */
export function rowMembers({ endpoint, documentation }: CatalogueEntry): string[] {
  return endpoint.columns.map(({ name, type }) => {
    const typeScript = typeScriptOf(parseColumnType(type ?? undefined));
    return member(memberName(name), typeScript, [documentation.columns.get(name) ?? ""]);
  });
}

/** Lines of the `Query` interface: the parameters as declared, then the fields of pages and sorting. */
export function queryMembers({ endpoint, documentation }: CatalogueEntry): string[] {
  const parameters = endpoint.parameters.map((parameter) => {
    const { name, column, operator } = parameter;
    const about = documentation.parameters.get(name)?.trim().replace(/\.$/, "");
    const filter = `\`${column} ${operator} ${operator === "IN" ? "values" : "value"}\`.`;
    return member(`${memberName(name)}?`, queryType(parameter), [about ? `${about}: ${filter}` : filter]);
  });
  return [...parameters, ...pageMembers(endpoint), ...sortMembers(endpoint)];
}

function queryType({ type }: Filter): string {
  switch (type) {
    case "string":
    case "date":
      return "string";
    case "string_list":
      return "string[]";
  }
}

function pageMembers({ pagination }: CatalogueEntry["endpoint"]): string[] {
  if (pagination === null) return [];
  const { defaultLimit, maxLimit } = pagination;
  return [
    member("limit?", "number", [
      `Rows on a page: ${String(defaultLimit)} unless given, ${String(maxLimit)} at most.`,
    ]),
    member("offset?", "number", ["Rows before the page: none unless given."]),
  ];
}

function sortMembers({ sortableFields }: CatalogueEntry["endpoint"]): string[] {
  if (sortableFields.length === 0) return [];
  return [
    member("sort_by?", sortableFields.map(stringLiteral).join(" | "), [
      "Column to sort by, ahead of the fixed order.",
    ]),
    member("sort_direction?", '"ASC" | "DESC"', ["Direction of `sort_by`: ascending unless given."]),
  ];
}

function member(name: string, type: string, about: readonly string[]): string {
  return `${docComment(about, 2)}  ${name}: ${type};\n`;
}

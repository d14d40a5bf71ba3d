import {
  type Aggregate,
  type ColumnFilter,
  COMPARISONS,
  type Endpoint,
  type Filter,
  FILTER_OPERATORS,
  GROUP_PAGES,
  groupNames,
  hasRange,
  operatorOf,
  operatorsOf,
  REQUIRE_FRESH,
  VALUES,
} from "@routewright/runtime/model";
import type { OptionalKind, PropertySignatureStructure } from "ts-morph";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { type DataType, isWide, typeFrom } from "../catalogue/types/data-type.js";
import { jsonKindOf } from "../catalogue/types/json-schema.js";
import { dataTypeOf, typeInResponse, withAcceptedValues } from "../catalogue/types/read-type.js";
import { memberName, typeScriptOf } from "../catalogue/types/typescript.js";
import { visibleJson } from "../manifest/strings.js";
import { hasPeriods } from "./openapi/group-fields.js";
import { rowColumns } from "./openapi/rows.js";
import { docText } from "./code.js";

/** A property of the types `Row` and `Query`. */
export type TypeMember = OptionalKind<PropertySignatureStructure>;

/** One property per column, in the model's order. */
export function rowMembers(endpoint: CatalogueEntry): TypeMember[] {
  return rowColumns(endpoint).map((column) => {
    const { name, type, sourceType, acceptedValues, description = "" } = column;
    const stored = withAcceptedValues(dataTypeOf(type), acceptedValues);
    const columnType = typeInResponse(stored, column, endpoint);
    const served = type === null ? "" : `${type}${riskOf(columnType)}`;
    const copied = sourceType === undefined ? "" : `copied from ${sourceType}`;
    const warehouseType = [served, copied].filter((text) => text !== "").join(", ");
    const each = member(name, typeScriptOf(columnType), withType(description, warehouseType));
    return endpoint.aggregate === undefined ? each : { ...each, hasQuestionToken: true };
  });
}

/** What a JavaScript number does to the values. */
function riskOf(type: DataType): string {
  if (!isWide(type)) return "";
  const risk = jsonKindOf(type) === "decimal" ? "may lose digits" : "larger than Number.MAX_SAFE_INTEGER";
  return `: ${risk}; see "Large numbers"`;
}

/** `Day of the activity (date).`; after a text of several lines the type is a paragraph. */
function withType(description: string, type: string): readonly string[] {
  const text = description.trim();
  if (type === "") return [text];
  if (text === "") return [`${type}.`];
  return /[\r\n]/.test(text) ? [text, `${type}.`] : [`${text.replace(/\.$/, "")} (${type}).`];
}

/** The declared parameters, then those of pagination and sorting. */
export function queryMembers(endpoint: CatalogueEntry): TypeMember[] {
  const operators = new Map((endpoint.filters ?? []).map((filter) => [filter.column, operatorsType(filter)]));
  const parameters = endpoint.parameters.map((parameter) => {
    const { name, column, operator } = parameter;
    const description = parameter.description?.trim().replace(/\.$/, "");
    const filter = `\`${column} ${operator} ${parameter.type === "string_list" ? "values" : "value"}\`.`;
    const type = endpoint.columns.find((each) => each.name === column)?.type ?? null;
    const value = queryType(parameter, dataTypeOf(type));
    return optional(
      name,
      operators.has(name) ? `${value} | ${operators.get(name) ?? ""}` : value,
      description ? `${description}: ${filter}` : filter,
    );
  });
  return [
    ...parameters,
    ...filterMembers(endpoint),
    ...expressionMembers(endpoint),
    ...aggregateMembers(endpoint),
    ...fieldsMembers(endpoint),
    ...freshMembers(endpoint),
    ...pageMembers(endpoint),
    ...(endpoint.aggregate === undefined ? sortMembers(endpoint) : []),
  ];
}

/** A property per filtered column, as in the body of a POST; a parameter of its name has them too. */
function filterMembers({ filters = [], parameters }: Endpoint): TypeMember[] {
  return filters
    .filter(({ column }) => !parameters.some(({ name }) => name === column))
    .map((filter) =>
      optional(filter.column, operatorsType(filter), `Filter: \`${filter.column}\` compared with a value.`),
    );
}

function expressionMembers({ filter }: Endpoint): TypeMember[] {
  const text = "Conditions on the columns that filters compare, with `and`, `or`, `not` and parentheses.";
  return filter === true ? [optional("filter", "string", text)] : [];
}

/** What chooses groups and measures, the range of `metric_time`, and the filters on groups. */
function aggregateMembers(endpoint: CatalogueEntry): TypeMember[] {
  const { aggregate, pagination } = endpoint;
  if (aggregate === undefined) return [];
  const { of, measures, saved, filters } = aggregate;
  const unionOf = (names: readonly string[]): string => `readonly (${names.map(visibleJson).join(" | ")})[]`;
  const groups = [...new Set(measures.flatMap((measure) => groupNames(measure.groups)))];
  const choice = [
    ...(groups.length === 0
      ? []
      : [optional("group_by", unionOf(groups), "Groups of the rows. Default: none, one row.")]),
    optional(
      of,
      unionOf(measures.map(({ name }) => name)),
      `What is asked of each group. Default: all ${of}.`,
    ),
  ];
  const range = [
    optional("start_date", "string", "First day of `metric_time`, inclusive."),
    optional("end_date", "string", "Last day of `metric_time`, inclusive."),
  ];
  const pages = pagination === null ? pageMembers({ pagination: GROUP_PAGES }) : [];
  const cursor = optional("cursor", "string", "The page behind another: its `Link`.");
  const names = aggregate.columns.map(({ name }) => name);
  const sort = saved === undefined ? sortMembers({ sortableFields: names }) : [];
  return [
    ...(saved === undefined ? choice : []),
    ...(hasRange(aggregate) ? range : []),
    ...(saved === undefined ? [...filters.map(groupMember), ...optionMembers(endpoint, aggregate)] : []),
    ...pages,
    cursor,
    ...sort,
  ];
}

/** Filters on results, and what else is asked of groups. */
function optionMembers(endpoint: CatalogueEntry, aggregate: Aggregate): TypeMember[] {
  const { measures } = aggregate;
  const number = operatorsType({ type: "number" });
  const results = measures.map(({ name }) =>
    optional(name, number, `Filter: the result \`${name}\` compared with a value.`),
  );
  const compare = COMPARISONS.map(visibleJson).join(" | ");
  return [
    ...results,
    ...(measures.some(({ groups }) => groups.length > 0)
      ? [
          optional("top", "number", "So many groups: the first by `sort_by`."),
          optional("other", "boolean", "A row for all groups that `top` leaves out. Default: false."),
          optional("totals", "boolean", "Rows for totals, with the column `level`. Default: false."),
        ]
      : []),
    ...(hasPeriods(endpoint, aggregate)
      ? [optional("compare", compare, "The values of an earlier period beside each measure.")]
      : []),
  ];
}

function groupMember(filter: ColumnFilter): TypeMember {
  const type = `${VALUES[filter.type].typescript} | ${operatorsType(filter)}`;
  return optional(filter.column, type, `Filter: \`${filter.column}\` compared with a value.`);
}

function operatorsType({ type }: Pick<ColumnFilter, "type">): string {
  const { typescript } = VALUES[type];
  const members = operatorsOf(type).map((name) => {
    const { value, parameter } = operatorOf(FILTER_OPERATORS.get(name) ?? "=");
    if (value === "flag") return `${name}?: boolean`;
    return parameter?.type === "string_list"
      ? `${name}?: readonly (${typescript})[]`
      : `${name}?: ${typescript}`;
  });
  return `{ ${members.join("; ")} }`;
}

/** A parameter with `case` accepts its values in any letter case, which a union cannot express. */
function queryType(filter: Filter, type: DataType): string {
  const isExact = ["string", "enum"].includes(jsonKindOf(type)) && !("case" in filter);
  const value = withAcceptedValues(TEXT, isExact && "values" in filter ? filter.values : null);
  return typeScriptOf(filter.type === "string_list" ? typeFrom({ kind: "array", of: value }) : value);
}

const TEXT = typeFrom({ kind: "text" });

function fieldsMembers({ fields, columns }: Endpoint): TypeMember[] {
  if (!fields) return [];
  const type = `readonly (${columns.map(({ name }) => visibleJson(name)).join(" | ")})[]`;
  return [optional("fields", type, "Columns of a row, in their order. Default: all.")];
}

function freshMembers({ requireFresh }: Endpoint): TypeMember[] {
  if (!requireFresh) return [];
  return [
    optional(REQUIRE_FRESH, "boolean", "503 in place of rows that are older than promised. Default: false."),
  ];
}

function pageMembers({ pagination, cursor }: Pick<Endpoint, "pagination" | "cursor">): TypeMember[] {
  if (pagination === null) return [];
  const { defaultLimit, maxLimit } = pagination;
  return [
    optional(
      "limit",
      "number",
      `Rows on a page. Default ${String(defaultLimit)}, at most ${String(maxLimit)}.`,
    ),
    optional("offset", "number", "Rows to skip. Default 0."),
    ...(cursor === undefined
      ? []
      : [optional("cursor", "string", "The page behind another: `next_cursor` of that one.")]),
  ];
}

function sortMembers({ sortableFields }: Pick<Endpoint, "sortableFields">): TypeMember[] {
  if (sortableFields.length === 0) return [];
  return [
    optional(
      "sort_by",
      sortableFields.map(visibleJson).join(" | "),
      "Column to sort by, before the fixed order.",
    ),
    optional("sort_direction", '"ASC" | "DESC"', "Direction of `sort_by`. Default ASC."),
  ];
}

function optional(name: string, type: string, description: string): TypeMember {
  return { ...member(name, type, [description]), hasQuestionToken: true };
}

function member(name: string, type: string, description: readonly string[]): TypeMember {
  const text = docText(description);
  return { name: memberName(name), type, ...(text !== "" && { docs: [text] }) };
}

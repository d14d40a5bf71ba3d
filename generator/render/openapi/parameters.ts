import {
  type Aggregate,
  type ColumnFilter,
  DEFAULT_MAX_ITEMS,
  DEFAULT_MAX_LENGTH,
  type Endpoint,
  FILTER_OPERATORS,
  type FilterOperator,
  GROUP_PAGES,
  groupNames,
  hasRange,
  type Json,
  type JsonMap,
  type JsonRecord,
  MAX_CURSOR_LENGTH,
  MAX_OFFSET,
  type Method,
  operatorOf,
  operatorsOf,
  OPERATORS,
  type Pagination,
  type Parameter,
  type ValueKind,
  VALUES,
} from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedParameter } from "../../catalogue/catalogue.js";

/** A field of a request: in the query of a GET, in the body of a POST. */
interface RequestField {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonRecord;
  /** How several values are written in a query string. */
  readonly style?: "form";
}

/**
 * The `parameters` of a GET: the declared ones, then `limit`, `offset`, `sort_by`, `sort_direction`. OpenAPI cannot
 * express "at least one of these" for a query: only a filter without an alternative is marked as required.
 */
export function queryParameters(entry: CatalogueEntry): readonly Json[] {
  const [required, alternative] = requiredFilters(entry);
  return fieldsOf(entry, "GET").map(({ name, description, schema, style }) => ({
    name,
    in: "query",
    description,
    ...(name === required && alternative === undefined && { required: true }),
    ...(style && { style, explode: !UNEXPLODED.has(name) }),
    schema,
  }));
}

/** Lists of names: clients write them with commas. */
const UNEXPLODED: ReadonlySet<string> = new Set(["fields", "group_by", "measures", "metrics"]);

/** The body of a POST: one property per field and no others; required if a filter is. */
export function requestBody(entry: CatalogueEntry): JsonRecord {
  const required = requiredFilters(entry);
  const schema = new Map<string, Json>([
    ["type", "object"],
    ["properties", bodyProperties(fieldsOf(entry, "POST"))],
    ["additionalProperties", false],
  ]);
  if (entry.sortableFields.length > 0) schema.set("dependentRequired", { sort_direction: ["sort_by"] });
  // Within `allOf`: type generators read a bare `anyOf` as a union of undescribed types.
  const alternatives = required.map((name) => ({ required: [name] }));
  if (required.length > 0) schema.set("allOf", [{ anyOf: alternatives }]);
  return { required: required.length > 0, content: { "application/json": { schema } } };
}

/** A parameter and a filtered column of one name are one property: a value, or an object of operators. */
function bodyProperties(fields: readonly RequestField[]): JsonMap {
  const properties = new Map(fields.map((field) => [field.name, property(field)]));
  for (const [i, { name, description, schema }] of fields.entries()) {
    const first = fields.find((field) => field.name === name);
    if (first === undefined || first === fields[i]) continue;
    const words = `${first.description} Or an object: ${description}`;
    properties.set(name, property({ name, description: words, schema: { anyOf: [first.schema, schema] } }));
  }
  return properties;
}

/** Parameters of which a request must have at least one; empty where it needs none. */
export function requiredFilters(endpoint: CatalogueEntry): readonly string[] {
  if (endpoint.requireAnyOf.length > 0) return endpoint.requireAnyOf;
  if (endpoint.allowUnfiltered) return [];
  const { parameters, filters = [] } = endpoint;
  return [...new Set([...parameters.map(({ name }) => name), ...filters.map(({ column }) => column)])];
}

function property({ description, schema }: RequestField): JsonMap {
  return new Map<string, Json>([...Object.entries(schema), ["description", description]]);
}

function fieldsOf(endpoint: CatalogueEntry, method: Method): readonly RequestField[] {
  const { parameters, sortableFields, aggregate } = endpoint;
  const pagination = endpoint.pagination ?? (aggregate === undefined ? null : GROUP_PAGES);
  const sortable = aggregate === undefined ? sortableFields : sortableNames(aggregate, sortableFields);
  return [
    ...parameters.map((parameter) => filterField(parameter, method)),
    ...(endpoint.filters ?? []).flatMap((filter) => columnFields(filter, method)),
    ...(aggregate === undefined ? [] : aggregateFields(aggregate, method)),
    ...(endpoint.fields ? [fieldsField(endpoint)] : []),
    ...(pagination === null ? [] : pageFields(pagination)),
    ...(endpoint.cursor !== undefined || aggregate !== undefined ? [CURSOR_PARAMETER] : []),
    ...(sortable.length === 0 ? [] : sortFields(sortable)),
  ];
}

/** Groups and measures sort, beside the columns that rows may be sorted by; a saved query has its own order. */
function sortableNames({ saved, columns }: Aggregate, own: readonly string[]): readonly string[] {
  return saved === undefined ? [...new Set([...own, ...columns.map(({ name }) => name)])] : [];
}

/** What chooses groups and measures, the range of `metric_time`, and the filters on groups. */
function aggregateFields(aggregate: Aggregate, method: Method): readonly RequestField[] {
  const { of, measures, saved, filters } = aggregate;
  const range = hasRange(aggregate) ? RANGE : [];
  if (saved !== undefined) return range;
  const groups = [...new Set(measures.flatMap((measure) => groupNames(measure.groups)))];
  return [
    ...(groups.length === 0
      ? []
      : [chosen("group_by", groups, "Groups of the rows. Default: none, one row.")]),
    chosen(
      of,
      measures.map(({ name }) => name),
      `What is asked of each group. Default: all ${of}.`,
    ),
    ...range,
    ...filters.flatMap((filter) => [equality(filter), ...columnFields(filter, method)]),
  ];
}

function chosen(name: string, names: readonly string[], description: string): RequestField {
  const text = `${description} Repeat the name for several, or separate them with commas.`;
  return {
    name,
    description: text,
    schema: { type: "array", items: { type: "string", enum: names } },
    style: "form",
  };
}

const RANGE: readonly RequestField[] = [
  {
    name: "start_date",
    description: "First day of `metric_time`, inclusive.",
    schema: { type: "string", format: "date" },
  },
  {
    name: "end_date",
    description: "Last day of `metric_time`, inclusive.",
    schema: { type: "string", format: "date" },
  },
];

function equality({ column, type }: ColumnFilter): RequestField {
  return { name: column, description: `Filter: \`${column} = value\`.`, schema: VALUES[type].schema };
}

function filterField(parameter: DescribedParameter, method: Method): RequestField {
  return {
    name: parameter.name,
    description: paragraphs(parameter.description ?? "", filterText(parameter, method)),
    schema: schemaOf(parameter),
    ...(parameter.type === "string_list" && { style: "form" as const }),
  };
}

/**
 * In a body one field, whose properties are the operators. In a query one parameter per operator, `amount[gte]`: of a deep object
 * generated clients make `gte=490` (openapi-python-client) or nothing.
 */
function columnFields({ column, type }: ColumnFilter, method: Method): readonly RequestField[] {
  const operators = operatorsOf(type).map((operator) => ({
    operator,
    schema: operatorSchema(operator, type),
  }));
  if (method === "GET")
    return operators.map(({ operator, schema }) => ({
      name: `${column}[${operator}]`,
      description: `Filter: \`${column}\` ${operatorText(operator)}`,
      schema,
      ...(isList(operator) && { style: "form" as const }),
    }));
  const properties = new Map(operators.map(({ operator, schema }) => [operator, schema]));
  const description = `Filter: \`${column}\` compared with a value, by operator.`;
  return [{ name: column, description, schema: { type: "object", properties, additionalProperties: false } }];
}

function fieldsField({ columns }: Endpoint): RequestField {
  return {
    name: "fields",
    description: "Columns of a row, in the order asked for. Default: all.",
    schema: { type: "array", items: { type: "string", enum: columns.map(({ name }) => name) } },
    style: "form",
  };
}

const CURSOR_PARAMETER: RequestField = {
  name: "cursor",
  description: "The page behind another: `next_cursor` of that one, or its `Link`. Not with `offset`.",
  schema: { type: "string", maxLength: MAX_CURSOR_LENGTH },
};

const entryOf = (filter: FilterOperator) => operatorOf(FILTER_OPERATORS.get(filter) ?? "=");

const isList = (filter: FilterOperator): boolean => entryOf(filter).parameter?.type === "string_list";

function operatorText(filter: FilterOperator): string {
  const { text } = entryOf(filter);
  return isList(filter) ? `${text}. ${LIST_TEXTS.GET}` : `${text}.`;
}

function operatorSchema(operator: FilterOperator, type: ValueKind): JsonRecord {
  if (entryOf(operator).value === "flag") return { type: "boolean" };
  const { schema } = VALUES[type];
  return isList(operator) ? { type: "array", items: schema, maxItems: DEFAULT_MAX_ITEMS } : schema;
}

function schemaOf(parameter: Parameter): JsonRecord {
  switch (parameter.type) {
    case "string":
      return textSchema(parameter);
    case "date":
      return { type: "string", format: "date" };
    case "string_list":
      return {
        type: "array",
        items: textSchema(parameter),
        maxItems: parameter.maxItems ?? DEFAULT_MAX_ITEMS,
      };
  }
}

/** With `case`, values match in any letter case, which an `enum` cannot express. */
function textSchema(parameter: TextParameter): JsonRecord {
  const { values, maxLength = DEFAULT_MAX_LENGTH } = parameter;
  return { type: "string", maxLength, ...(values && parameter.case === undefined && { enum: values }) };
}

/** Describes a filter's column and operator. */
function filterText(parameter: Parameter, method: Method): string {
  const { sql, note = "" }: Documented = OPERATORS[parameter.operator].parameter;
  const list = parameter.type === "string_list" ? ` ${LIST_TEXTS[method]}` : "";
  const letters =
    parameter.type !== "date" && operatorOf(parameter.operator).value === "typed" ? caseText(parameter) : "";
  return `Filter: \`${parameter.column} ${sql}\`${note}.${list}${letters}`;
}

interface Documented {
  readonly sql: string;
  readonly note?: string;
}

const LIST_TEXTS: Readonly<Record<Method, string>> = {
  GET: "Repeat the name for several values, or separate them with commas. The address and the headers of a request hold 16 KiB together: a longer one is a 431.",
  POST: "A string of comma-separated values works too.",
};

function caseText({ case: letterCase, values }: Pick<TextParameter, "case" | "values">): string {
  if (letterCase === undefined) return "";
  const among = values ? ` The value is one of ${codeList(values)}, in any letter case.` : "";
  return ` Value and column are compared in ${letterCase} case.${among}`;
}

type TextParameter = Extract<Parameter, { readonly type: "string" | "string_list" }>;

function pageFields({ defaultLimit, maxLimit }: Pagination): readonly RequestField[] {
  const limit = { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit };
  const offset = { type: "integer", minimum: 0, maximum: MAX_OFFSET, default: 0 };
  return [
    { name: "limit", description: "Maximum number of rows.", schema: limit },
    { name: "offset", description: "Rows to skip.", schema: offset },
  ];
}

function sortFields(columns: readonly string[]): readonly RequestField[] {
  const direction = { type: "string", enum: ["ASC", "DESC"] };
  return [
    {
      name: "sort_by",
      description: "Column to sort by, before the fixed order.",
      schema: { type: "string", enum: columns },
    },
    {
      name: "sort_direction",
      description: "Direction of `sort_by`. Default ASC. Requires `sort_by`.",
      schema: direction,
    },
  ];
}

/** The non-empty texts as Markdown paragraphs. */
export function paragraphs(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Names as Markdown code, separated by commas. */
export function codeList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

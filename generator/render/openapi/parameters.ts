import {
  type Aggregate,
  type ColumnFilter,
  type Endpoint,
  GROUP_PAGES,
  type Json,
  type JsonMap,
  type JsonRecord,
  MAX_CURSOR_LENGTH,
  MAX_OFFSET,
  type Method,
  type Pagination,
  REQUIRE_FRESH,
} from "@routewright/runtime/model";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import { columnFields, expressionField, filterField, type RequestField } from "./filter-fields.js";
import { aggregateFields } from "./group-fields.js";

/**
 * The `parameters` of a GET: the declared ones, then `limit`, `offset`, `sort_by`, `sort_direction`. OpenAPI cannot
 * express "at least one of these" for a query: only a filter without an alternative is marked as required.
 */
export function queryParameters(entry: CatalogueEntry): readonly Json[] {
  const [required, alternative] = requiredFilters(entry);
  return fieldsOf(entry, "GET").map(({ name, description, schema, style, example }) => ({
    name,
    in: "query",
    description,
    ...(name === required && alternative === undefined && { required: true }),
    ...(style && { style, explode: !UNEXPLODED.has(name) }),
    schema,
    ...(example !== undefined && { example }),
  }));
}

/** Lists of names: clients write them with commas. */
const UNEXPLODED: ReadonlySet<string> = new Set(["fields", "group_by", "measures", "metrics"]);

/** The body of a POST: one property per field and no others; required if a filter is. */
export function requestBody(entry: CatalogueEntry): JsonRecord {
  const required = requiredFilters(entry);
  const fields = fieldsOf(entry, "POST");
  const schema = new Map<string, Json>([
    ["type", "object"],
    ["properties", bodyProperties(fields)],
    ["additionalProperties", false],
  ]);
  if (entry.sortableFields.length > 0) schema.set("dependentRequired", { sort_direction: ["sort_by"] });
  // Within `allOf`: type generators read a bare `anyOf` as a union of undescribed types.
  const alternatives = required.map((name) => ({ required: [name] }));
  if (required.length > 0) schema.set("allOf", [{ anyOf: alternatives }]);
  const example = exampleOfBody(fields, required);
  return {
    required: required.length > 0,
    content: { "application/json": { schema, ...(example !== null && { example }) } },
  };
}

/** Fields that no other excludes or needs. */
const IN_EXAMPLE: ReadonlySet<string> = new Set(["group_by", "measures", "metrics", "fields", "limit"]);

/** A whole body: what the endpoint asks for, and a page of it. Null where nothing is known of the type of what it asks for. */
function exampleOfBody(fields: readonly RequestField[], required: readonly string[]): JsonMap | null {
  const known = fields.flatMap((field) => {
    const value = field.example ?? exampleOfOperators(field);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  const asked = known.find(([name]) => required.includes(name));
  if (asked === undefined && required.length > 0) return null;
  const isGrouped = known.some(([name]) => name === "measures" || name === "metrics");
  const others = known.filter(([name]) => IN_EXAMPLE.has(name) && !(isGrouped && name === "fields"));
  return new Map([...(asked === undefined ? [] : [asked]), ...others]);
}

/** The first operator with an example, as an object. */
function exampleOfOperators({ schema }: RequestField): Json | undefined {
  const { properties } = schema as {
    readonly properties?: ReadonlyMap<string, { readonly examples?: readonly Json[] }>;
  };
  for (const [operator, { examples: [example] = [] }] of properties ?? [])
    if (example !== undefined) return { [operator]: example };
  return undefined;
}

/** A parameter and a filtered column of one name are one property: a value, or an object of operators. */
function bodyProperties(fields: readonly RequestField[]): JsonMap {
  const properties = new Map(fields.map((field) => [field.name, property(field)]));
  for (const [i, { name, description, schema }] of fields.entries()) {
    const first = fields.find((field) => field.name === name);
    if (first === undefined || first === fields[i]) continue;
    const words = `${first.description} Or an object: ${description}`;
    const either = { ...first, description: words, schema: { anyOf: [first.schema, schema] } };
    properties.set(name, property(either));
  }
  return properties;
}

/** Parameters of which a request must have at least one; empty where it needs none. */
export function requiredFilters(endpoint: CatalogueEntry): readonly string[] {
  if (endpoint.requireAnyOf.length > 0) return endpoint.requireAnyOf;
  if (endpoint.allowUnfiltered) return [];
  const { parameters, filters = [], filter } = endpoint;
  return [
    ...new Set([
      ...parameters.map(({ name }) => name),
      ...filters.map(({ column }) => column),
      ...(filter ? ["filter"] : []),
    ]),
  ];
}

function property({ description, schema, example }: RequestField): JsonMap {
  const examples: (readonly [string, Json])[] = example === undefined ? [] : [["examples", [example]]];
  return new Map<string, Json>([...Object.entries(schema), ["description", description], ...examples]);
}

function fieldsOf(endpoint: CatalogueEntry, method: Method): readonly RequestField[] {
  const { parameters, sortableFields, aggregate } = endpoint;
  const pagination = endpoint.pagination ?? (aggregate === undefined ? null : GROUP_PAGES);
  const sortable = aggregate === undefined ? sortableFields : sortableNames(aggregate, sortableFields);
  return [
    ...parameters.map((parameter) => filterField(endpoint, parameter, method)),
    ...(endpoint.filters ?? []).flatMap((filter) => columnFields(endpoint, filter, method)),
    ...(endpoint.filter ? [expressionField(endpoint, comparedColumns(endpoint))] : []),
    ...(aggregate === undefined ? [] : aggregateFields(endpoint, aggregate, method)),
    ...(endpoint.fields ? [fieldsField(endpoint)] : []),
    ...(endpoint.requireFresh ? [FRESH_PARAMETER] : []),
    ...(pagination === null ? [] : pageFields(pagination)),
    ...(endpoint.cursor !== undefined || aggregate !== undefined ? [CURSOR_PARAMETER] : []),
    ...(sortable.length === 0 ? [] : sortFields(sortable)),
  ];
}

/** What the parameter `filter` compares: columns of rows, or groups of metrics. */
function comparedColumns({ filters = [], aggregate }: CatalogueEntry): readonly ColumnFilter[] {
  return aggregate?.of === "metrics" ? aggregate.filters : filters;
}

/** Groups and measures sort, beside the columns that rows may be sorted by; a saved query has its own order. */
function sortableNames({ saved, columns }: Aggregate, own: readonly string[]): readonly string[] {
  return saved === undefined ? [...new Set([...own, ...columns.map(({ name }) => name)])] : [];
}

function fieldsField({ columns }: Endpoint): RequestField {
  return {
    name: "fields",
    description: "Columns of a row, in the order asked for. Default: all.",
    schema: { type: "array", items: { type: "string", enum: columns.map(({ name }) => name) } },
    style: "form",
    example: columns.slice(0, 2).map(({ name }) => name),
  };
}

const FRESH_PARAMETER: RequestField = {
  name: REQUIRE_FRESH,
  description: "`true`: 503 in place of rows that are older than promised. Default: false.",
  schema: { type: "boolean", default: false },
  example: false,
};

const CURSOR_PARAMETER: RequestField = {
  name: "cursor",
  description:
    "The page behind another: `next_cursor` of that one, or its `Link`. Empty: the first page. Not with `offset`.",
  schema: { type: "string", maxLength: MAX_CURSOR_LENGTH },
  // Another one is of a row, which may be gone.
  example: "",
};

function pageFields({ defaultLimit, maxLimit }: Pagination): readonly RequestField[] {
  const limit = { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit };
  const offset = { type: "integer", minimum: 0, maximum: MAX_OFFSET, default: 0 };
  return [
    { name: "limit", description: "Maximum number of rows.", schema: limit, example: Math.min(10, maxLimit) },
    { name: "offset", description: "Rows to skip.", schema: offset, example: 0 },
  ];
}

function sortFields(columns: readonly string[]): readonly RequestField[] {
  const direction = { type: "string", enum: ["ASC", "DESC"] };
  return [
    {
      name: "sort_by",
      description: "Column to sort by, before the fixed order.",
      schema: { type: "string", enum: columns },
      example: columns[0],
    },
    {
      name: "sort_direction",
      description: "Direction of `sort_by`. Default ASC. Requires `sort_by`.",
      schema: direction,
      example: "DESC",
    },
  ];
}

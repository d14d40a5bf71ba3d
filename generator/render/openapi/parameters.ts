import type { Method, Pagination, Parameter } from "@routewright/runtime/model";
import type { CatalogueEntry, Documentation, Example } from "../../catalogue/catalogue.js";
import type { Json, JsonMap, JsonRecord } from "./json-text.js";

/** A field of a request: in the query of a GET, in the body of a POST. */
interface RequestField {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonRecord;
  readonly isList: boolean;
  readonly example?: Json;
}

/**
 * The `parameters` of a GET: the declared ones, then `limit`, `offset`, `sort_by`, `sort_direction`. OpenAPI cannot
 * express "at least one of these" for a query: only a filter without an alternative is marked as required.
 */
export function queryParameters(entry: CatalogueEntry): readonly Json[] {
  const [required, alternative] = requiredFilters(entry);
  return fieldsOf(entry, "GET").map(({ name, description, schema, isList, example }) => ({
    name,
    in: "query",
    description,
    ...(name === required && alternative === undefined && { required: true }),
    ...(isList && { style: "form", explode: true }),
    schema,
    ...(example !== undefined && { example }),
  }));
}

/** The body of a POST: one property per field and no others; required if a filter is. */
export function requestBody(entry: CatalogueEntry): JsonRecord {
  const required = requiredFilters(entry);
  const schema = new Map<string, Json>([
    ["type", "object"],
    ["properties", new Map(fieldsOf(entry, "POST").map((field) => [field.name, property(field)]))],
    ["additionalProperties", false],
  ]);
  if (entry.endpoint.sortableFields.length > 0)
    schema.set("dependentRequired", { sort_direction: ["sort_by"] });
  // Within `allOf`: type generators read a bare `anyOf` as a union of undescribed types.
  if (required.length > 0) schema.set("allOf", [{ anyOf: required.map((name) => ({ required: [name] })) }]);
  return { required: required.length > 0, content: { "application/json": { schema } } };
}

/** Parameters of which a request must have at least one; empty where it needs none. */
export function requiredFilters({ endpoint }: CatalogueEntry): readonly string[] {
  if (endpoint.requireAnyOf.length > 0) return endpoint.requireAnyOf;
  return endpoint.allowUnfiltered ? [] : endpoint.parameters.map(({ name }) => name);
}

function property({ description, schema, example }: RequestField): JsonMap {
  const examples = example === undefined ? [] : [["examples", [example]] as const];
  return new Map<string, Json>([...Object.entries(schema), ["description", description], ...examples]);
}

function fieldsOf({ endpoint, documentation }: CatalogueEntry, method: Method): readonly RequestField[] {
  const { parameters, pagination, sortableFields } = endpoint;
  return [
    ...parameters.map((parameter) => filterField(parameter, documentation, method)),
    ...(pagination === null ? [] : pageFields(pagination)),
    ...(sortableFields.length === 0 ? [] : sortFields(sortableFields)),
  ];
}

function filterField(
  parameter: Parameter,
  { parameters, examples }: Documentation,
  method: Method,
): RequestField {
  const { name, column } = parameter;
  const description = paragraphs(parameters.get(name) ?? "", filterText(parameter, method));
  const schema = schemaOf(parameter);
  const isList = parameter.type === "string_list";
  return { name, description, schema, isList, ...exampleOf(parameter, examples.get(column) ?? null) };
}

/** A value that finds the row whose column has the example. */
function exampleOf(parameter: Parameter, example: Example): Pick<RequestField, "example"> {
  if (example === null || typeof example === "object") return {};
  const text = String(example);
  switch (parameter.type) {
    case "date":
      return /^\d{4}-\d\d-\d\d/.test(text) ? { example: text.slice(0, 10) } : {};
    case "string":
      return parameter.values?.includes(text) === false ? {} : { example: text };
    case "string_list":
      return parameter.values?.includes(text) === false ? {} : { example: [text] };
  }
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

/** Defaults of `max_length` and `max_items` (generator/README.md, meta.api). */
const DEFAULT_MAX_LENGTH = 1000;
const DEFAULT_MAX_ITEMS = 1000;

/** Describes a filter's column and operator. */
function filterText(parameter: Parameter, method: Method): string {
  const { column } = parameter;
  switch (parameter.operator) {
    case "=":
      return `Filter: \`${column} = value\`.${caseText(parameter)}`;
    case ">=":
    case "<=":
      return `Filter: \`${column} ${parameter.operator} value\`, inclusive.`;
    case "ILIKE":
      return (
        `Filter: \`${column} ILIKE value\`: in any letter case, \`%\` matches any text; ` +
        `a value without \`%\` matches anywhere in the column.`
      );
    case "IN":
      return `Filter: \`${column} IN (values)\`. ${listText(method)}${caseText(parameter)}`;
  }
}

function listText(method: Method): string {
  switch (method) {
    case "GET":
      return "Repeat the name for several values, or separate them with commas.";
    case "POST":
      return "A string of comma-separated values works too.";
  }
}

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
    { name: "limit", description: "Maximum number of rows.", schema: limit, isList: false },
    { name: "offset", description: "Rows to skip.", schema: offset, isList: false },
  ];
}

/** Largest offset that the server accepts (runtime/README.md, Requests). */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

function sortFields(columns: readonly string[]): readonly RequestField[] {
  const direction = { type: "string", enum: ["ASC", "DESC"] };
  return [
    {
      name: "sort_by",
      description: "Column to sort by, before the fixed order.",
      schema: { type: "string", enum: columns },
      isList: false,
    },
    {
      name: "sort_direction",
      description: "Direction of `sort_by`. Default ASC. Requires `sort_by`.",
      schema: direction,
      isList: false,
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

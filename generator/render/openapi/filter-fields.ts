import {
  type ColumnFilter,
  DEFAULT_MAX_ITEMS,
  DEFAULT_MAX_LENGTH,
  expressionOperators,
  FILTER_LIMITS,
  FILTER_OPERATORS,
  filterLiteral,
  filterName,
  type FilterOperator,
  type Json,
  type JsonRecord,
  type Method,
  operatorOf,
  operatorsOf,
  OPERATORS,
  type Parameter,
  type ValueKind,
  VALUES,
} from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedParameter } from "../../catalogue/catalogue.js";
import { codeList, paragraphs } from "./markdown.js";
import { exampleOfFilter, exampleOfParameter } from "./parameter-examples.js";

/** A field of a request: in the query of a GET, in the body of a POST. */
export interface RequestField {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonRecord;
  /** A value that requests may send. Undefined: the value is an object, whose members have examples; or nothing is known of its type. */
  readonly example: Json | undefined;
  /** How several values are written in a query string. */
  readonly style?: "form";
}

export function equality(endpoint: CatalogueEntry, filter: ColumnFilter): RequestField {
  const { column, type } = filter;
  const description = `Filter: \`${column} = value\`.`;
  return {
    name: column,
    description,
    schema: VALUES[type].schema,
    example: exampleOfFilter(endpoint, filter, "eq"),
  };
}

export function filterField(
  endpoint: CatalogueEntry,
  parameter: DescribedParameter,
  method: Method,
): RequestField {
  return {
    name: parameter.name,
    description: paragraphs(parameter.description ?? "", filterText(parameter, method)),
    schema: schemaOf(parameter),
    example: exampleOfParameter(endpoint, parameter),
    ...(parameter.type === "string_list" && { style: "form" as const }),
  };
}

/**
 * In a body one field, whose properties are the operators. In a query one parameter per operator, `amount[gte]`: of a deep object
 * generated clients make `gte=490` (openapi-python-client) or nothing.
 */
export function columnFields(
  endpoint: CatalogueEntry,
  filter: ColumnFilter,
  method: Method,
): readonly RequestField[] {
  const { column, type } = filter;
  const operators = operatorsOf(type).map((operator) => ({
    operator,
    schema: operatorSchema(operator, type),
    example: exampleOfFilter(endpoint, filter, operator),
  }));
  if (method === "GET")
    return operators.map(({ operator, schema, example }) => ({
      name: `${column}[${operator}]`,
      description: `Filter: \`${column}\` ${operatorText(operator)}`,
      schema,
      example,
      ...(isList(operator) && { style: "form" as const }),
    }));
  const properties = new Map(
    operators.map(({ operator, schema, example }) => [
      operator,
      { ...schema, ...(example !== undefined && { examples: [example] }) },
    ]),
  );
  const description = `Filter: \`${column}\` compared with a value, by operator.`;
  const schema = { type: "object", properties, additionalProperties: false };
  return [{ name: column, description, schema, example: undefined }];
}

/** `filters`: the columns that the expression may name. */
export function expressionField(endpoint: CatalogueEntry, filters: readonly ColumnFilter[]): RequestField {
  const columns = filters.map(
    ({ column, type }) => `- ${codeList([filterName(column)])}: ${expressionOperators(type).join(", ")}`,
  );
  return {
    name: "filter",
    description: paragraphs(
      "Conditions with `and`, `or`, `not` and parentheses, in the grammar of OData's `$filter`. A text stands in single quotes; `null` is a value.",
      columns.join("\n"),
    ),
    schema: { type: "string", maxLength: FILTER_LIMITS.bytes },
    example: exampleOfExpression(endpoint, filters),
  };
}

/** It selects the rows of one value of the first column, and of the second one value or null. */
function exampleOfExpression(endpoint: CatalogueEntry, filters: readonly ColumnFilter[]): Json | undefined {
  const [first, second] = filters.map((filter) => {
    const value = exampleOfFilter(endpoint, filter, "eq");
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      return undefined;
    return [filterName(filter.column), filterLiteral(filter.type, String(value))] as const;
  });
  if (first === undefined) return undefined;
  const own = `${first[0]} eq ${first[1]}`;
  return second === undefined ? own : `${own} and (${second[0]} eq ${second[1]} or ${second[0]} eq null)`;
}

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

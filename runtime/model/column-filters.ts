import type { ColumnFilter, ColumnFilterType, Endpoint, FilterParameter } from "./endpoint.js";

const EVERY_TYPE = ["eq", "ne", "in", "null"] as const;
const ORDERED = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "null"] as const;

/** An operator of a column filter, as requests write it. */
export type FilterOperator = (typeof ORDERED)[number];

/** The operators that a column of the type has. */
export function operatorsOf(type: ColumnFilterType): readonly FilterOperator[] {
  return type === "boolean" || type === "uuid" ? EVERY_TYPE : ORDERED;
}

/** The parameter of one operator; its name is that in a query string: `amount_usd[gte]`. */
function parameterOf(column: string, operator: FilterOperator): FilterParameter {
  const name = `${column}[${operator}]`;
  switch (operator) {
    case "eq":
      return { name, column, operator: "=", type: "string" };
    case "in":
      return { name, column, operator: "IN", type: "string_list" };
    case "null":
      return { name, column, operator, type: "boolean" };
    default:
      return { name, column, operator, type: "value" };
  }
}

/** The parameters of a filtered column, one per operator. */
export function columnParameters({ column, type }: ColumnFilter): readonly FilterParameter[] {
  return operatorsOf(type).map((operator) => parameterOf(column, operator));
}

const known = new WeakMap<Endpoint, readonly FilterParameter[]>();

/** Everything that an endpoint's rows can be filtered by: its declared parameters and those of its filtered columns. */
export function filterParameters(endpoint: Endpoint): readonly FilterParameter[] {
  const { parameters, filters = [] } = endpoint;
  if (filters.length === 0) return parameters;
  const all = known.get(endpoint) ?? [...parameters, ...filters.flatMap(columnParameters)];
  known.set(endpoint, all);
  return all;
}

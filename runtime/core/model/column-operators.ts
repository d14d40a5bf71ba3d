import { type ValueKind, VALUES } from "./column-types.js";
import {
  type ColumnFilter,
  type Endpoint,
  type FilterParameter,
  PAGE_FIELDS,
  REQUIRE_FRESH,
  SORT_FIELDS,
} from "./endpoint.js";
import { httpError, type HttpError } from "./errors.js";
import { FILTER_OPERATORS, type FilterOperator, operatorOf } from "./operators.js";

/** The operators that a column of such values has. */
export function operatorsOf(kind: ValueKind): readonly FilterOperator[] {
  return [...FILTER_OPERATORS]
    .filter(([, operator]) => VALUES[kind].ordered || operatorOf(operator).ordered !== true)
    .map(([name]) => name);
}

/** The error where a request names a column without an operator, or with one that its type does not have. */
export function refusedOperator({ column, type }: ColumnFilter): HttpError {
  return httpError("filterOperator", { name: column, operators: operatorsOf(type).join(", ") });
}

/** Types of parameters of filtered columns that `meta.api` does not have. */
const TYPES = {
  typed: "value",
  flag: "boolean",
  pattern: "value",
  day: "value",
  text: "value",
  numbers: "value",
} as const;

/** The parameters of a filtered column, one per operator; their names are those in a query string: `amount_usd[gte]`. */
export function columnParameters({ column, type }: ColumnFilter): readonly FilterParameter[] {
  return [...FILTER_OPERATORS]
    .filter(([name]) => operatorsOf(type).includes(name))
    .map(([name, operator]) => {
      const { parameter, value } = operatorOf(operator);
      const fields = { name: `${column}[${name}]`, column, operator, type: parameter?.type ?? TYPES[value] };
      return fields as FilterParameter;
    });
}

/** Everything that an endpoint's rows can be filtered by: its declared parameters and those of its filtered columns. */
export function filterParameters({ parameters, filters = [] }: Endpoint): readonly FilterParameter[] {
  return [...parameters, ...filters.flatMap(columnParameters)];
}

const SHOWING: ReadonlySet<string> = new Set([
  ...[...PAGE_FIELDS, ...SORT_FIELDS],
  ...["cursor", "fields", "group_by", "measures", "metrics", REQUIRE_FRESH],
]);

/** Whether a request's name filters: others choose, group, order and page what is shown. */
export function isFilterName(name: string): boolean {
  return !SHOWING.has(name);
}

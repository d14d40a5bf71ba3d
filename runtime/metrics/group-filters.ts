import { METRIC_TIME } from "../core/model/aggregate/metric.js";
import {
  type Aggregate,
  type AggregateMeasure,
  groupNames,
  hasRange,
} from "../core/model/aggregate/aggregate.js";
import { operatorsOf } from "../core/model/column-operators.js";
import type { FilterParameter } from "../core/model/endpoint.js";
import { changeName, OPTION_FIELDS, previousName } from "../core/model/aggregate/group-options.js";
import { FILTER_OPERATORS, type FilterOperator, operatorOf } from "../core/model/operators.js";
import { type Condition, FILTER, type RawFields } from "../core/model/query.js";
import type { ServedEndpoint, ServedFilter } from "../core/model/served-endpoint.js";

/** What the parameter `filter` may name: columns of rows, or groups of metrics. */
export function filterScope(endpoint: ServedEndpoint, aggregate: Aggregate | undefined) {
  const filters = aggregate?.of === "metrics" ? aggregate.filters : (endpoint.spec.filters ?? []);
  return { endpoint, filters };
}

export const isFilter = ({ spec }: ServedEndpoint, name: string): boolean =>
  spec.filter === true && name === FILTER;

/** The filters that a request names: the endpoint's own, or on the groups of metrics. */
export function groupParameters(
  endpoint: ServedEndpoint,
  aggregate: Aggregate,
  fields: RawFields,
): readonly ServedFilter[] {
  if (aggregate.of === "measures") return endpoint.filters;
  return [...fields.keys()].flatMap((name) => groupFilter(aggregate, name) ?? []);
}

/**
 * The options of requests for groups. In a folder of an earlier version a name of one may be a parameter or a filter, and a column
 * that one adds a group or a measure: it keeps its meaning, without the option.
 */
export function openOptions({ filters }: ServedEndpoint, aggregate: Aggregate): readonly string[] {
  const { measures, saved } = aggregate;
  if (saved !== undefined) return [];
  const asked = new Set([
    ...filters.map(({ name }) => name),
    ...aggregate.filters.map(({ column }) => column),
  ]);
  const answered = new Set(measures.flatMap(({ name, groups }) => [name, ...groupNames(groups)]));
  const added: Readonly<Record<(typeof OPTION_FIELDS)[number], readonly string[]>> = {
    top: [],
    other: ["other"],
    totals: ["level"],
    compare: measures.flatMap(({ name }) => [previousName(name), changeName(name)]),
  };
  const open = OPTION_FIELDS.filter(
    (name) => !asked.has(name) && !added[name].some((column) => answered.has(column)),
  );
  return open.includes("top") ? open : open.filter((name) => name !== "other");
}

/** Parameters that bound `metric_time`. */
export const RANGE_FIELDS = ["start_date", "end_date"] as const;

/** The filter that a name of a request means: a group's, by equality or by an operator. */
function groupFilter(aggregate: Aggregate, name: string): FilterParameter | null {
  const range = rangeFilter(aggregate, name);
  if (range !== null) return range;
  const [, column = name, suffix] = /^(.+)\[(\w+)\]$/.exec(name) ?? [];
  const filter = aggregate.filters.find((each) => each.column === column);
  if (filter === undefined) return null;
  if (suffix === undefined) return { name, column, operator: "=", type: "string" };
  const known = operatorsOf(filter.type).find((each) => each === suffix);
  return known === undefined ? null : filterOf(name, column, known);
}

export function filterOf(name: string, column: string, suffix: FilterOperator): FilterParameter {
  const operator = FILTER_OPERATORS.get(suffix) ?? "=";
  const { value, parameter } = operatorOf(operator);
  return {
    name,
    column,
    operator,
    type: parameter?.type ?? (value === "flag" ? "boolean" : "value"),
  } as FilterParameter;
}

function rangeFilter(aggregate: Aggregate, name: string): FilterParameter | null {
  if (!(RANGE_FIELDS as readonly string[]).includes(name) || !hasRange(aggregate)) return null;
  return { name, column: METRIC_TIME, operator: name === "start_date" ? ">=" : "<=", type: "date" };
}

/** The conditions of the measures themselves, after those of the request. */
export function measureConditions(measures: readonly AggregateMeasure[]): readonly Condition[] {
  return measures.flatMap(({ name: measure, condition }): Condition[] => {
    if (condition === undefined) return [];
    const { column, operator, value } = condition;
    return [{ ...filterOf(`\0${measure}`, column, operator), value, measure }];
  });
}

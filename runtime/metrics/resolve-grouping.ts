import {
  type Aggregate,
  type AggregateGroup,
  type AggregateMeasure,
  type AskedGroup,
  compareGrains,
  groupKey,
  groupNames,
  GROUP_PAGES,
  hasRange,
  type AskedGrouping,
  type Leaf,
  leavesOf,
  METRIC_TIME,
  timedLeaves,
} from "../core/model/aggregate.js";
import { operatorsOf } from "../core/model/column-operators.js";
import {
  type FilterParameter,
  PAGE_FIELDS,
  REQUIRE_FRESH,
  SORT_FIELDS,
  type SortKey,
} from "../core/model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../core/model/errors.js";
import { FILTER_OPERATORS, type FilterOperator, operatorOf } from "../core/model/operators.js";
import { columnsOf, type Condition, FILTER, type RawFields, type Selection } from "../core/model/query.js";
import type { ServedEndpoint, ServedFilter } from "../core/model/served-endpoint.js";
import { readList, readPage, readSingle } from "../core/request/request-fields.js";
import { missingFilter, readConditions, unknownError } from "../core/request/resolve-query.js";

/** What a request for groups selects: its filters restrict the rows before they are grouped. */
export function readGroups(
  endpoint: ServedEndpoint,
  aggregate: Aggregate,
  fields: RawFields,
  source: "query" | "body",
): Result<Selection> {
  const parameters = groupParameters(endpoint, aggregate, fields);
  const unknown = [...fields.keys()].filter(
    (name) =>
      !isGroupField(aggregate, name) &&
      !isFilter(endpoint, name) &&
      !(endpoint.spec.requireFresh === true && name === REQUIRE_FRESH) &&
      !parameters.some((parameter) => parameter.name === name),
  );
  if (unknown.length > 0) return unknownError(endpoint, aggregate, unknown, source);
  const conditions = readConditions(parameters, fields, filterScope(endpoint, aggregate));
  if (isHttpError(conditions)) return conditions;
  const missing = missingFilter(endpoint.spec, conditions);
  if (missing) return missing;
  const grouping = readGrouping(aggregate, fields, conditions);
  if (isHttpError(grouping)) return grouping;
  // One row has no next page.
  const cursor = fields.get("cursor");
  const isContinued = cursor !== undefined && readSingle("cursor", cursor) !== null;
  if (isContinued && grouping.groups.length === 0)
    return unknownError(endpoint, aggregate, ["cursor"], source);
  const page = readPage(endpoint.spec.pagination ?? GROUP_PAGES, fields);
  if (isHttpError(page)) return page;
  const sort = readGroupSort(grouping, fields);
  if (isHttpError(sort)) return sort;
  const all = [...conditions, ...measureConditions(grouping.measures)];
  return { columns: endpoint.grouped, conditions: all, sort, page, grouping };
}

function isGroupField(aggregate: Aggregate, name: string): boolean {
  const sorts = aggregate.saved === undefined ? SORT_FIELDS : [];
  return [...groupingFields(aggregate), ...sorts, ...PAGE_FIELDS, "cursor"].includes(name);
}

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

/** Parameters that choose the groups; a saved query has chosen them. */
function groupingFields({ of, saved }: Aggregate): readonly string[] {
  return saved === undefined ? ["group_by", of] : [];
}

/** Parameters that bound `metric_time`. */
const RANGE_FIELDS = ["start_date", "end_date"] as const;

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

function filterOf(name: string, column: string, suffix: FilterOperator): FilterParameter {
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

/** The groups and measures of a request; each group is one of all the measures asked. */
export function readGrouping(
  aggregate: Aggregate,
  fields: RawFields,
  conditions: readonly Condition[],
): Result<AskedGrouping> {
  const { saved } = aggregate;
  const measures = readMeasures(aggregate, fields);
  if (isHttpError(measures)) return measures;
  const groups = saved === undefined ? readAskedGroups(fields, measures) : saved.groups;
  if (isHttpError(groups)) return groups;
  const problem =
    groupFilterProblem(aggregate, measures, conditions) ?? timeProblem(groups, measures, conditions);
  return problem ?? { aggregate, groups, measures };
}

function readMeasures(
  { of, measures, saved }: Aggregate,
  fields: RawFields,
): Result<readonly AggregateMeasure[]> {
  const raw = saved === undefined ? fields.get(of) : undefined;
  const names = raw === undefined ? null : readList(of, raw);
  if (isHttpError(names)) return names;
  if (names === null) return measures;
  const found = names.map((name) => measures.find((each) => each.name === name));
  if (found.includes(undefined))
    return httpError("measureUnknown", { field: of, names: measures.map(({ name }) => name).join(", ") });
  return [...new Set(found)].filter((each) => each !== undefined);
}

function readAskedGroups(
  fields: RawFields,
  measures: readonly AggregateMeasure[],
): Result<readonly AskedGroup[]> {
  const raw = fields.get("group_by");
  const names = raw === undefined ? null : readList("group_by", raw);
  if (names === null) return [];
  if (isHttpError(names)) return names;
  const shared = sharedGroups(measures);
  const groups: AskedGroup[] = [];
  for (const name of names) {
    const group = askedGroup(name, shared);
    if (group === null) return httpError("groupUnknown", { names: groupNames(shared).join(", ") });
    if (groups.some((each) => each.name === group.name && each.grain === group.grain))
      return httpError("groupTwice", { name });
    groups.push(group);
  }
  return groups;
}

/** The groups that all measures have, in the grains that they share. */
function sharedGroups(measures: readonly AggregateMeasure[]): readonly AggregateGroup[] {
  const [first, ...others] = measures;
  return (first?.groups ?? []).flatMap((group): AggregateGroup[] => {
    const same = others.map(({ groups }) => groups.find(({ name }) => name === group.name));
    if (same.includes(undefined)) return [];
    const all = [group, ...same.filter((each) => each !== undefined)];
    if (group.grains === undefined) return [group];
    const grains = group.grains.filter((grain) => all.every((each) => each.grains?.includes(grain)));
    const defaults = all.flatMap((each) => each.grain ?? []);
    const grain = defaults.toSorted(compareGrains).at(-1);
    return grains.length === 0
      ? []
      : [{ name: group.name, grains, ...(grain !== undefined && grains.includes(grain) && { grain }) }];
  });
}

function askedGroup(text: string, groups: readonly AggregateGroup[]): AskedGroup | null {
  for (const { name, grains, grain } of groups) {
    if (text === name && grains === undefined) return { key: text, name };
    if (text === name && grain !== undefined) return { key: text, name, grain };
    const found = grains?.find((each) => groupKey(name, each) === text);
    if (found !== undefined) return { key: text, name, grain: found };
  }
  return null;
}

/** A filter of a metric is on a group that all metrics asked have. */
function groupFilterProblem(
  { of, filters }: Aggregate,
  measures: readonly AggregateMeasure[],
  conditions: readonly Condition[],
): HttpError | null {
  if (of !== "metrics") return null;
  const shared = sharedGroups(measures);
  const isShared = (column: string): boolean => shared.some(({ name }) => name === column);
  const filtered = conditions
    .filter(({ name }) => !(RANGE_FIELDS as readonly string[]).includes(name))
    .flatMap(columnsOf)
    .filter((column) => filters.some((filter) => filter.column === column));
  const wrong = filtered.find((column) => !isShared(column));
  return wrong === undefined ? null : httpError("groupUnknown", { names: groupNames(shared).join(", ") });
}

/** Metrics that need their time among the groups, and do not have it. */
function timeProblem(
  groups: readonly AskedGroup[],
  measures: readonly AggregateMeasure[],
  conditions: readonly Condition[],
): HttpError | null {
  const lacksTime = ({ time }: Leaf): boolean =>
    !groups.some(({ name }) => name === METRIC_TIME || name === time);
  const namesOf = (test: (measure: AggregateMeasure) => boolean): string =>
    measures
      .filter(test)
      .map(({ name }) => name)
      .join(", ");
  const timed = namesOf(({ metric }) => timedLeaves(metric).some(lacksTime));
  if (timed !== "") return httpError("timeGroupRequired", { names: timed });
  if (!conditions.some(({ name }) => name === "start_date")) return null;
  const allTime = namesOf(({ metric }) =>
    leavesOf(metric).some((leaf) => leaf.cumulative !== undefined && lacksTime(leaf)),
  );
  return allTime === "" ? null : httpError("startWithoutTime", { names: allTime });
}

/** The conditions of the measures themselves, after those of the request. */
export function measureConditions(measures: readonly AggregateMeasure[]): readonly Condition[] {
  return measures.flatMap(({ name: measure, condition }): Condition[] => {
    if (condition === undefined) return [];
    const { column, operator, value } = condition;
    return [{ ...filterOf(`\0${measure}`, column, operator), value, measure }];
  });
}

/** The caller's sort, or that of the saved query, then all groups: they identify a row. */
function readGroupSort(
  { aggregate: { saved }, groups, measures }: AskedGrouping,
  fields: RawFields,
): Result<readonly SortKey[]> {
  const keys = groups.map(({ key }): SortKey => [key, "ASC"]);
  const names = [...groups.map(({ key }) => key), ...measures.map(({ name }) => name)];
  const [by, direction] = ["sort_by", "sort_direction"].map((name) => {
    const raw = fields.get(name);
    return raw === undefined ? null : readSingle(name, raw);
  });
  if (isHttpError(by)) return by;
  if (isHttpError(direction)) return direction;
  if (by === null || by === undefined)
    return direction === null ? distinct([...(saved?.sort ?? []), ...keys]) : httpError("sortDirectionAlone");
  if (!names.includes(by)) return httpError("sortField", { names: names.join(", ") });
  const upper = (direction ?? "ASC").toUpperCase();
  if (upper !== "ASC" && upper !== "DESC") return httpError("sortDirection");
  return distinct([[by, upper], ...keys]);
}

function distinct(keys: readonly SortKey[]): readonly SortKey[] {
  return keys.filter(([column], i) => keys.findIndex(([other]) => other === column) === i);
}

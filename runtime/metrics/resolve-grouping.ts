import { compareGrains } from "../core/model/aggregate/grains.js";
import {
  type Leaf,
  leavesOf,
  METRIC_TIME,
  type MetricTree,
  timedLeaves,
  withoutMetricTime,
} from "../core/model/aggregate/metric.js";
import { GROUP_PAGES } from "../core/model/aggregate/group-options.js";
import {
  type Aggregate,
  type AggregateGroup,
  type AggregateMeasure,
  type AskedGroup,
  groupKey,
  groupNames,
  type AskedGrouping,
  type ServedAggregate,
} from "../core/model/aggregate/aggregate.js";
import { type FilterParameter, PAGE_FIELDS, REQUIRE_FRESH, SORT_FIELDS } from "../core/model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../core/model/errors.js";
import { columnsOf, type Condition, type RawFields, type Selection } from "../core/model/query.js";
import type { ServedEndpoint } from "../core/model/served-endpoint.js";
import { readList, readPage, readSingle } from "../core/request/request-fields.js";
import { missingFilter, readConditions, unknownError } from "../core/request/resolve-query.js";
import {
  filterScope,
  groupParameters,
  isFilter,
  measureConditions,
  openOptions,
  RANGE_FIELDS,
} from "./group-filters.js";
import { readGroupSort } from "./group-sort.js";
import { type ReadOptions, readGroupOptions } from "./resolve-group-options.js";
import { onMeasureResults, resultFilters, resultParameters, resultProblem } from "./result-conditions.js";
import { onOf } from "./row-filters.js";

/** What a request for groups selects: its filters restrict the rows before they are grouped. */
export function readGroups(
  endpoint: ServedEndpoint,
  aggregate: ServedAggregate,
  fields: RawFields,
  source: "query" | "body",
): Result<Selection> {
  const own = groupParameters(endpoint, aggregate, fields);
  const parameters = [...own, ...resultParameters(endpoint, aggregate, fields)];
  const options = optionFields(endpoint, aggregate);
  const known = [
    ...[...groupingFields(aggregate), ...PAGE_FIELDS, "cursor", ...options],
    ...parameters.map(({ name }) => name),
    ...(endpoint.spec.requireFresh === true ? [REQUIRE_FRESH] : []),
  ];
  const unknown = [...fields.keys()].filter((name) => !known.includes(name) && !isFilter(endpoint, name));
  if (unknown.length > 0) return unknownError(endpoint, aggregate, unknown, source);
  const asked = readAsked(endpoint, aggregate, { parameters, options }, fields);
  if (isHttpError(asked)) return asked;
  const { grouping, conditions } = asked;
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

/** The conditions, the groups and measures, and what else is asked of them. */
function readAsked(
  endpoint: ServedEndpoint,
  aggregate: ServedAggregate,
  named: { readonly parameters: readonly FilterParameter[]; readonly options: readonly string[] },
  fields: RawFields,
): Result<ReadOptions> {
  const { filters } = filterScope(endpoint, aggregate);
  const results = resultFilters(endpoint, aggregate);
  const read = readConditions(named.parameters, fields, { endpoint, filters: [...filters, ...results] });
  const conditions = isHttpError(read) ? read : onMeasureResults(results, read);
  if (isHttpError(conditions)) return conditions;
  const ofRows = conditions.filter((condition) => onOf(condition) !== "results");
  const missing = missingFilter(endpoint.spec, ofRows);
  if (missing) return missing;
  const grouping = readGrouping(aggregate, fields, ofRows);
  if (isHttpError(grouping)) return grouping;
  const namesOfPeriods = (groups: readonly AskedGroup[]): string =>
    valuesOfPeriods(groups, grouping.measures, ofRows);
  const options = new Map([...fields].filter(([name]) => named.options.includes(name)));
  return (
    resultProblem(grouping, conditions) ?? readGroupOptions(grouping, conditions, options, namesOfPeriods)
  );
}

/** The sort, and what `readGroupOptions` reads. */
const optionFields = (endpoint: ServedEndpoint, aggregate: Aggregate): readonly string[] =>
  aggregate.saved === undefined ? [...SORT_FIELDS, ...openOptions(endpoint, aggregate)] : [];

/** Parameters that choose the groups; a saved query has chosen them. */
function groupingFields({ of, saved }: Aggregate): readonly string[] {
  return saved === undefined ? ["group_by", of] : [];
}

/** The groups and measures of a request; each group is one of all the measures asked. */
export function readGrouping(
  aggregate: ServedAggregate,
  fields: RawFields,
  conditions: readonly Condition[],
): Result<AskedGrouping> {
  const { saved } = aggregate;
  const measures = readMeasures(aggregate, fields);
  if (isHttpError(measures)) return measures;
  const groups = saved === undefined ? readAskedGroups(fields, measures) : saved.groups;
  if (isHttpError(groups)) return groups;
  const problem =
    groupFilterProblem(aggregate, measures, conditions) ??
    timeProblem(groups, measures, conditions) ??
    mixedProblem(measures, conditions);
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
function timeProblem(...[groups, measures, conditions]: TimedRequest): HttpError | null {
  const timed = namesWithoutTime(groups, measures, timedLeaves) || namesWithoutPeriod(groups, measures);
  if (timed !== "") return httpError("timeGroupRequired", { names: timed });
  const allTime = namesOfAllTime(groups, measures, conditions);
  return allTime === "" ? null : httpError("startWithoutTime", { names: allTime });
}

/** Where a metric accumulates or shifts its time, a condition restricts its periods or its rows: one on both has no meaning. */
function mixedProblem(
  measures: readonly AggregateMeasure[],
  conditions: readonly Condition[],
): HttpError | null {
  const mixes = (leaf: Leaf): boolean => {
    const isTime = (name: string): boolean => name === METRIC_TIME || name === leaf.time;
    return conditions.some((condition) => {
      const columns = columnsOf(condition);
      return columns.some(isTime) && !columns.every(isTime);
    });
  };
  const names = measures
    .filter(({ metric }) => {
      const accumulated = leavesOf(metric).filter(({ cumulative }) => cumulative !== undefined);
      return [...timedLeaves(metric), ...accumulated].some(mixes);
    })
    .map(({ name }) => name);
  return names.length === 0 ? null : httpError("filterTimeGroup", { names: names.join(", ") });
}

type TimedRequest = readonly [
  groups: readonly AskedGroup[],
  measures: readonly AggregateMeasure[],
  conditions: readonly Condition[],
];

/** The measures that have a value per period alone: none for these groups. */
function valuesOfPeriods(...[groups, measures, conditions]: TimedRequest): string {
  return namesWithoutTime(groups, measures, timedLeaves) || namesOfAllTime(groups, measures, conditions);
}

/** Metrics that hold all time, asked from a day on. */
function namesOfAllTime(...[groups, measures, conditions]: TimedRequest): string {
  if (!conditions.some(({ name }) => name === "start_date")) return "";
  return namesWithoutTime(groups, measures, (metric) =>
    leavesOf(metric).filter(({ cumulative }) => cumulative !== undefined),
  );
}

/** Names of the measures of which such a leaf has its time not among the groups. */
function namesWithoutTime(
  groups: readonly AskedGroup[],
  measures: readonly AggregateMeasure[],
  leaves: (metric: AggregateMeasure["metric"]) => readonly Leaf[],
): string {
  const lacksTime = ({ time = METRIC_TIME }: Leaf): boolean =>
    !groups.some(({ name }) => `${withoutMetricTime(name, time)}__`.startsWith(`${time}__`));
  const found = measures.filter(({ metric }) => leaves(metric).some(lacksTime));
  return found.map(({ name }) => name).join(", ");
}

/** Names of the measures with an offset of a formula: its result is moved by whole periods, not by what is made of them. */
function namesWithoutPeriod(groups: readonly AskedGroup[], measures: readonly AggregateMeasure[]): string {
  const lacksPeriod = ({ time = METRIC_TIME }: Leaf): boolean => {
    const own = groups.map(({ name }) => withoutMetricTime(name, time));
    return !own.includes(time) || own.some((name) => name.startsWith(`${time}__`));
  };
  const found = measures.filter(({ metric }) => leavesOfMovedFormulas(metric).some(lacksPeriod));
  return found.map(({ name }) => name).join(", ");
}

function leavesOfMovedFormulas(metric: MetricTree): readonly Leaf[] {
  if (metric.kind === "leaf") return [];
  return metric.inputs.flatMap(({ metric: input, offset, offsetToGrain }) =>
    input.kind !== "leaf" && (offset !== undefined || offsetToGrain !== undefined)
      ? leavesOf(input)
      : leavesOfMovedFormulas(input),
  );
}

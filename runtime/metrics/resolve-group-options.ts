import { hasOffset, leavesOf, METRIC_TIME, withoutMetricTime } from "../core/model/aggregate/metric.js";
import type {
  Aggregate,
  AggregateMeasure,
  AskedGroup,
  AskedGrouping,
  ComparedPeriod,
  GroupOptions,
  TopGroups,
} from "../core/model/aggregate/aggregate.js";
import { VALUES } from "../core/model/column-types.js";
import { type HttpError, httpError, isHttpError, type Result } from "../core/model/errors.js";
import { COMPARISONS, MAX_TOP, MAX_TOTALS } from "../core/model/aggregate/group-options.js";
import {
  type ColumnCondition,
  columnsOf,
  type Condition,
  isGroup,
  type RawFields,
} from "../core/model/query.js";
import { readInteger, readSingle } from "../core/request/request-fields.js";
import { earlierPeriod, hasEarlier } from "./compared-period.js";

/** A grouping with its options, and the conditions on its rows, of which some are on one of the two periods that are compared. */
export interface ReadOptions {
  readonly grouping: AskedGrouping;
  readonly conditions: readonly Condition[];
}

/** The options of a request for groups. `isOfPeriods`: whether measures have a value per period alone where these are the groups. */
export function readGroupOptions(
  grouping: AskedGrouping,
  conditions: readonly Condition[],
  fields: RawFields,
  namesOfPeriods: (groups: readonly AskedGroup[]) => string,
): Result<ReadOptions> {
  if (grouping.aggregate.saved !== undefined) return { grouping, conditions };
  const top = readTop(grouping, fields);
  if (isHttpError(top)) return top;
  const totals = readTotals(grouping, fields, namesOfPeriods);
  if (isHttpError(totals)) return totals;
  const compared = readCompare(grouping, conditions, fields);
  if (isHttpError(compared)) return compared;
  if (top === null && !totals && compared === null) return { grouping, conditions };
  const options: GroupOptions = {
    ...(top !== null && { top }),
    ...(totals && { totals }),
    ...(compared !== null && { compare: compared.compare }),
  };
  return { grouping: { ...grouping, options }, conditions: compared?.conditions ?? conditions };
}

function readTop({ groups, measures }: AskedGrouping, fields: RawFields): Result<TopGroups> | null {
  const count = readInteger("top", fields.get("top"), { min: 1, max: MAX_TOP });
  if (isHttpError(count)) return count;
  const others = readFlag("other", fields);
  if (isHttpError(others)) return others;
  if (count === null) return others ? httpError("parameterNeeds", { name: "other", other: "top" }) : null;
  const by = readText("sort_by", fields);
  if (isHttpError(by)) return by;
  if (by === null) return httpError("parameterNeeds", { name: "top", other: "sort_by" });
  const names = [...groups.map(({ key }) => key), ...measures.map(({ name }) => name)];
  if (!names.includes(by)) return httpError("sortField", { names: names.join(", ") });
  const direction = readText("sort_direction", fields);
  if (isHttpError(direction)) return direction;
  const problem = others ? otherProblem(groups, measures) : null;
  return problem ?? { count, by, direction: direction?.toUpperCase() === "ASC" ? "ASC" : "DESC", others };
}

/** A row for other groups is made from their rows: not where a value needs those of other periods, or single ones. */
function otherProblem(
  groups: readonly AskedGroup[],
  measures: readonly AggregateMeasure[],
): HttpError | null {
  if (groups.length === 0) return httpError("parameterNeeds", { name: "other", other: "group_by" });
  const wrong = measures.filter(({ metric }) => !isOfRows(metric));
  return wrong.length === 0 ? null : perPeriod("other", namesOf(wrong));
}

const perPeriod = (option: string, names: string): HttpError =>
  httpError("notCombined", { option, names, reason: "which have one per period" });

/** Whether the rows of several groups make its value, as those of one do. */
function isOfRows(metric: AggregateMeasure["metric"]): boolean {
  if (metric.kind !== "leaf")
    return metric.inputs.every((input) => !hasOffset(input) && isOfRows(input.metric));
  const { cumulative, converted, nonAdditive, onSpine } = metric;
  const isPlain = cumulative === undefined && nonAdditive === undefined && onSpine === undefined;
  return isPlain && converted === undefined;
}

function readTotals(
  { groups }: AskedGrouping,
  fields: RawFields,
  namesOfPeriods: (groups: readonly AskedGroup[]) => string,
): Result<boolean> {
  const isAsked = readFlag("totals", fields);
  if (isAsked !== true) return isAsked;
  if (groups.length === 0) return httpError("parameterNeeds", { name: "totals", other: "group_by" });
  if (groups.length > MAX_TOTALS) return httpError("tooManyValues", { name: "group_by", max: MAX_TOTALS });
  const names = groups.map((_, i) => namesOfPeriods(groups.slice(0, i))).find((found) => found !== "");
  return names === undefined ? true : perPeriod("totals", names);
}

interface Compared {
  readonly compare: ComparedPeriod;
  readonly conditions: readonly Condition[];
}

function readCompare(
  grouping: AskedGrouping,
  conditions: readonly Condition[],
  fields: RawFields,
): Result<Compared> | null {
  const text = readText("compare", fields);
  if (text === null || isHttpError(text)) return text;
  const by = COMPARISONS.find((each) => each === text);
  if (by === undefined)
    return httpError("valueNotAccepted", { name: "compare", values: COMPARISONS.join(", ") });
  const range = rangeOf(grouping.aggregate, conditions);
  if (range === null)
    return httpError("parameterNeeds", { name: "compare", other: bothDates(grouping.aggregate) });
  const [start, end] = range;
  const twice = boundTwice(grouping, conditions, range);
  if (twice !== undefined)
    return httpError("notCombined", {
      option: "compare",
      names: twice,
      reason: `whose other conditions would hold in the earlier period too: only ${bothDates(grouping.aggregate)} may bound it`,
    });
  const earlier = earlierPeriod({ start: String(start.value), end: String(end.value) }, by);
  if (earlier === null)
    return httpError("valueNotOfType", {
      name: end.name,
      type: `a date from '${start.name}' on, with a period before`,
    });
  const times = comparedTimes(grouping, start.column);
  const wrong = grouping.groups.find((group) =>
    times.some(
      ({ name, isShared }) => name === group.name && (!isShared || !hasEarlier(group, earlier.shift)),
    ),
  );
  if (wrong !== undefined) return httpError("notCompared", { name: wrong.key });
  return {
    compare: { shift: earlier.shift, times: times.map(({ name }) => name) },
    conditions: [
      ...conditions.map((each) =>
        each === start || each === end ? { ...each, on: "period" as const } : each,
      ),
      { ...start, value: earlier.start, on: "earlier period" },
      { ...end, value: earlier.end, on: "earlier period" },
    ],
  };
}

/** The two bounds of days of one column. */
function rangeOf(
  { of }: Aggregate,
  conditions: readonly Condition[],
): readonly [start: ColumnCondition, end: ColumnCondition] | null {
  const bounds = conditions.filter(
    (each): each is ColumnCondition => !isGroup(each) && (of === "measures" || each.column === METRIC_TIME),
  );
  const starts = bounds.filter(({ operator }) => operator === ">=");
  const ranges = starts.flatMap((start) =>
    bounds
      .filter(({ operator, column }) => operator === "<=" && column === start.column)
      .map((end) => [start, end] as const),
  );
  return ranges.length === 1 ? (ranges[0] ?? null) : null;
}

/** The compared time, or what one period of it alone has, if conditions name it beside the range: they move with no period. */
function boundTwice(
  { aggregate, measures }: AskedGrouping,
  conditions: readonly Condition[],
  range: readonly ColumnCondition[],
): string | undefined {
  const leaves = measures.flatMap(({ metric }) => leavesOf(metric));
  const isTime = (name: string): boolean =>
    aggregate.of === "measures"
      ? range.some(({ column }) => column === name)
      : leaves.some(
          ({ time }) => withoutMetricTime(name, time) === time || isNamedByPeriod(aggregate, name, time),
        );
  return conditions
    .filter((each) => !range.some((bound) => bound === each))
    .flatMap(columnsOf)
    .find(isTime);
}

const bothDates = ({ of }: Aggregate): string =>
  of === "metrics" ? "start_date and end_date" : "the first and the last day of one column";

/** The groups that are the time of measures. `isShared`: of all. */
function comparedTimes(
  { aggregate, groups, measures }: AskedGrouping,
  column: string,
): readonly { readonly name: string; readonly isShared: boolean }[] {
  const { of } = aggregate;
  const leaves = measures.flatMap(({ metric }) => leavesOf(metric));
  return groups.flatMap(({ name }) => {
    if (name === METRIC_TIME || (of === "measures" && name === column)) return [{ name, isShared: true }];
    if (of === "measures") return [];
    const own = leaves.filter(({ time }) => time === name || isNamedByPeriod(aggregate, name, time));
    return own.length === 0 ? [] : [{ name, isShared: leaves.every(({ time }) => time === name) }];
  });
}

/** Whether a group shows what only one period of a time has: its year, or its name in a time spine. */
function isNamedByPeriod({ dimensions }: Aggregate, group: string, time: string | undefined): boolean {
  const own = withoutMetricTime(group, time);
  const derived = dimensions.find(({ name }) => name === own)?.derived;
  return derived?.time === time && derived !== undefined && (!("part" in derived) || derived.part === "year");
}

function readFlag(name: string, fields: RawFields): Result<boolean> {
  const text = readText(name, fields);
  if (isHttpError(text)) return text;
  if (text === null || text === "false") return false;
  return text === "true" ? true : httpError("valueNotOfType", { name, type: VALUES.boolean.text });
}

function readText(name: string, fields: RawFields): Result<string> | null {
  const raw = fields.get(name);
  return raw === undefined ? null : readSingle(name, raw);
}

const namesOf = (measures: readonly AggregateMeasure[]): string =>
  measures.map(({ name }) => name).join(", ");

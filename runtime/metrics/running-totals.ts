import type { Leaf } from "../core/model/aggregate.js";
import { EMPTY, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, otherGroups, timeGrainOf, valueColumn } from "./groups-build.js";
import { partitionBy, totalOf } from "./leaves.js";
import {
  aggregate,
  type ColumnExpression,
  compute,
  filter,
  groupName,
  joinRows,
  kept,
  PERIOD,
  type PlanStep,
  type ReadColumns,
  TIME,
  VALUE,
  windows,
} from "./plan.js";
import { FIRST, met, NEXT_ROW, placed, POSITION, positions, type Totals, UNTIL } from "./period-positions.js";
import type { TimeFilters } from "./row-filters.js";
import { offsetPeriod } from "./spine-joins.js";
import { timedRows } from "./time-spine.js";

/**
 * The accumulated value of each period of the spine and group that has a row to accumulate. Periods have positions, and each row
 * knows those that it counts for. A join by a range instead compares every period with every row: with ten years of days, 1,000 groups
 * and a million rows most requests took longer than 20 s on both engines.
 */
export function runningTotals(build: GroupsBuild, leaf: Leaf, filters: TimeFilters): PlanStep {
  const totals: Totals = { build, leaf, filters };
  const rows = timedRows(build, leaf, build.grouping.groups, filters.others);
  if (leaf.aggregation === "count_distinct") return ofDistinct(totals, rows);
  const { window } = leaf.cumulative ?? {};
  const frame = frameOf(totals);
  const added = accumulated(totals, rows);
  if (added === null || (window !== undefined && frame === null)) return ofRows(totals, rows);
  return frame === null ? ofSteps(totals, added) : ofFrames(totals, added, frame);
}

/** What is accumulated: totals by time and group, or rows; and how over a frame. */
interface Accumulated {
  readonly rows: PlanStep;
  readonly running: (value: Part, over: Part) => Part;
}

/** Null: the aggregation needs the rows themselves. */
function accumulated(totals: Totals, rows: PlanStep): Accumulated | null {
  const { build, leaf } = totals;
  const { dialect } = build;
  const column = valueColumn(build, leaf);
  if (leaf.aggregation === "average")
    return { rows, running: (value, over) => sql`${dialect.aggregate(leaf, value, column, null)}${over}` };
  if (dialect.ofTotals(leaf, EMPTY, column, EMPTY) === null) return null;
  const groups = [TIME, ...ownGroups(totals)];
  return {
    rows: aggregate(rows, groups, [VALUE, totalOf(build, leaf)]),
    running: (value, over) => dialect.ofTotals(leaf, value, column, over) ?? EMPTY,
  };
}

/** Order and frame of a window by a time; null of a leaf without one, and where the engine has none. */
function frameOf({ build, leaf }: Totals): ((time: Part) => Part) | null {
  const { window } = leaf.cumulative ?? {};
  const grain = timeGrainOf(build, leaf);
  if (window === undefined || build.dialect.windowFrame(EMPTY, window, grain) === null) return null;
  return (time) => build.dialect.windowFrame(time, window, grain) ?? EMPTY;
}

/** An aggregation that needs the rows themselves. */
function ofRows(totals: Totals, rows: PlanStep): PlanStep {
  const { build, leaf } = totals;
  const keys = [PERIOD, ...build.grouping.groups.map(groupName)];
  return aggregate(met(totals, placed(totals, rows, null)), keys, [VALUE, totalOf(build, leaf)]);
}

/** Groups that rows have, and periods have not. */
const ownGroups = ({ build, leaf }: Totals): readonly string[] => otherGroups(build, leaf).map(groupName);

const IS_END = "is end";
const AT = "changed position";
const CHANGE = "change";
const KNOWN_CHANGE = "change of values";
const COUNT = "count of rows";

/** Distinct values: each adds one where it begins to count, and takes it away where it ends; where it comes again before, the later row goes on. */
function ofDistinct(totals: Totals, rows: PlanStep): PlanStep {
  const { asCount, infix, functionName } = totals.build.dialect;
  const own = ownGroups(totals);
  const ends: PlanStep = {
    kind: "repeat",
    rows: placed(totals, aggregate(rows, [TIME, ...own, VALUE]), [...own, VALUE]),
    number: IS_END,
    from: () => sql`0`,
    below: () => sql`2`,
  };
  const atStart = ({ value }: ReadColumns, first: Part, last: Part): Part =>
    sql`CASE WHEN ${infix(value(IS_END), "=", sql`0`)} THEN ${first} ELSE ${last} END`;
  const change: ColumnExpression = (read) => atStart(read, sql`1`, sql`-1`);
  const changes = compute(
    ends,
    ...kept(own),
    [AT, (read) => atStart(read, read.value(FIRST), read.value(UNTIL))],
    [CHANGE, change],
    [KNOWN_CHANGE, (read) => sql`CASE WHEN ${read.value(VALUE)} IS NULL THEN 0 ELSE ${change(read)} END`],
  );
  const sum = (name: string, { value }: ReadColumns): Part => sql`${functionName("sum")}(${value(name)})`;
  const summed = aggregate(
    changes,
    [...own, AT],
    [CHANGE, (read) => sum(CHANGE, read)],
    [KNOWN_CHANGE, (read) => sum(KNOWN_CHANGE, read)],
  );
  const over = ({ value }: ReadColumns, frame: Part): Part =>
    sql` OVER (${partitionBy(own.map(value))}ORDER BY ${value(AT)}${frame})`;
  const steps = windows(
    summed,
    [UNTIL, (read) => sql`${functionName("max")}(${read.value(AT)})${over(read, sql` ${NEXT_ROW}`)}`],
    [COUNT, (read) => sql`${sum(CHANGE, read)}${over(read, EMPTY)}`],
    [VALUE, (read) => asCount(sql`${sum(KNOWN_CHANGE, read)}${over(read, EMPTY)}`)],
  );
  return met(
    totals,
    filter(steps, ({ value }) => infix(value(COUNT), ">", sql`0`)),
    AT,
  );
}

/** Nothing leaves the totals within a partition: the value of a row is that of the periods until the next. */
function ofSteps(totals: Totals, { rows, running }: Accumulated): PlanStep {
  const { build, leaf } = totals;
  const { toGrain } = leaf.cumulative ?? {};
  const grain = timeGrainOf(build, leaf);
  const own = ownGroups(totals);
  const total: ColumnExpression = ({ value }) => {
    const time = value(TIME);
    const start = toGrain === undefined ? [] : [offsetPeriod(build, time, grain, { toGrain })];
    const partition = partitionBy([...own.map(value), ...start]);
    return running(value(VALUE), sql` OVER (${partition}ORDER BY ${time})`);
  };
  return met(totals, windows(placed(totals, rows, own), [VALUE, total]));
}

const NUMBER = "number";
const MOMENT = "moment";
const COUNTED = "counted value";

/** A frame over the rows, and over the periods that have one of them to count. */
function ofFrames(totals: Totals, { rows, running }: Accumulated, frame: (time: Part) => Part): PlanStep {
  const { infix } = totals.build.dialect;
  const own = ownGroups(totals);
  const each: PlanStep = {
    kind: "repeat",
    rows: placed(totals, rows, own),
    number: NUMBER,
    // The position before its first is the row itself.
    from: ({ value }) => infix(value(FIRST), "-", sql`1`),
    below: ({ value }) => sql`greatest(${value(FIRST)}, ${value(UNTIL)})`,
  };
  const ofPeriod = ({ value }: ReadColumns, then: Part, otherwise: Part): Part =>
    sql`CASE WHEN ${infix(value(NUMBER), ">=", value(FIRST))} THEN ${then} ELSE ${otherwise} END`;
  const moments = compute(
    each,
    ...kept([TIME, ...own]),
    [COUNTED, (read) => ofPeriod(read, sql`NULL`, read.value(VALUE))],
    [AT, (read) => ofPeriod(read, read.value(NUMBER), sql`0`)],
  );
  const joined = joinRows(
    moments,
    positions(totals),
    (row, period) => infix(row.value(AT), "=", period.value(POSITION)),
    "any",
  );
  const groups = totals.build.grouping.groups.map(groupName);
  const isPeriod: ColumnExpression = ({ value }) => infix(value(AT), ">", sql`0`);
  const moment: ColumnExpression = (read) =>
    sql`CASE WHEN ${isPeriod(read)} THEN ${read.value(PERIOD)} ELSE ${read.value(TIME)} END`;
  const framed = windows(compute(joined, ...kept([AT, COUNTED, ...groups]), [MOMENT, moment]), [
    VALUE,
    ({ value }) =>
      running(value(COUNTED), sql` OVER (${partitionBy(own.map(value))}${frame(value(MOMENT))})`),
  ]);
  return compute(filter(framed, isPeriod), [PERIOD, MOMENT], ...kept([...groups, VALUE]));
}

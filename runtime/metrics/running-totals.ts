import type { Leaf } from "../core/model/aggregate.js";
import { EMPTY, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, timeGrainOf, valueColumn } from "./groups-build.js";
import { partitionBy, totalOf } from "./leaves.js";
import { offsetPeriod } from "./offsets.js";
import {
  type ColumnExpression,
  groupName,
  kept,
  type Named,
  PERIOD,
  type PlanStep,
  type ReadColumns,
  TIME,
  VALUE,
} from "./plan.js";
import {
  FIRST,
  met,
  NEXT_ROW,
  ownGroups,
  periodKeys,
  placed,
  POSITION,
  positions,
  type Totals,
  UNTIL,
} from "./period-positions.js";
import type { TimeFilters } from "./row-filters.js";
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
    rows: { kind: "aggregate", rows, groups, totals: [[VALUE, totalOf(build, totals)]] },
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
  return {
    kind: "aggregate",
    rows: met(totals, placed(totals, rows, null)),
    groups: periodKeys(totals),
    totals: [[VALUE, totalOf(totals.build, totals)]],
  };
}

const IS_END = "is end";
const AT = "changed position";
const CHANGE = "change";
const KNOWN_CHANGE = "change of values";
const COUNT = "count of rows";

/** Distinct values: each adds one where it begins to count, and takes it away where it ends; where it comes again before, the later row goes on. */
function ofDistinct(totals: Totals, rows: PlanStep): PlanStep {
  const { asCount, infix, functionName } = totals.build.dialect;
  const own = ownGroups(totals);
  const once: PlanStep = { kind: "aggregate", rows, groups: [TIME, ...own, VALUE], totals: [] };
  const ends: PlanStep = {
    kind: "repeat",
    rows: placed(totals, once, [...own, VALUE]),
    number: IS_END,
    from: () => sql`0`,
    below: () => sql`2`,
  };
  const isFirst = ({ value }: ReadColumns): Part => infix(value(IS_END), "=", sql`0`);
  const change: ColumnExpression = (read) => sql`CASE WHEN ${isFirst(read)} THEN 1 ELSE -1 END`;
  const changes: Named<ColumnExpression> = [
    [AT, (read) => sql`CASE WHEN ${isFirst(read)} THEN ${read.value(FIRST)} ELSE ${read.value(UNTIL)} END`],
    [CHANGE, change],
    [KNOWN_CHANGE, (read) => sql`CASE WHEN ${read.value(VALUE)} IS NULL THEN 0 ELSE ${change(read)} END`],
  ];
  const sum =
    (name: string): ColumnExpression =>
    ({ value }) =>
      sql`${functionName("sum")}(${value(name)})`;
  const summed: PlanStep = {
    kind: "aggregate",
    rows: { kind: "compute", rows: ends, columns: [...kept(own), ...changes] },
    groups: [...own, AT],
    totals: [CHANGE, KNOWN_CHANGE].map((name) => [name, sum(name)]),
  };
  const over = ({ value }: ReadColumns, frame: Part): Part =>
    sql` OVER (${partitionBy(own.map(value))}ORDER BY ${value(AT)}${frame})`;
  const running =
    (name: string): ColumnExpression =>
    (read) =>
      sql`${sum(name)(read)}${over(read, EMPTY)}`;
  const steps: Named<ColumnExpression> = [
    [UNTIL, (read) => sql`${functionName("max")}(${read.value(AT)})${over(read, sql` ${NEXT_ROW}`)}`],
    [COUNT, running(CHANGE)],
    [VALUE, (read) => asCount(running(KNOWN_CHANGE)(read))],
  ];
  const counting: PlanStep = {
    kind: "filter",
    rows: { kind: "window", rows: summed, columns: steps },
    conditions: [({ value }) => infix(value(COUNT), ">", sql`0`)],
    compared: [],
  };
  return met(totals, counting, AT);
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
  return met(totals, { kind: "window", rows: placed(totals, rows, own), columns: [[VALUE, total]] });
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
  const isPeriod = ({ value }: ReadColumns): Part => infix(value(NUMBER), ">=", value(FIRST));
  const moments: Named<ColumnExpression> = [
    [COUNTED, (read) => sql`CASE WHEN ${isPeriod(read)} THEN NULL ELSE ${read.value(VALUE)} END`],
    [AT, (read) => sql`CASE WHEN ${isPeriod(read)} THEN ${read.value(NUMBER)} ELSE 0 END`],
  ];
  const joined: PlanStep = {
    kind: "join",
    rows: { kind: "compute", rows: each, columns: [...kept([TIME, ...own]), ...moments] },
    others: [
      {
        rows: positions(totals),
        unmatched: "any",
        on: (row, period) => infix(row.value(AT), "=", period.value(POSITION)),
      },
    ],
  };
  const groups = totals.build.grouping.groups.map(groupName);
  const moment: ColumnExpression = ({ value }) =>
    sql`CASE WHEN ${infix(value(AT), ">", sql`0`)} THEN ${value(PERIOD)} ELSE ${value(TIME)} END`;
  const framed: PlanStep = {
    kind: "window",
    rows: { kind: "compute", rows: joined, columns: [...kept([AT, COUNTED, ...groups]), [MOMENT, moment]] },
    columns: [
      [
        VALUE,
        ({ value }) =>
          running(value(COUNTED), sql` OVER (${partitionBy(own.map(value))}${frame(value(MOMENT))})`),
      ],
    ],
  };
  const ofPeriods: PlanStep = {
    kind: "filter",
    rows: framed,
    conditions: [({ value }) => infix(value(AT), ">", sql`0`)],
    compared: [],
  };
  return {
    kind: "compute",
    rows: ofPeriods,
    columns: [[PERIOD, MOMENT], ...kept([...groups, VALUE])],
  };
}

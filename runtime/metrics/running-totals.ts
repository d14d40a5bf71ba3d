import { EMPTY, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { otherGroups, timeGrainOf, valueColumn } from "./groups-build.js";
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
import {
  END,
  FIRST,
  LAST,
  met,
  NEXT_ROW,
  placed,
  POSITION,
  positions,
  type Totals,
  UNTIL,
  untilNext,
} from "./period-positions.js";
import { timedRows } from "./time-spine.js";

/**
 * The accumulated value of each period of the spine and group that has a row to accumulate. Periods have positions, and each row
 * knows those that it counts for. A join by a range instead compares every period with every row: with ten years of days, 1,000 groups
 * and a million rows most requests took longer than 20 s on both engines.
 */
export function runningTotals(totals: Totals): PlanStep {
  const { build, leaf, filters } = totals;
  const rows = timedRows(build, leaf, build.grouping.groups, filters.others);
  if (leaf.aggregation === "count_distinct") return ofDistinct(totals, rows);
  const { window } = leaf.cumulative ?? {};
  const frame = frameOf(totals);
  const running = runningOf(totals);
  if (running === null || (window !== undefined && frame === null)) return ofRows(totals, rows);
  return frame === null ? ofSteps(totals, rows, running) : ofFrames(totals, rows, running, frame);
}

/** An aggregation over a frame: of totals, or of the rows themselves. */
interface Running {
  readonly isOfTotals: boolean;
  readonly over: (value: Part, over: Part) => Part;
}

/** Null: the aggregation has none. */
function runningOf({ build, leaf }: Totals): Running | null {
  const { dialect } = build;
  const column = valueColumn(build, leaf);
  if (leaf.aggregation === "average")
    return {
      isOfTotals: false,
      over: (value, over) => sql`${dialect.aggregate(leaf, value, column, null)}${over}`,
    };
  if (dialect.ofTotals(leaf, EMPTY, column, EMPTY) === null) return null;
  return { isOfTotals: true, over: (value, over) => dialect.ofTotals(leaf, value, column, over) ?? EMPTY };
}

const COUNTED = "counted value";

/** What is accumulated for each combination of some columns: one total, or the value of each row. */
function accumulated(
  { build, leaf }: Totals,
  rows: PlanStep,
  columns: readonly string[],
  running: Running,
): PlanStep {
  return running.isOfTotals
    ? aggregate(rows, columns, [COUNTED, totalOf(build, leaf)])
    : compute(rows, ...kept(columns), [COUNTED, VALUE]);
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
  return aggregate(met(totals, placed(totals, rows), FIRST, END), keys, [VALUE, totalOf(build, leaf)]);
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
  const once = aggregate(placed(totals, rows), [FIRST, END, ...own, VALUE]);
  const ends: PlanStep = {
    kind: "repeat",
    rows: windows(once, [UNTIL, untilNext(totals, [...own, VALUE])]),
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
function ofSteps(totals: Totals, rows: PlanStep, running: Running): PlanStep {
  const own = ownGroups(totals);
  const steps = accumulated(totals, placed(totals, rows), [FIRST, END, ...own], running);
  // Rows of one longer period end at the same position.
  const partition = totals.leaf.cumulative?.toGrain === undefined ? own : [...own, END];
  const total: ColumnExpression = ({ value }) =>
    running.over(value(COUNTED), sql` OVER (${partitionBy(partition.map(value))}ORDER BY ${value(FIRST)})`);
  return met(totals, windows(steps, [UNTIL, untilNext(totals, own)], [VALUE, total]));
}

const NUMBER = "number";
const MOMENT = "moment";
const AT_MOMENT = "value at the moment";

/** A frame over the rows, and over the periods that have one of them to count. */
function ofFrames(totals: Totals, rows: PlanStep, running: Running, frame: (time: Part) => Part): PlanStep {
  const { infix } = totals.build.dialect;
  const own = ownGroups(totals);
  const counted = accumulated(totals, placed(totals, rows), [TIME, FIRST, END, ...own], running);
  const each: PlanStep = {
    kind: "repeat",
    rows: windows(counted, [UNTIL, untilNext(totals, own)]),
    number: NUMBER,
    // The position before its first is the row itself.
    from: ({ value }) => infix(value(FIRST), "-", sql`1`),
    below: ({ value }) => value(UNTIL),
  };
  const ofPeriod = ({ value }: ReadColumns, then: Part, otherwise: Part): Part =>
    sql`CASE WHEN ${infix(value(NUMBER), ">=", value(FIRST))} THEN ${then} ELSE ${otherwise} END`;
  const moments = compute(
    each,
    ...kept([TIME, END, ...own]),
    [AT_MOMENT, (read) => ofPeriod(read, sql`NULL`, read.value(COUNTED))],
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
  const wanted = totals.periods === "last covered" ? filter(joined, isWanted(totals)) : joined;
  const framed = windows(compute(wanted, ...kept([AT, AT_MOMENT, ...groups]), [MOMENT, moment]), [
    VALUE,
    ({ value }) =>
      running.over(value(AT_MOMENT), sql` OVER (${partitionBy(own.map(value))}${frame(value(MOMENT))})`),
  ]);
  return compute(filter(framed, isPeriod), [PERIOD, MOMENT], ...kept([...groups, VALUE]));
}

/** A row itself, the last period of a time group, and the last period of a row that no other follows at once. */
function isWanted({ build }: Totals): ColumnExpression {
  const { infix } = build.dialect;
  return ({ value }) => {
    const isLast = infix(value(PERIOD), "=", value(LAST));
    const isEnd = infix(infix(value(AT), "+", sql`1`), "=", value(END));
    return sql`(${infix(value(AT), "=", sql`0`)} OR ${isLast} OR ${isEnd})`;
  };
}

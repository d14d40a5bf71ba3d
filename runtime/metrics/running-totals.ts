import { EMPTY, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { timeGrainOf, valueColumn } from "./groups-build.js";
import { coveredTotals } from "./covered-totals.js";
import { framedTotals } from "./framed-totals.js";
import { partitionBy, totalOf } from "./leaves.js";
import {
  aggregate,
  type ColumnExpression,
  compute,
  filter,
  groupName,
  kept,
  PERIOD,
  type PlanStep,
  type ReadColumns,
  VALUE,
  windows,
} from "./plan.js";
import {
  accumulated,
  COUNTED,
  END,
  FIRST,
  isCovered,
  met,
  NEXT_ROW,
  ownGroups,
  placed,
  type Running,
  type Totals,
  UNTIL,
  untilNext,
} from "./period-positions.js";
import { timedRows } from "./spine-periods.js";

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
  const accumulate = (of: Totals, steps: PlanStep): PlanStep =>
    frame === null ? ofSteps(of, steps, running) : framedTotals(of, steps, running, frame);
  return isCovered(totals)
    ? coveredTotals(totals, rows, running, accumulate)
    : accumulate(totals, accumulated(totals, rows, running));
}

/** Null: the aggregation has none. */
function runningOf({ build, leaf }: Totals): Running | null {
  const { dialect } = build;
  const column = valueColumn(build, leaf);
  if (leaf.aggregation === "average")
    return {
      isOfTotals: false,
      over: (value, over) =>
        sql`${dialect.aggregate(leaf, value, column, { condition: null, isGroup: false })}${over}`,
    };
  if (dialect.ofTotals(leaf, EMPTY, column, EMPTY) === null) return null;
  return { isOfTotals: true, over: (value, over) => dialect.ofTotals(leaf, value, column, over) ?? EMPTY };
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
function ofSteps(totals: Totals, steps: PlanStep, running: Running): PlanStep {
  const own = ownGroups(totals);
  // Rows of one longer period end at the same position.
  const partition = totals.leaf.cumulative?.toGrain === undefined ? own : [...own, END];
  const total: ColumnExpression = ({ value }) =>
    running.over(value(COUNTED), sql` OVER (${partitionBy(partition.map(value))}ORDER BY ${value(FIRST)})`);
  return met(totals, windows(steps, [UNTIL, untilNext(totals, own)], [VALUE, total]));
}

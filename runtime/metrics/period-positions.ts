import type { Leaf } from "../core/model/aggregate.js";
import { EMPTY, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, timeGrainOf, timeGroups } from "./groups-build.js";
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
  windows,
} from "./plan.js";
import type { TimeFilters } from "./row-filters.js";
import { offsetPeriod } from "./spine-joins.js";
import { periodsOf, timedRows } from "./time-spine.js";
import { partitionBy } from "./leaves.js";

/** What running totals are made from. */
export interface Totals {
  readonly build: GroupsBuild;
  readonly leaf: Leaf;
  readonly filters: TimeFilters;
  /** `each`; of each time group only the `last`; or the last that a row counts for, which differs by group: `last covered`. */
  readonly periods: "each" | "last" | "last covered";
}

/** The positions of the periods for which a row counts: the first, and the one at which it no longer does. */
export const FIRST = "first position";
export const END = "end position";
/** The same, where the next row with the same groups ends it. */
export const UNTIL = "until position";
/** The position of a period. */
export const POSITION = "position";

/** Rows beside the positions of the periods for which they count, without those that count for none. */
export function placed(totals: Totals, rows: PlanStep): PlanStep {
  const { infix } = totals.build.dialect;
  const joined = joinRows(rows, bounds(totals), (row, bound) =>
    infix(row.value(TIME), "=", bound.value(TIME)),
  );
  return filter(joined, ({ value }) => infix(value(END), ">", value(FIRST)));
}

/** The position at which a row ends, where the next one with the same values of `columns` goes on. */
export function untilNext({ build }: Totals, columns: readonly string[]): ColumnExpression {
  const { infix, functionName } = build.dialect;
  return ({ value }) => {
    const over = sql`${partitionBy(columns.map(value))}ORDER BY ${value(FIRST)}, ${value(END)} ${NEXT_ROW}`;
    const following = sql`${functionName("max")}(${value(FIRST)}) OVER (${over})`;
    // Of no row ClickHouse has the maximum 0.
    return sql`CASE WHEN ${infix(following, ">", sql`0`)} THEN least(${value(END)}, ${following}) ELSE ${value(END)} END`;
  };
}

export const NEXT_ROW: Part = sql`ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING`;

/** 1 for a period, 0 for a time of rows. */
const IS_PERIOD = "is period";
/** The last time that counts for a period, and the one before the first. */
const TO = "counts to";
const AFTER = "counts after";

/** For each time of the rows the positions of the periods for which it counts: how many periods end before it, and how many begin. */
function bounds(totals: Totals): PlanStep {
  const { build, leaf, filters } = totals;
  const { infix, earlier, functionName } = build.dialect;
  const { window, toGrain } = leaf.cumulative ?? {};
  const grain = timeGrainOf(build, leaf);
  const start: ColumnExpression = ({ value }) =>
    window === undefined
      ? offsetPeriod(build, value(PERIOD), grain, { toGrain })
      : earlier(value(PERIOD), window, grain);
  const times = aggregate(timedRows(build, leaf, [], filters.others), [TIME]);
  const parts = [
    compute(times, [TIME, TIME], [IS_PERIOD, () => sql`0`], [TO, TIME], [AFTER, TIME]),
    compute(periodsFor(totals), [TIME, PERIOD], [IS_PERIOD, () => sql`1`], [TO, PERIOD], [AFTER, start]),
  ];
  const known = filter({ kind: "union", parts }, ({ value }) => sql`${value(TIME)} IS NOT NULL`);
  // The start of a window is not in it, that of a longer period is.
  const periodsFirst = window === undefined ? sql` DESC` : EMPTY;
  const count = ({ value }: ReadColumns, order: Part): Part =>
    infix(sql`${functionName("sum")}(${value(IS_PERIOD)}) OVER (${order})`, "+", sql`1`);
  const upTo = ({ value }: ReadColumns, time: string, direction: Part): Part =>
    sql`ORDER BY ${value(time)}, ${value(IS_PERIOD)}${direction} ROWS UNBOUNDED PRECEDING`;
  const isAllTime = window === undefined && toGrain === undefined;
  const counted = windows(
    known,
    [FIRST, (read) => count(read, upTo(read, TO, EMPTY))],
    [END, (read) => count(read, isAllTime ? EMPTY : upTo(read, AFTER, periodsFirst))],
  );
  const ofRows = filter(counted, ({ value }) => infix(value(IS_PERIOD), "=", sql`0`));
  return compute(ofRows, ...kept([TIME, FIRST, END]));
}

/** The last period of the time groups. */
export const LAST = "last period";

function periodsFor({ build, leaf, filters, periods: wanted }: Totals): PlanStep {
  const periods = periodsOf(build, { leaf, grain: timeGrainOf(build, leaf), filters: filters.onTime });
  if (wanted !== "last") return periods;
  const groups = timeGroups(build, leaf).map(groupName);
  const last: ColumnExpression = ({ value }) => sql`${build.dialect.functionName("max")}(${value(PERIOD)})`;
  return compute(aggregate(periods, groups, [LAST, last]), [PERIOD, LAST], ...kept(groups));
}

/** The periods of the spine with their positions from 1 on, and the last of their time groups. */
export function positions(totals: Totals): PlanStep {
  const { build, leaf, periods } = totals;
  const { functionName } = build.dialect;
  const groups = timeGroups(build, leaf).map(groupName);
  const number: ColumnExpression = ({ value }) =>
    sql`${functionName("row_number")}() OVER (ORDER BY ${value(PERIOD)})`;
  const last: ColumnExpression = ({ value }) =>
    sql`${functionName("max")}(${value(PERIOD)}) OVER (${partitionBy(groups.map(value))})`;
  const columns = periods === "last covered" ? ([[LAST, last]] as const) : [];
  return windows(periodsFor(totals), [POSITION, number], ...columns);
}

const COUNTED = "counted position";

/** Rows with each period for which they count, from one position on, below another. */
export function met(totals: Totals, rows: PlanStep, from = FIRST, below = UNTIL): PlanStep {
  const { infix } = totals.build.dialect;
  const each: PlanStep = {
    kind: "repeat",
    rows,
    number: COUNTED,
    from: ({ value }) => value(from),
    below: ({ value }) => value(below),
  };
  return joinRows(each, positions(totals), (row, period) =>
    infix(row.value(COUNTED), "=", period.value(POSITION)),
  );
}

import type { Leaf } from "../core/model/aggregate/metric.js";
import { constant, EMPTY, join, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, otherGroups, timeGrainOf, timeGroups } from "./groups-build.js";
import {
  aggregate,
  type ColumnExpression,
  compute,
  filter,
  groupName,
  joinRows,
  kept,
  type Named,
  PERIOD,
  type PlanStep,
  type ReadColumns,
  shared,
  TIME,
  VALUE,
  windows,
} from "./plan.js";
import type { TimeFilters } from "./row-filters.js";
import { offsetPeriod } from "./spine-joins.js";
import { periodsOf, timedRows } from "./spine-periods.js";
import { partitionBy, totalOf } from "./leaves.js";

/** What running totals are made from. */
export interface Totals {
  readonly build: GroupsBuild;
  readonly leaf: Leaf;
  readonly filters: TimeFilters;
  /** `each`; of each time group only the first or the last; or the first or the last that a row counts for, which differs by group. */
  readonly periods: "each" | "first" | "last" | "first covered" | "last covered";
}

/** The positions of the periods for which a row counts: the first, and the one at which it no longer does. */
export const FIRST = "first position";
export const END = "end position";
/** The same, where the next row with the same groups ends it. */
export const UNTIL = "until position";
/** The position of a period. */
export const POSITION = "position";

/** The same, counted in the first or the last periods of the time groups: the chosen ones. */
export const FIRST_CHOSEN = "first of chosen positions";
export const END_CHOSEN = "end of chosen positions";

/** Whether rows have these. */
export const isCovered = ({ periods }: Totals): boolean =>
  periods === "first covered" || periods === "last covered";

/** The columns that say for which periods a row counts. */
const boundsOf = (totals: Totals): readonly string[] => [
  FIRST,
  END,
  ...(isCovered(totals) ? [FIRST_CHOSEN, END_CHOSEN] : []),
];

/** Groups that rows have, and periods have not. */
export const ownGroups = ({ build, leaf }: Totals): readonly string[] =>
  otherGroups(build, leaf).map(groupName);

/** An aggregation over a frame: of totals, or of the rows themselves. */
export interface Running {
  readonly isOfTotals: boolean;
  readonly over: (value: Part, over: Part) => Part;
}

export const COUNTED = "counted value";

/**
 * What is accumulated, one total or the value of each row, beside positions. Rows of one time are added up before PostgreSQL sorts
 * them by position: a million rows in 1,000 groups of 73 days each took twice as long otherwise. Those of a whole group of times
 * are added up after it: they have one position. Where there are no other groups, times are few.
 */
export function accumulated(totals: Totals, rows: PlanStep, { isOfTotals }: Running): PlanStep {
  const own = ownGroups(totals);
  const total = (of: PlanStep, ...columns: readonly string[]): PlanStep =>
    aggregate(of, [...own, ...columns], [COUNTED, totalOf(totals.build, totals.leaf)]);
  if (!isOfTotals) return placed(totals, compute(rows, ...kept([...own, TIME]), [COUNTED, VALUE]));
  return totals.periods === "each" || own.length === 0
    ? placed(totals, total(rows, TIME))
    : total(placed(totals, rows), FIRST, END);
}

/** Rows beside the positions of the periods for which they count, without those that count for none. */
export function placed(totals: Totals, rows: PlanStep): PlanStep {
  const { infix } = totals.build.dialect;
  const joined = joinRows(rows, shared(bounds(totals)), (row, bound) =>
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

/** The position of the period for which a row is repeated. */
export const NUMBER = "number";

/** Rows with each period from the position in one of their columns on, below that in another. */
export function met(totals: Totals, rows: PlanStep, first = FIRST, below = UNTIL): PlanStep {
  const each: PlanStep = {
    kind: "repeat",
    rows,
    number: NUMBER,
    from: ({ value }) => value(first),
    below: ({ value }) => value(below),
  };
  return joinRows(each, positions(totals), (row, period) =>
    totals.build.dialect.infix(row.value(NUMBER), "=", period.value(POSITION)),
  );
}

export const NEXT_ROW: Part = sql`ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING`;
export const PREVIOUS_ROW: Part = sql`ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING`;

/** 1 for a period, 0 for a time of rows; and of the chosen one of its time groups alone. */
const IS_PERIOD = "is period";
const IS_CHOSEN = "is chosen period";
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
    compute(times, [TIME, TIME], ...marks(totals, 0), [TO, TIME], [AFTER, TIME]),
    compute(markedPeriods(totals), [TIME, PERIOD], ...marks(totals, 1), [TO, PERIOD], [AFTER, start]),
  ];
  const known = filter({ kind: "union", parts }, ({ value }) => sql`${value(TIME)} IS NOT NULL`);
  // The start of a window is not in it, that of a longer period is.
  const periodsFirst = window === undefined ? sql` DESC` : EMPTY;
  const count = ({ value }: ReadColumns, counted: string, order: Part): Part =>
    infix(sql`${functionName("sum")}(${value(counted)}) OVER (${order})`, "+", sql`1`);
  const upTo = ({ value }: ReadColumns, time: string, direction: Part): Part =>
    sql`ORDER BY ${value(time)}, ${value(IS_PERIOD)}${direction} ROWS UNBOUNDED PRECEDING`;
  const isAllTime = window === undefined && toGrain === undefined;
  const first =
    (mark: string): ColumnExpression =>
    (read) =>
      count(read, mark, upTo(read, TO, EMPTY));
  const end =
    (mark: string): ColumnExpression =>
    (read) =>
      count(read, mark, isAllTime ? EMPTY : upTo(read, AFTER, periodsFirst));
  const ofChosen = isCovered(totals)
    ? ([
        [FIRST_CHOSEN, first(IS_CHOSEN)],
        [END_CHOSEN, end(IS_CHOSEN)],
      ] as const)
    : [];
  const counted = windows(known, [FIRST, first(IS_PERIOD)], [END, end(IS_PERIOD)], ...ofChosen);
  // PostgreSQL joins rows by a hash where it knows that a time comes once, and expects enough of them: by "= 0" ten of 2,000.
  const ofRows = filter(counted, ({ value }) => infix(sql`1`, ">", value(IS_PERIOD)));
  const only =
    (name: string): ColumnExpression =>
    ({ value }) =>
      sql`${functionName("min")}(${value(name)})`;
  return aggregate(ofRows, [TIME], ...boundsOf(totals).map((name) => [name, only(name)] as const));
}

/** Of times of rows all are 0. */
function marks(totals: Totals, isPeriod: 0 | 1): Named<ColumnExpression> {
  const { infix } = totals.build.dialect;
  const period: Named<ColumnExpression> = [[IS_PERIOD, () => constant(isPeriod)]];
  if (!isCovered(totals)) return period;
  const mark: ColumnExpression = ({ value }) =>
    sql`CASE WHEN ${infix(value(PERIOD), "=", value(CHOSEN))} THEN 1 ELSE 0 END`;
  return [...period, [IS_CHOSEN, isPeriod === 1 ? mark : () => constant(0)]];
}

/** The first or the last period of the time groups. */
const CHOSEN = "chosen period";

const chosenPeriod =
  ({ build, periods }: Totals): ColumnExpression =>
  ({ value }) =>
    sql`${build.dialect.functionName(periods.startsWith("first") ? "min" : "max")}(${value(PERIOD)})`;

function periodsFor(totals: Totals): PlanStep {
  const { build, leaf, filters } = totals;
  const periods = periodsOf(build, { leaf, grain: timeGrainOf(build, leaf), filters: filters.onTime });
  return totals.periods === "first" || totals.periods === "last" ? chosenPeriods(totals, periods) : periods;
}

/** Of each time group the first or the last one. */
function chosenPeriods(totals: Totals, periods: PlanStep): PlanStep {
  const groups = timeGroups(totals.build, totals.leaf).map(groupName);
  const chosen = aggregate(periods, groups, [CHOSEN, chosenPeriod(totals)]);
  return compute(chosen, [PERIOD, CHOSEN], ...kept(groups));
}

/** The periods, where `marks` needs it with the chosen one of their time groups. */
function markedPeriods(totals: Totals): PlanStep {
  const periods = periodsFor(totals);
  if (!isCovered(totals)) return periods;
  const groups = timeGroups(totals.build, totals.leaf).map(groupName);
  const over = ({ value }: ReadColumns): Part => sql` OVER (${partitionBy(groups.map(value))})`;
  return windows(periods, [CHOSEN, (read) => sql`${chosenPeriod(totals)(read)}${over(read)}`]);
}

/** The periods of the spine with their positions from 1 on. */
export function positions(totals: Totals): PlanStep {
  return windows(periodsFor(totals), [POSITION, numberOf(totals)]);
}

/** The position of each of some periods among these, from 1 on. A week in two of a group comes twice, first with the earlier one. */
function numberOf({ build, leaf }: Totals): ColumnExpression {
  const names = [PERIOD, ...timeGroups(build, leaf).map(groupName)];
  return ({ value }) =>
    sql`${build.dialect.functionName("row_number")}() OVER (ORDER BY ${join(names.map(value), ", ")})`;
}

import type { Leaf } from "../core/model/aggregate.js";
import { EMPTY, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, otherGroups, timeGrainOf } from "./groups-build.js";
import { partitionBy } from "./leaves.js";
import { offsetPeriod } from "./offsets.js";
import {
  type ColumnExpression,
  groupName,
  kept,
  PERIOD,
  type PlanStep,
  type ReadColumns,
  TIME,
} from "./plan.js";
import type { TimeFilters } from "./row-filters.js";
import { periodsOf, timedRows } from "./time-spine.js";

/** What running totals are made from. */
export interface Totals {
  readonly build: GroupsBuild;
  readonly leaf: Leaf;
  readonly filters: TimeFilters;
}

/** The positions of the periods for which a row counts: the first, and the one at which it no longer does. */
export const FIRST = "first position";
export const UNTIL = "until position";
/** The position of a period. */
export const POSITION = "position";
/** The position at which a row ends by itself. */
const END = "end position";

/** Each row beside the positions of the periods for which it counts. The next row with the same values of `until` ends them. */
export function placed(totals: Totals, rows: PlanStep, until: readonly string[] | null): PlanStep {
  const { infix, functionName } = totals.build.dialect;
  const joined: PlanStep = {
    kind: "join",
    rows,
    others: [
      {
        rows: bounds(totals),
        unmatched: "removed",
        on: (row, bound) => infix(row.value(TIME), "=", bound.value(TIME)),
      },
    ],
  };
  const ends: ColumnExpression = ({ value }) => {
    if (until === null) return value(END);
    const partition = partitionBy(until.map(value));
    const following = sql`${functionName("max")}(${value(FIRST)}) OVER (${partition}ORDER BY ${value(TIME)} ${NEXT_ROW})`;
    // Of no row ClickHouse has the maximum 0.
    return sql`CASE WHEN ${infix(following, ">", sql`0`)} THEN least(${value(END)}, ${following}) ELSE ${value(END)} END`;
  };
  return { kind: "window", rows: joined, columns: [[UNTIL, ends]] };
}

export const NEXT_ROW: Part = sql`ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING`;

const IS_PERIOD = "is period";
const FROM = "counts from";
const BELOW = "counts below";

/** For each time of the rows the positions of the periods for which it counts. */
function bounds(totals: Totals): PlanStep {
  const { build, leaf, filters } = totals;
  const { dialect } = build;
  const { window, toGrain } = leaf.cumulative ?? {};
  const grain = timeGrainOf(build, leaf);
  const start: ColumnExpression = ({ value }) =>
    window === undefined
      ? offsetPeriod(build, value(PERIOD), grain, { toGrain })
      : dialect.earlier(value(PERIOD), window, grain);
  const rows = timedRows(build, leaf, [], filters.others);
  const times: PlanStep = { kind: "aggregate", rows, groups: [TIME], totals: [] };
  const part = (of: PlanStep, time: string, isPeriod: 0 | 1, from: ColumnExpression | string): PlanStep => ({
    kind: "compute",
    rows: of,
    columns: [
      [TIME, time],
      [IS_PERIOD, () => (isPeriod === 1 ? sql`1` : sql`0`)],
      [FROM, time],
      [BELOW, from],
    ],
  });
  const both: PlanStep = {
    kind: "filter",
    rows: {
      kind: "union",
      parts: [part(times, TIME, 0, TIME), part(periodsFor(totals), PERIOD, 1, start)],
    },
    conditions: [({ value }) => sql`${value(TIME)} IS NOT NULL`],
    compared: [],
  };
  // The start of a window is not in it, that of a longer period is.
  const order = ({ value }: ReadColumns): Part =>
    window === undefined
      ? sql`${value(BELOW)}, ${value(IS_PERIOD)} DESC`
      : sql`${value(BELOW)}, ${value(IS_PERIOD)}`;
  const isAllTime = window === undefined && toGrain === undefined;
  const after =
    (over: (read: ReadColumns) => Part): ColumnExpression =>
    (read) => {
      const count = sql`${dialect.functionName("sum")}(${read.value(IS_PERIOD)}) OVER (${over(read)})`;
      return dialect.infix(count, "+", sql`1`);
    };
  const counted: PlanStep = {
    kind: "window",
    rows: both,
    columns: [
      [
        FIRST,
        after(({ value }) => sql`ORDER BY ${value(FROM)}, ${value(IS_PERIOD)} ROWS UNBOUNDED PRECEDING`),
      ],
      [END, after((read) => (isAllTime ? EMPTY : sql`ORDER BY ${order(read)} ROWS UNBOUNDED PRECEDING`))],
    ],
  };
  return {
    kind: "compute",
    rows: {
      kind: "filter",
      rows: counted,
      conditions: [({ value }) => dialect.infix(value(IS_PERIOD), "=", sql`0`)],
      compared: [],
    },
    columns: kept([TIME, FIRST, END]),
  };
}

function periodsFor({ build, leaf, filters }: Totals): PlanStep {
  return periodsOf(build, { leaf, grain: timeGrainOf(build, leaf), filters: filters.onTime });
}

/** The periods of the spine with their positions from 1 on. */
export function positions(totals: Totals): PlanStep {
  const { functionName } = totals.build.dialect;
  const position: ColumnExpression = ({ value }) =>
    sql`${functionName("row_number")}() OVER (ORDER BY ${value(PERIOD)})`;
  return { kind: "window", rows: periodsFor(totals), columns: [[POSITION, position]] };
}

const COUNTED = "counted position";

/** Rows with each period for which they count, from a position on that is in the column `from`. */
export function met(totals: Totals, rows: PlanStep, from = FIRST): PlanStep {
  const { infix } = totals.build.dialect;
  const each: PlanStep = {
    kind: "repeat",
    rows,
    number: COUNTED,
    from: ({ value }) => value(from),
    below: ({ value }) => value(UNTIL),
  };
  return {
    kind: "join",
    rows: each,
    others: [
      {
        rows: positions(totals),
        unmatched: "removed",
        on: (row, period) => infix(row.value(COUNTED), "=", period.value(POSITION)),
      },
    ],
  };
}

/** Groups that rows have, and periods have not. */
export function ownGroups({ build, leaf }: Totals): readonly string[] {
  return otherGroups(build, leaf).map(groupName);
}

/** A period and all groups. */
export function periodKeys({ build }: Totals): readonly string[] {
  return [PERIOD, ...build.grouping.groups.map(groupName)];
}

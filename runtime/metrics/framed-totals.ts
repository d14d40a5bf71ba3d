import { sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { timeGroups } from "./groups-build.js";
import { partitionBy } from "./leaves.js";
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
  TIME,
  VALUE,
  windows,
} from "./plan.js";
import {
  accumulated,
  COUNTED,
  END,
  END_LAST,
  FIRST,
  FIRST_LAST,
  lastPeriods,
  NEXT_ROW,
  numberOf,
  ownGroups,
  periodsFor,
  placed,
  POSITION,
  positions,
  type Running,
  type Totals,
  UNTIL,
  untilNext,
} from "./period-positions.js";

const NUMBER = "number";
const AT = "position of the moment";
const MOMENT = "moment";
const AT_MOMENT = "value at the moment";

/** A frame over the rows, and over the periods that have one of them to count. */
export function framedTotals(
  totals: Totals,
  rows: PlanStep,
  running: Running,
  frame: (time: Part) => Part,
): PlanStep {
  const { build } = totals;
  const { infix } = build.dialect;
  const own = ownGroups(totals);
  const { counted, first, below, at, periods } = momentsOf(totals, rows, running);
  const each: PlanStep = {
    kind: "repeat",
    rows: counted,
    number: NUMBER,
    // The number before its first is the row itself.
    from: ({ value }) => infix(value(first), "-", sql`1`),
    below,
  };
  const isRow: ColumnExpression = ({ value }) => infix(value(first), ">", value(NUMBER));
  const moments = compute(
    each,
    ...kept([TIME, ...own]),
    [AT_MOMENT, (read) => sql`CASE WHEN ${isRow(read)} THEN ${read.value(COUNTED)} END`],
    [AT, (read) => sql`CASE WHEN ${isRow(read)} THEN 0 ELSE ${at(read)} END`],
  );
  const joined = joinRows(
    moments,
    byPosition(totals, periods),
    (row, period) => infix(row.value(AT), "=", period.value(POSITION)),
    "any",
  );
  const groups = build.grouping.groups.map(groupName);
  const isPeriod: ColumnExpression = ({ value }) => infix(value(AT), ">", sql`0`);
  const moment: ColumnExpression = (read) =>
    sql`CASE WHEN ${isPeriod(read)} THEN ${read.value(PERIOD)} ELSE ${read.value(TIME)} END`;
  const framed = windows(compute(joined, ...kept([AT, AT_MOMENT, ...groups]), [MOMENT, moment]), [
    VALUE,
    ({ value }) =>
      running.over(value(AT_MOMENT), sql` OVER (${partitionBy(own.map(value))}${frame(value(MOMENT))})`),
  ]);
  return compute(filter(framed, isPeriod), [PERIOD, MOMENT], ...kept([...groups, VALUE]));
}

/** PostgreSQL joins by a hash where it knows that a position comes once; else it sorts the moments. */
function byPosition({ build, leaf }: Totals, periods: PlanStep): PlanStep {
  const groups = timeGroups(build, leaf).map(groupName);
  const only =
    (name: string): ColumnExpression =>
    ({ value }) =>
      build.dialect.atEnd("first", value(name), value(POSITION));
  return aggregate(periods, [POSITION], ...[PERIOD, ...groups].map((name) => [name, only(name)] as const));
}

/** Rows with the numbers of the periods that they are repeated for: from one column on, below another value; `at`: the position of a number in `periods`. */
interface Moments {
  readonly counted: PlanStep;
  readonly first: string;
  readonly below: ColumnExpression;
  readonly at: ColumnExpression;
  readonly periods: PlanStep;
}

function momentsOf(totals: Totals, rows: PlanStep, running: Running): Moments {
  if (totals.periods === "last covered") return lastMoments(totals, rows, running);
  const own = ownGroups(totals);
  const counted = accumulated(totals, placed(totals, rows), [...own, FIRST, END, TIME], running);
  return {
    counted: windows(counted, [UNTIL, untilNext(totals, own)]),
    first: FIRST,
    below: ({ value }) => value(UNTIL),
    at: ({ value }) => value(NUMBER),
    periods: positions(totals),
  };
}

const NEXT_LAST = "first of last positions of the next row";

/**
 * Of the periods of a row only the last of each time group, and the last that it counts for where no other row follows at once:
 * a million rows in 1,000 groups that count for 365 days have 1.0 million of these, 4.5 million of all.
 */
function lastMoments(totals: Totals, rows: PlanStep, running: Running): Moments {
  const { infix, functionName } = totals.build.dialect;
  const own = ownGroups(totals);
  const columns = [...own, FIRST, END, FIRST_LAST, END_LAST, TIME];
  const counted = accumulated(totals, placed(totals, rows), columns, running);
  const next: ColumnExpression = ({ value }) => {
    const over = sql`${partitionBy(own.map(value))}ORDER BY ${value(FIRST)}, ${value(END)} ${NEXT_ROW}`;
    return sql`${functionName("max")}(${value(FIRST_LAST)}) OVER (${over})`;
  };
  return {
    counted: windows(counted, [UNTIL, untilNext(totals, own)], [NEXT_LAST, next]),
    first: FIRST_LAST,
    below: ({ value }) =>
      sql`CASE WHEN ${infix(value(UNTIL), "=", value(END))} THEN ${infix(value(END_LAST), "+", sql`1`)} ELSE ${value(NEXT_LAST)} END`,
    at: ({ value }) =>
      sql`CASE WHEN ${infix(value(END_LAST), ">", value(NUMBER))} THEN ${ofLastAt(totals, value(NUMBER))} ELSE ${beforeEndAt(totals, value(END))} END`,
    periods: keyedPeriods(totals),
  };
}

/** Twice the number of a last period among these: even. */
const ofLastAt = ({ build }: Totals, number: Part): Part => build.dialect.infix(number, "+", number);

/** Of the period before an end position: odd. */
function beforeEndAt({ build }: Totals, end: Part): Part {
  const { infix } = build.dialect;
  return infix(infix(end, "+", end), "+", sql`1`);
}

/** The last periods of the time groups, and all, by the keys that these two have. */
function keyedPeriods(totals: Totals): PlanStep {
  const { infix } = totals.build.dialect;
  const periods = periodsFor(totals);
  const names = [PERIOD, ...timeGroups(totals.build, totals.leaf).map(groupName)];
  const numbered = (rows: PlanStep, key: (number: Part) => Part): PlanStep =>
    compute(windows(rows, [POSITION, numberOf(totals)]), ...kept(names), [
      POSITION,
      ({ value }) => key(value(POSITION)),
    ]);
  const parts = [
    numbered(lastPeriods(totals, periods), (number) => ofLastAt(totals, number)),
    numbered(periods, (number) => beforeEndAt(totals, infix(number, "+", sql`1`))),
  ];
  return { kind: "union", parts };
}

import { sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { timeGroups } from "./groups-build.js";
import { partitionBy } from "./leaves.js";
import {
  type ColumnExpression,
  compute,
  groupName,
  joinRows,
  kept,
  type Named,
  PERIOD,
  type PlanStep,
  windows,
} from "./plan.js";
import {
  chosenPeriods,
  END,
  END_CHOSEN,
  FIRST,
  FIRST_CHOSEN,
  NEXT_ROW,
  numberOf,
  ownGroups,
  periodsFor,
  POSITION,
  positions,
  type Totals,
  UNTIL,
  untilNext,
} from "./period-positions.js";

export const NUMBER = "number";

/** For which numbers a row is repeated: from one of its columns on, below another value. `at`: the position of a number in `periods`. */
interface Repeats {
  readonly first: string;
  readonly below: ColumnExpression;
  readonly at: ColumnExpression;
  readonly periods: PlanStep;
}

/** Each period from one position on, below another. */
export const eachPeriod = (totals: Totals, first = FIRST, below = UNTIL): Repeats => ({
  first,
  below: ({ value }) => value(below),
  at: ({ value }) => value(NUMBER),
  periods: positions(totals),
});

/** Rows with each period for which they are repeated. */
export function met({ build }: Totals, rows: PlanStep, { first, below, at, periods }: Repeats): PlanStep {
  const from: ColumnExpression = ({ value }) => value(first);
  const each: PlanStep = { kind: "repeat", rows, number: NUMBER, from, below };
  return joinRows(each, periods, (row, period) => build.dialect.infix(at(row), "=", period.value(POSITION)));
}

/** The wanted periods of rows that have bounds, and the columns that these need of the rows around them. */
export function wantedRepeats(totals: Totals): Repeats & { readonly columns: Named<ColumnExpression> } {
  const until = [UNTIL, untilNext(totals, ownGroups(totals))] as const;
  if (totals.periods === "each" || totals.periods === "last")
    return { ...eachPeriod(totals), columns: [until] };
  const next = [NEXT_CHOSEN, nextChosen(totals)] as const;
  const periods = keyedPeriods(totals);
  if (totals.periods === "last covered") return { ...lastCovered(totals), periods, columns: [until, next] };
  return { ...firstCovered(totals), periods, columns: [until, next, [FROM, firstNumber(totals)]] };
}

const NEXT_CHOSEN = "first of chosen positions of the next row";

function nextChosen(totals: Totals): ColumnExpression {
  const { functionName } = totals.build.dialect;
  return ({ value }) => {
    const over = sql`${partitionBy(ownGroups(totals).map(value))}ORDER BY ${value(FIRST)}, ${value(END)} ${NEXT_ROW}`;
    return sql`${functionName("max")}(${value(FIRST_CHOSEN)}) OVER (${over})`;
  };
}

/** A value up to the position at which a row ends, or where the next one goes on. */
const untilEnd =
  ({ build }: Totals, atEnd: ColumnExpression): ColumnExpression =>
  (read) =>
    sql`CASE WHEN ${build.dialect.infix(read.value(UNTIL), "=", read.value(END))} THEN ${atEnd(read)} ELSE ${read.value(NEXT_CHOSEN)} END`;

/**
 * Of the periods of a row only the last of each time group, and the last that it counts for where no other row follows at once:
 * a million rows in 1,000 groups that count for 365 days have 1.0 million of these, 4.5 million of all.
 */
function lastCovered(totals: Totals): Omit<Repeats, "periods"> {
  const { infix } = totals.build.dialect;
  return {
    first: FIRST_CHOSEN,
    below: untilEnd(totals, ({ value }) => infix(value(END_CHOSEN), "+", sql`1`)),
    at: ({ value }) =>
      sql`CASE WHEN ${infix(value(END_CHOSEN), ">", value(NUMBER))} THEN ${chosenAt(totals, value(NUMBER))} ELSE ${beforeAt(totals, value(END))} END`,
  };
}

const FROM = "first number";

/**
 * Of the periods of a row only the first of each time group, and the first that it counts for where no other row does before.
 * Numbers are one more than those of the first ones among these: what comes before them has a number that is not negative.
 */
function firstCovered(totals: Totals): Omit<Repeats, "periods"> {
  const { infix } = totals.build.dialect;
  return {
    first: FROM,
    below: (read) => infix(untilEnd(totals, ({ value }) => value(END_CHOSEN))(read), "+", sql`1`),
    at: ({ value }) =>
      sql`CASE WHEN ${infix(value(NUMBER), ">", value(FIRST_CHOSEN))} THEN ${chosenAt(totals, value(NUMBER))} ELSE ${beforeAt(totals, infix(value(FIRST), "+", sql`1`))} END`,
  };
}

/** The first number of a row, which is that of no first period where the row before does not count up to its position. */
function firstNumber(totals: Totals): ColumnExpression {
  const { infix, functionName } = totals.build.dialect;
  return ({ value }) => {
    const over = sql`${partitionBy(ownGroups(totals).map(value))}ORDER BY ${value(FIRST)}, ${value(END)} ${ROW_BEFORE}`;
    const before = sql`${functionName("max")}(${value(END)}) OVER (${over})`;
    const first = value(FIRST_CHOSEN);
    return sql`CASE WHEN ${infix(before, ">=", value(FIRST))} THEN ${infix(first, "+", sql`1`)} ELSE ${first} END`;
  };
}

const ROW_BEFORE: Part = sql`ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING`;

/** Twice the number of a chosen period among these: even. */
const chosenAt = ({ build }: Totals, number: Part): Part => build.dialect.infix(number, "+", number);

/** Of the period before a position among all: odd. */
function beforeAt({ build }: Totals, position: Part): Part {
  const { infix } = build.dialect;
  return infix(infix(position, "+", position), "+", sql`1`);
}

/** The chosen periods, and all, by the keys that these two have. */
function keyedPeriods(totals: Totals): PlanStep {
  const { infix } = totals.build.dialect;
  const periods = periodsFor(totals);
  const names = [PERIOD, ...timeGroups(totals.build, totals.leaf).map(groupName)];
  const numbered = (rows: PlanStep, key: (number: Part) => Part): PlanStep =>
    compute(windows(rows, [POSITION, numberOf(totals)]), ...kept(names), [
      POSITION,
      ({ value }) => key(value(POSITION)),
    ]);
  const next = (number: Part): Part => infix(number, "+", sql`1`);
  const isFirst = totals.periods === "first covered";
  const parts = [
    numbered(chosenPeriods(totals, periods), (number) => chosenAt(totals, isFirst ? next(number) : number)),
    numbered(periods, (number) => beforeAt(totals, next(number))),
  ];
  return { kind: "union", parts };
}

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
  COUNTED,
  FIRST,
  NUMBER,
  ownGroups,
  POSITION,
  positions,
  type Running,
  type Totals,
  UNTIL,
  untilNext,
} from "./period-positions.js";

const AT = "position of the moment";
const MOMENT = "moment";
const AT_MOMENT = "value at the moment";

/** A frame over the rows, and over the periods that have one of them to count. */
export function framedTotals(
  totals: Totals,
  steps: PlanStep,
  running: Running,
  frame: (time: Part) => Part,
): PlanStep {
  const { build } = totals;
  const { infix } = build.dialect;
  const own = ownGroups(totals);
  const each: PlanStep = {
    kind: "repeat",
    rows: windows(steps, [UNTIL, untilNext(totals, own)]),
    number: NUMBER,
    // The number before its first is the row itself.
    from: ({ value }) => infix(value(FIRST), "-", sql`1`),
    below: ({ value }) => value(UNTIL),
  };
  const isRow: ColumnExpression = ({ value }) => infix(value(FIRST), ">", value(NUMBER));
  const moments = compute(
    each,
    ...kept([TIME, ...own]),
    [AT_MOMENT, (read) => sql`CASE WHEN ${isRow(read)} THEN ${read.value(COUNTED)} END`],
    [AT, (read) => sql`CASE WHEN ${isRow(read)} THEN 0 ELSE ${read.value(NUMBER)} END`],
  );
  const joined = joinRows(
    moments,
    byPosition(totals),
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
function byPosition(totals: Totals): PlanStep {
  const { build, leaf } = totals;
  const groups = timeGroups(build, leaf).map(groupName);
  const only =
    (name: string): ColumnExpression =>
    ({ value }) =>
      build.dialect.atEnd("first", value(name), value(POSITION));
  return aggregate(
    positions(totals),
    [POSITION],
    ...[PERIOD, ...groups].map((name) => [name, only(name)] as const),
  );
}

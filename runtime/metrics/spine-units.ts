import type { Leaf, SpineUnits } from "../core/model/aggregate/metric.js";
import { join, projectParts, sql } from "../core/warehouse/sql.js";
import { type GroupsBuild, type LeafUse, named, timeGrainOf, timeGroups } from "./groups-build.js";
import { aggregated, partitionBy } from "./leaves.js";
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
import { readRelation } from "./read-relation.js";
import { filtersOf, type RowFilters, splitByTime } from "./row-filters.js";
import { periodsOf, timedRows } from "./spine-periods.js";

const DAY = "day of the spine";
const UNIT = "unit of the spine";
const POSITION = "position of the unit";
const NUMBER = "number of the day";
const later = (name: string): string => `later ${name}`;

/**
 * A simple metric in later periods that a time spine names: the n-th day of one stands on the n-th day of another, and on
 * none where that has fewer. By these periods alone all of its days stand in the other. What is after the spine's end has
 * null, as in MetricFlow.
 */
export function rowsInUnits(build: GroupsBuild, use: LeafUse, units: SpineUnits): PlanStep {
  const { leaf } = use;
  const { onTime, others } = splitByTime(leaf, filtersOf(build, use));
  const isFiltered = onTime.filters.length + onTime.conditions.length > 0;
  const times = timeGroups(build, leaf);
  const isOfUnits = ({ derived }: (typeof times)[number]): boolean =>
    derived !== undefined &&
    "spine" in derived &&
    derived.spine === units.spine &&
    derived.value === units.value;
  const rows = timedRows(build, leaf, build.grouping.groups, others);
  const days =
    !isFiltered && times.every(isOfUnits)
      ? inLaterUnits(
          build,
          units,
          times.map((group) => groupName(group)),
        )
      : filter(
          onShownDays(build, leaf, units, onTime, "null"),
          // Not by another join: the types of the groups do not follow from what a request asks.
          ...(isFiltered ? [({ value }: ReadColumns) => sql`${value(PERIOD)} IS NOT NULL`] : []),
        );
  const joined = joinRows(rows, days, (row, day) =>
    build.dialect.infix(row.value(TIME), "=", day.value(DAY)),
  );
  const columns = [...(leaf.value === undefined ? [] : [VALUE]), ...build.grouping.groups.map(groupName)];
  return aggregated(build, leaf, compute(joined, ...kept(columns)));
}

/**
 * The accumulated values of days in later periods. Days that the later one has not, or that are after the spine's end, have none: of
 * several days of running totals MetricFlow shows the sum.
 */
export function totalsInUnits(
  build: GroupsBuild,
  leaf: Leaf,
  units: SpineUnits,
  { onTime, totals }: { readonly onTime: RowFilters; readonly totals: PlanStep },
): PlanStep {
  return joinRows(onShownDays(build, leaf, units, onTime, "removed"), totals, (day, total) =>
    build.dialect.infix(day.value(DAY), "=", total.value(PERIOD)),
  );
}

/** Days beside the later ones, with the groups of these. */
function onShownDays(
  build: GroupsBuild,
  leaf: Leaf,
  units: SpineUnits,
  filters: RowFilters,
  unmatched: "removed" | "null",
): PlanStep {
  const periods = periodsOf(build, { leaf, grain: timeGrainOf(build, leaf), filters });
  return joinRows(
    onLaterDays(build, units),
    periods,
    (day, period) => build.dialect.infix(day.value(later(DAY)), "=", period.value(PERIOD)),
    unmatched,
  );
}

/** Days with the unit that holds each, and their numbers. */
function numberedDays(build: GroupsBuild, { spine, value }: SpineUnits): PlanStep {
  const { grouping, types, dialect } = build;
  const found = grouping.aggregate.spines.find(({ relation }) => relation === spine);
  if (found === undefined) throw new Error("An offset needs a time spine that the aggregate does not have.");
  const { value: name, grain } = found;
  const column = named(types.get(spine) ?? [], name);
  const read = readRelation(build, spine, [
    [TIME, name],
    [UNIT, value],
  ]);
  const day: ColumnExpression = ({ value: at }) => dialect.truncated(at(TIME), grain, column);
  const position: ColumnExpression = ({ value: at }) =>
    sql`${dialect.functionName("dense_rank")}() OVER (ORDER BY ${at(UNIT)})`;
  const number: ColumnExpression = ({ value: at }) =>
    sql`${dialect.functionName("row_number")}() OVER (${partitionBy([at(UNIT)])}ORDER BY ${at(DAY)})`;
  return windows(compute(read, [UNIT, UNIT], [DAY, day]), [POSITION, position], [NUMBER, number]);
}

function onLaterDays(build: GroupsBuild, units: SpineUnits): PlanStep {
  const days = numberedDays(build, units);
  const others = compute(days, ...[DAY, POSITION, NUMBER].map((name) => [later(name), name] as const));
  return joinRows(
    days,
    others,
    (day, other) =>
      join(
        [
          isLater(build, units)(day, other),
          build.dialect.infix(day.value(NUMBER), "=", other.value(later(NUMBER))),
        ],
        " AND ",
      ),
    "null",
  );
}

/** `names`: the columns that show the later unit. */
function inLaterUnits(build: GroupsBuild, units: SpineUnits, names: readonly string[]): PlanStep {
  const days = numberedDays(build, units);
  const others = compute(
    aggregate(compute(days, ...kept([POSITION, UNIT])), [POSITION, UNIT]),
    [later(POSITION), POSITION],
    ...names.map((name) => [name, UNIT] as const),
  );
  return joinRows(days, others, isLater(build, units), "null");
}

const isLater =
  ({ dialect }: GroupsBuild, { count }: SpineUnits): Parameters<typeof joinRows>[2] =>
  (day, other) =>
    dialect.infix(
      dialect.infix(day.value(POSITION), "+", projectParts([String(count)])),
      "=",
      other.value(later(POSITION)),
    );

import { compareGrains, type Grain } from "../core/model/aggregate/grains.js";
import { type Leaf, METRIC_TIME } from "../core/model/aggregate/metric.js";
import type { AskedGroup } from "../core/model/aggregate/aggregate.js";
import { type GroupsBuild, isTimeOf, timeGrainOf, timeGroups } from "./groups-build.js";
import {
  aggregate,
  type ColumnExpression,
  compute,
  groupName,
  type Named,
  PERIOD,
  type PlanStep,
  TIME,
  VALUE,
} from "./plan.js";
import { allOf, filtered, filteredRows, groupOf, neededDimensions, type RowFilters } from "./row-filters.js";
import { isRange, rowSet } from "./row-set.js";
import { SpineRows } from "./time-spine.js";

interface Periods {
  readonly leaf: Leaf;
  readonly grain: Grain | null;
  /** Conditions on time are conditions on the days of the spine. */
  readonly filters: RowFilters;
  /** Only periods that begin one of a group. */
  readonly isStart?: boolean;
}

/**
 * Periods of a grain with the groups that are the time of a leaf. Without a grain these are all that periods have: of the
 * coarsest time spine that has them, as in MetricFlow.
 */
export function periodsOf(build: GroupsBuild, periods: Periods): PlanStep {
  const { leaf, grain, filters, isStart = false } = periods;
  const { dialect } = build;
  const groups = timeGroups(build, leaf);
  const base = grain ?? timeGrainOf(build, leaf);
  const needed = [
    ...(grain === null ? [] : [grain]),
    ...groups.map((group) => group.grain),
    ...filterGrains(build, leaf, filters),
  ];
  const days = new SpineRows(build, leaf, needed.toSorted(compareGrains)[0] ?? "day");
  const selected = filtered(build, days.rows(filters), filters, {
    columns: days.columns(filters),
    resolve: {
      dimension: (read, name, asked = timeGrainOf(build, leaf)) =>
        days.shown(name, read) ?? dialect.comparedTime(days.period(asked)(read), asked, days.day),
    },
  });
  const begins = groups
    .filter(({ derived }) => derived === undefined)
    .map(
      (group): ColumnExpression =>
        (read) =>
          dialect.infix(days.period(group.grain)(read), "=", days.period(base)(read)),
    );
  const conditions = [...selected.conditions, ...(isStart ? [allOf(begins, " OR ")] : [])];
  const keys = groups.map((group): [string, ColumnExpression] => [
    groupName(group),
    (read) => days.shown(group.name, read) ?? days.period(group.grain)(read),
  ]);
  const period: Named<ColumnExpression> = grain === null ? [] : [[PERIOD, days.period(grain)]];
  const shown = compute({ ...selected, conditions }, ...period, ...keys);
  return aggregate(
    shown,
    shown.columns.map(([name]) => name),
  );
}

/** Grains that filters on the time of a leaf compare: a range its days, operators its own periods. */
function filterGrains(build: GroupsBuild, leaf: Leaf, { filters, conditions }: RowFilters): readonly Grain[] {
  const own = timeGrainOf(build, leaf);
  const fixed = filters.flatMap((filter) =>
    filter.flatMap((part) => (typeof part === "string" || "metric" in part ? [] : [part.grain ?? own])),
  );
  return [...fixed, ...conditions.map(({ condition }) => (isRange(condition) ? "day" : own))];
}

/** The rows of a leaf: their time, their value, and the groups that are not their time. */
export function timedRows(
  build: GroupsBuild,
  leaf: Leaf,
  groups: readonly AskedGroup[],
  filters: RowFilters,
): PlanStep {
  const { fact, time, value } = leaf;
  const others = groups.filter(({ name }) => !isTimeOf(leaf, name));
  const rows = rowSet(build, {
    fact,
    time,
    dimensions: [...neededDimensions(filters, others), METRIC_TIME],
    values: value === undefined ? [] : [value],
  });
  const ofTime = { key: "", name: METRIC_TIME, grain: timeGrainOf(build, leaf) };
  return compute(
    filteredRows(build, rows, filters),
    [TIME, groupOf(build, rows, ofTime)],
    ...(value === undefined ? [] : [[VALUE, rows.value(value).name] as const]),
    ...others.map((group) => [groupName(group), groupOf(build, rows, group)] as const),
  );
}

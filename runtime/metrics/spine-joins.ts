import type { Grain, Period } from "../core/model/aggregate/grains.js";
import type { Leaf, SpineUnits } from "../core/model/aggregate/metric.js";
import type { AskedGroup } from "../core/model/aggregate/aggregate.js";
import { mapConditions } from "../core/model/query.js";
import { constant, join, projectParts, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import {
  finestGrain,
  type GroupsBuild,
  type LeafUse,
  otherGroups,
  timeGrainOf,
  timeGroups,
  withGroups,
  withoutNull,
} from "./groups-build.js";
import { aggregated } from "./leaves.js";
import { type ColumnExpression, groupName, joinRows, PERIOD, type PlanStep, TIME, VALUE } from "./plan.js";
import { filtered, filtersOf, splitByTime } from "./row-filters.js";
import { isOnlyOn, rowSet } from "./row-set.js";
import { periodsOf, timedRows } from "./spine-periods.js";

/** An offset of a metric: a number of periods back, or the start of the period that holds the time. */
export interface Offset {
  readonly window?: Period | undefined;
  readonly toGrain?: Grain | undefined;
  readonly units?: SpineUnits | undefined;
}

/** The period whose rows stand in this one by an offset. */
export function offsetPeriod(
  { dialect }: GroupsBuild,
  period: Part,
  grain: Grain,
  { window, toGrain }: Offset,
): Part {
  if (window !== undefined) return dialect.earlier(period, window, grain);
  return toGrain === undefined ? period : dialect.truncated(period, toGrain, dialect.periodColumn(grain));
}

/** Periods beside the rows that stand in them by an offset. `time`: the column with the period of a row. */
export function inOtherPeriods(
  build: GroupsBuild,
  periods: PlanStep,
  rows: PlanStep,
  { grain, offset, time }: { readonly grain: Grain; readonly offset: Offset; readonly time: string },
): PlanStep {
  return joinRows(periods, rows, (period, row) =>
    build.dialect.infix(offsetPeriod(build, period.value(PERIOD), grain, offset), "=", row.value(time)),
  );
}

/** A simple metric in other periods, joined before its rows are aggregated: the offset's grain is finer than the groups. */
export function offsetRows(build: GroupsBuild, use: LeafUse, offset: Offset): PlanStep {
  const { leaf } = use;
  const grain = timeGrainOf(build, leaf);
  const { onTime, others } = splitByTime(leaf, filtersOf(build, use));
  const isStart = offset.toGrain !== undefined && finestGrain(build, leaf) !== null;
  const periods = periodsOf(build, { leaf, grain, filters: onTime, isStart });
  const rows = timedRows(build, leaf, build.grouping.groups, others);
  return aggregated(build, leaf, inOtherPeriods(build, periods, rows, { grain, offset, time: TIME }));
}

/** A result by its finest time group in other periods: that of the spine, minus the offset. */
export function offsetResult(
  build: GroupsBuild,
  use: Pick<LeafUse, "leaf" | "filters">,
  offset: Offset,
  inner: (build: GroupsBuild) => PlanStep,
): PlanStep {
  const { leaf } = use;
  const times = timeGroups(build, leaf);
  const [finest] = times;
  if (finest === undefined || finest.derived !== undefined) throw new Error("An offset needs a time group.");
  // Other time groups follow from the finest.
  const isLonger = ({ key }: AskedGroup): boolean =>
    key !== finest.key && times.some((time) => time.key === key);
  const groups = build.grouping.groups.filter((group) => !isLonger(group));
  const { onTime } = splitByTime(leaf, filtersOf(build, use));
  const { grain } = finest;
  const periods = periodsOf(build, { leaf, grain, filters: onTime });
  const result = inner({ ...withGroups(build, groups), ignoresTime: true });
  return inOtherPeriods(build, periods, result, { grain, offset, time: groupName(finest) });
}

/** Results with a row for every period, also for those without any. `on`: columns that say which period is whose; without a grain these are the period. */
export function onSpine(
  build: GroupsBuild,
  { leaf, filters }: Pick<LeafUse, "leaf" | "filters">,
  results: PlanStep,
  { grain, on }: { readonly grain: Grain | null; readonly on: readonly string[] },
): PlanStep {
  const { onTime } = splitByTime(leaf, filtersOf(build, { leaf, filters }));
  const periods = periodsOf(build, { leaf, grain, filters: onTime });
  const rows = joinRows(
    periods,
    results,
    (period, result) =>
      join(
        on.map((name) => build.dialect.infix(period.value(name), "=", result.value(name))),
        " AND ",
      ),
    "null",
  );
  return reapplied(build, leaf, rows);
}

/** Filters of the request on nothing but what is grouped by, for rows that the spine has added: other groups are null there. */
function reapplied(build: GroupsBuild, leaf: Leaf, rows: PlanStep): PlanStep {
  const { dialect } = build;
  const { others } = splitByTime(leaf, filtersOf(build, { leaf, filters: [] }));
  const { fact, time } = leaf;
  const groups = otherGroups(build, leaf);
  const dimensions = groups.map(({ name }) => name);
  const { dimension } = rowSet(build, { fact, time, dimensions, values: [] });
  const wrong = groups.filter(
    (group) => group.grain === undefined && !dialect.canBeNull(dimension(group.name).column),
  );
  if (wrong.length > 0) throw withoutNull("group_by", wrong.map(({ key }) => key).join(", "));
  const grouped = (name: string, grain?: Grain): string | null => {
    const found = groups.find(
      (group) => group.name === name && group.grain === (grain ?? dimension(name).grain),
    );
    return found === undefined ? null : groupName(found);
  };
  const columns = groups.map((group) => ({
    ...(group.grain === undefined ? dimension(group.name).column : dialect.periodColumn(group.grain)),
    name: groupName(group),
  }));
  const conditions = others.conditions
    .filter(({ condition }) => isOnlyOn(condition, (name) => grouped(name) !== null))
    .flatMap(({ condition, position }) =>
      mapConditions([condition], (each) => ({ ...each, column: grouped(each.column) ?? "" })).map((own) => ({
        condition: own,
        position,
      })),
    );
  const filters = others.filters.filter((filter) =>
    filter.every(
      (part) =>
        typeof part === "string" || (!("metric" in part) && grouped(part.dimension, part.grain) !== null),
    ),
  );
  return filtered(
    build,
    rows,
    { filters, conditions },
    {
      columns,
      resolve: {
        dimension: ({ value }, name, asked) => {
          const { column, grain = asked } = dimension(name);
          const compared = asked ?? grain;
          const shown = value(grouped(name, asked) ?? "");
          return compared === undefined ? shown : dialect.comparedTime(shown, compared, column);
        },
      },
    },
  );
}

/** The value of a leaf in the column `name`, or what stands for null. */
export const filledValue =
  ({ fill = 0 }: Leaf, name = VALUE): ColumnExpression =>
  ({ value }) =>
    sql`coalesce(${value(name)}, ${Number.isInteger(fill) ? constant(fill) : projectParts([String(fill)])})`;

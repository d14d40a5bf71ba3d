import type { Leaf } from "../core/model/aggregate.js";
import {
  type GroupsBuild,
  isTimeOf,
  type LeafUse,
  timeGrainOf,
  timeGroups,
  withGroups,
} from "./groups-build.js";
import { filledValue, onSpine } from "./on-spine.js";
import { inOtherPeriods, type Offset } from "./offsets.js";
import { type ColumnExpression, groupName, kept, PERIOD, type PlanStep, VALUE } from "./plan.js";
import { filtersOf, type RowFilters, splitByTime, type TimeFilters } from "./row-filters.js";
import { runningTotals } from "./running-totals.js";
import { periodsOf } from "./time-spine.js";

/** A cumulative metric: for each period of the spine the rows up to it, then one value for each longer period. */
export function cumulativeLeaf(build: GroupsBuild, use: LeafUse, offset: Offset | null): PlanStep {
  const { leaf } = use;
  const { dialect, grouping } = build;
  const filters = splitByTime(leaf, filtersOf(build, use));
  const totals =
    offset === null ? runningTotals(build, leaf, filters) : offsetTotals(build, leaf, filters, offset);
  const rows = filled(build, leaf, filters.onTime, totals);
  if (timeGroups(build, leaf)[0]?.grain === timeGrainOf(build, leaf)) return rows;
  const end = leaf.cumulative?.periodAggregation ?? "last";
  const total: ColumnExpression = ({ value }) =>
    end === "average"
      ? dialect.aggregate(AVERAGE, dialect.operand(value(VALUE), true), null, null)
      : dialect.atEnd(end, value(VALUE), value(PERIOD));
  return { kind: "aggregate", rows, groups: grouping.groups.map(groupName), totals: [[VALUE, total]] };
}

const AVERAGE: Leaf = { kind: "leaf", fact: "", filters: [], aggregation: "average" };

/** What stands for null does so in each period of the spine, before longer periods take one of them. */
function filled(build: GroupsBuild, leaf: Leaf, onTime: RowFilters, totals: PlanStep): PlanStep {
  if (leaf.onSpine !== true && leaf.fill === undefined) return totals;
  const grain = timeGrainOf(build, leaf);
  const periods = (): PlanStep => periodsOf(build, { leaf, grain, filters: onTime });
  const rows =
    leaf.onSpine === true ? onSpine(build, leaf, totals, { periods: periods(), on: [PERIOD] }) : totals;
  const value: ColumnExpression = ({ value: at }) => filledValue(leaf, at(VALUE));
  const names = [PERIOD, ...build.grouping.groups.map(groupName)];
  return { kind: "compute", rows, columns: [...kept(names), [VALUE, value]] };
}

const NOTHING: RowFilters = { filters: [], conditions: [] };

/** The accumulated value of another period for each period of the spine. */
function offsetTotals(
  build: GroupsBuild,
  leaf: Leaf,
  { onTime, others }: TimeFilters,
  offset: Offset,
): PlanStep {
  const grain = timeGrainOf(build, leaf);
  const untimed = build.grouping.groups.map((group) =>
    isTimeOf(leaf, group.name) ? { ...group, grain } : group,
  );
  const totals = runningTotals(withGroups(build, untimed), leaf, { onTime: NOTHING, others });
  const periods = periodsOf(build, { leaf, grain, filters: onTime });
  return inOtherPeriods(build, totals, { periods, grain, offset, time: PERIOD });
}

import { compareGrains, type Grain } from "../core/model/aggregate/grains.js";
import { type Leaf, METRIC_TIME } from "../core/model/aggregate/metric.js";
import {
  finestGrain,
  type GroupsBuild,
  isTimeOf,
  type LeafUse,
  timeGrainOf,
  timeGroups,
  withGroups,
} from "./groups-build.js";
import {
  aggregate,
  type ColumnExpression,
  compute,
  groupName,
  kept,
  PERIOD,
  type PlanStep,
  VALUE,
} from "./plan.js";
import { filtersOf, splitByTime, type TimeFilters } from "./row-filters.js";
import type { Totals } from "./period-positions.js";
import { runningTotals } from "./running-totals.js";
import { filledValue, inOtherPeriods, type Offset, onSpine } from "./spine-joins.js";
import { periodsOf } from "./spine-periods.js";
import { totalsInUnits } from "./spine-units.js";

/** A cumulative metric: for each period of the spine the rows up to it, then one value for each longer period. */
export function cumulativeLeaf(build: GroupsBuild, use: LeafUse, offset: Offset | null): PlanStep {
  const { leaf } = use;
  const { dialect, grouping } = build;
  const filters = splitByTime(leaf, filtersOf(build, use));
  const periods = offset === null ? wantedPeriods(build, leaf) : "each";
  const totals =
    offset === null
      ? runningTotals({ build, leaf, filters, periods })
      : offsetTotals(build, leaf, filters, offset);
  const rows = filled(build, use, totals);
  if (periods === "last" || finestGrain(build, leaf) === timeGrainOf(build, leaf)) return rows;
  const end = leaf.cumulative?.periodAggregation ?? "last";
  const total: ColumnExpression = ({ value }) =>
    end === "average"
      ? dialect.aggregate(AVERAGE, dialect.operand(value(VALUE), true), null, {
          condition: null,
          isGroup: true,
        })
      : dialect.atEnd(end, value(VALUE), value(PERIOD));
  return aggregate(rows, grouping.groups.map(groupName), [VALUE, total]);
}

/**
 * Of which periods values are wanted. Where rows that count for a period count for all later ones of its group, the last one's
 * suffices; else the first or the last that they count for, where the periods of a group follow each other: those of a custom
 * grain need not.
 */
function wantedPeriods(build: GroupsBuild, leaf: Leaf): Totals["periods"] {
  const { window, toGrain, periodAggregation } = leaf.cumulative ?? {};
  const finest = finestGrain(build, leaf);
  const isOfPeriods = finest === null || finest === timeGrainOf(build, leaf);
  if (isOfPeriods || periodAggregation === "average" || leaf.onSpine === true) return "each";
  const isWhole = timeGroups(build, leaf).every(({ derived }) => derived === undefined);
  if (periodAggregation === "first") return isWhole ? "first covered" : "each";
  if (window !== undefined) return isWhole ? "last covered" : "each";
  const isCovered =
    toGrain === undefined ||
    (isWithin(timeGrainOf(build, leaf), toGrain) &&
      timeGroups(build, leaf).some(
        ({ grain, derived }) => derived === undefined && isWithin(grain, toGrain),
      ));
  return isCovered ? "last" : "each";
}

/** Whether a period of a grain is within one of another. */
const isWithin = (grain: Grain, outer: Grain): boolean =>
  compareGrains(grain, outer) <= 0 && (grain !== "week" || outer === "week");

const AVERAGE: Leaf = { kind: "leaf", fact: "", filters: [], aggregation: "average" };

/** What stands for null does so in each period of the spine, before longer periods take one of them. */
function filled(build: GroupsBuild, use: LeafUse, totals: PlanStep): PlanStep {
  const { leaf } = use;
  const grain = timeGrainOf(build, leaf);
  // A week in two of a group is there with each of them. Any other period is in one; what is made of one may be null.
  const periods = timeGroups(build, leaf).filter(({ derived }) => grain === "week" && derived === undefined);
  const on = [PERIOD, ...periods.map(groupName)];
  const rows = leaf.onSpine === true ? onSpine(build, use, totals, { grain, on }) : totals;
  if (leaf.fill === undefined) return rows;
  const names = [PERIOD, ...build.grouping.groups.map(groupName)];
  return compute(rows, ...kept(names), [VALUE, filledValue(leaf)]);
}

/** The accumulated value of another period for each period of the spine. */
function offsetTotals(
  build: GroupsBuild,
  leaf: Leaf,
  { onTime, others }: TimeFilters,
  offset: Offset,
): PlanStep {
  const grain = timeGrainOf(build, leaf);
  const untimed = build.grouping.groups.map((group) =>
    isTimeOf(leaf, group.name) ? { ...group, name: METRIC_TIME, grain } : group,
  );
  const filters = { onTime: { filters: [], conditions: [] }, others };
  const totals = runningTotals({ build: withGroups(build, untimed), leaf, filters, periods: "each" });
  if (offset.units !== undefined) return totalsInUnits(build, leaf, offset.units, { onTime, totals });
  const periods = periodsOf(build, { leaf, grain, filters: onTime });
  return inOtherPeriods(build, periods, totals, { grain, offset, time: PERIOD });
}

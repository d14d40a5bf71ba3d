import type { AskedGroup, Grain, Period } from "../core/model/aggregate.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { type GroupsBuild, type LeafUse, timeGrainOf, timeGroups, withGroups } from "./groups-build.js";
import { aggregated } from "./leaves.js";
import { groupName, PERIOD, type PlanStep, TIME } from "./plan.js";
import { filtersOf, splitByTime } from "./row-filters.js";
import { periodsOf, timedRows } from "./time-spine.js";

/** An offset of a metric: a number of periods back, or the start of the period that holds the time. */
export interface Offset {
  readonly window?: Period | undefined;
  readonly toGrain?: Grain | undefined;
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

interface InPeriods {
  readonly periods: PlanStep;
  readonly grain: Grain;
  readonly offset: Offset;
  /** The column with the period of a row. */
  readonly time: string;
}

/** Periods beside the rows that stand in them by an offset. */
export function inOtherPeriods(
  build: GroupsBuild,
  rows: PlanStep,
  { periods, grain, offset, time }: InPeriods,
): PlanStep {
  return {
    kind: "join",
    rows: periods,
    others: [
      {
        rows,
        unmatched: "removed",
        on: (period, row) => {
          const then = offsetPeriod(build, period.value(PERIOD), grain, offset);
          return build.dialect.infix(then, "=", row.value(time));
        },
      },
    ],
  };
}

/** A simple metric in other periods, joined before its rows are aggregated: the offset's grain is finer than the groups. */
export function offsetRows(build: GroupsBuild, use: LeafUse, offset: Offset): PlanStep {
  const { leaf } = use;
  const grain = timeGrainOf(build, leaf);
  const { onTime, others } = splitByTime(leaf, filtersOf(build, use));
  const isStart = offset.toGrain !== undefined && timeGroups(build, leaf).length > 0;
  const periods = periodsOf(build, { leaf, grain, filters: onTime, isStart });
  const rows = timedRows(build, leaf, build.grouping.groups, others);
  return aggregated(build, use, inOtherPeriods(build, rows, { periods, grain, offset, time: TIME }));
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
  if (finest === undefined) throw new Error("An offset needs a time group.");
  // Other time groups follow from the finest.
  const isLonger = ({ key }: AskedGroup): boolean =>
    key !== finest.key && times.some((time) => time.key === key);
  const groups = build.grouping.groups.filter((group) => !isLonger(group));
  const { onTime } = splitByTime(leaf, filtersOf(build, use));
  const periods = periodsOf(build, { leaf, grain: finest.grain, filters: onTime });
  const result = inner({ ...withGroups(build, groups), ignoresTime: true });
  const time = groupName(finest);
  return inOtherPeriods(build, result, { periods, grain: finest.grain, offset, time });
}

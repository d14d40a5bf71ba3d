import {
  type AskedGroup,
  compareGrains,
  type Grain,
  type Leaf,
  METRIC_TIME,
  type TimeSpine,
} from "../core/model/aggregate.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { dimensionOf, type GroupsBuild, isTimeOf, named, timeGrainOf, timeGroups } from "./groups-build.js";
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
import { readRelation } from "./read-relation.js";
import { allOf, filtered, filteredRows, groupOf, neededDimensions, type RowFilters } from "./row-filters.js";
import { isRange, periodName, rowSet } from "./row-set.js";

/** The time spine whose periods are not longer than a grain: the coarsest of these. */
function spineFor(spines: readonly TimeSpine[], grain: Grain): TimeSpine {
  const [found] = spines
    .filter((spine) => compareGrains(spine.grain, grain) <= 0)
    .toSorted((a, b) => compareGrains(b.grain, a.grain));
  if (found === undefined) throw new Error("An aggregate needs a time spine that it does not have.");
  return found;
}

interface Periods {
  readonly leaf: Leaf;
  readonly grain: Grain;
  /** Conditions on time are conditions on the days of the spine. */
  readonly filters: RowFilters;
  /** Only periods that begin one of a group. */
  readonly isStart?: boolean;
}

/** Periods of a grain with the groups that are the time of a leaf. */
export function periodsOf(build: GroupsBuild, { leaf, grain, filters, isStart = false }: Periods): PlanStep {
  const { dialect, grouping, types } = build;
  const groups = timeGroups(build, leaf);
  const needed = [grain, ...groups.map((group) => group.grain), ...filterGrains(build, leaf, filters)];
  const spine = spineFor(grouping.aggregate.spines, needed.toSorted(compareGrains)[0] ?? "day");
  const day = named(types.get(spine.relation) ?? [], spine.value);
  const period =
    (to: Grain): ColumnExpression =>
    ({ value }) =>
      dialect.truncated(value(spine.value), to, day);
  const { rows, columns } = timesOfSpine(build, leaf, spine, filters);
  const days = filtered(build, rows, filters, {
    columns,
    resolve: (read, _, asked = timeGrainOf(build, leaf)) =>
      dialect.comparedTime(period(asked)(read), asked, day),
  });
  const begins = groups.map(
    (group): ColumnExpression =>
      (read) =>
        dialect.infix(period(group.grain)(read), "=", period(grain)(read)),
  );
  const conditions = [...days.conditions, ...(isStart ? [allOf(begins, " OR ")] : [])];
  const keys = groups.map((group) => [groupName(group), period(group.grain)] as const);
  const shown = compute({ ...days, conditions }, [PERIOD, period(grain)], ...keys);
  return aggregate(
    shown,
    shown.columns.map(([name]) => name),
  );
}

/** The days of a spine, also under the names by which conditions compare them. */
function timesOfSpine(
  build: GroupsBuild,
  leaf: Leaf,
  { relation, value: name, grain }: TimeSpine,
  { conditions }: RowFilters,
): { readonly rows: PlanStep; readonly columns: readonly ResultColumn[] } {
  const { dialect, types } = build;
  const day = named(types.get(relation) ?? [], name);
  const rows = readRelation(build, relation, [[name, name]]);
  if (conditions.length === 0) return { rows, columns: [day] };
  const time = timeColumn(build, leaf);
  const names = [...new Set([METRIC_TIME, leaf.time ?? METRIC_TIME])].filter((each) => each !== name);
  const base: ColumnExpression = ({ value }) => dialect.truncated(value(name), grain, day);
  const times = names.flatMap((each): Named<ColumnExpression> => [
    [each, (read) => dialect.asTimeOf(base(read), time)],
    [periodName(each), base],
  ]);
  const columns = names.flatMap((each) => [
    { ...time, name: each },
    { ...dialect.periodColumn(grain), name: periodName(each) },
  ]);
  return { rows: compute(rows, [name, name], ...times), columns: [day, ...columns] };
}

/** Grains that filters on the time of a leaf compare: a range its days, operators its own periods. */
function filterGrains(build: GroupsBuild, leaf: Leaf, { filters, conditions }: RowFilters): readonly Grain[] {
  const own = timeGrainOf(build, leaf);
  const fixed = filters.flatMap((filter) =>
    filter.flatMap((part) => (typeof part === "string" ? [] : [part.grain ?? own])),
  );
  return [...fixed, ...conditions.map(({ condition }) => (isRange(condition) ? "day" : own))];
}

function timeColumn(build: GroupsBuild, { fact, time }: Leaf): ResultColumn {
  const place = dimensionOf(build, METRIC_TIME, time).places.find((each) => each.fact === fact);
  return named(build.types.get(fact) ?? [], place?.value ?? "");
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

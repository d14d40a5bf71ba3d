import {
  type AskedGroup,
  compareGrains,
  type Grain,
  type Leaf,
  METRIC_TIME,
  type Period,
  type TimeSpine,
} from "../core/model/aggregate.js";
import type { Selection } from "../core/model/query.js";
import { join, sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import type { GroupedSource, Part } from "../core/warehouse/aggregate-dialect.js";
import {
  filteredRows,
  filtersOf,
  fixedCondition,
  groupBy,
  groupColumn,
  groupName,
  groupOf,
  isTimeOf,
  type LeafUse,
  neededDimensions,
  type RowFilters,
  splitByTime,
  timeGrainOf,
  timeGroups,
  whereClause,
} from "./leaves.js";
import type { PlanStep } from "./plan.js";
import { renderPlan } from "./render-plan.js";
import {
  type GroupsBuild,
  dimensionOf,
  isRange,
  named,
  onRows,
  periodName,
  relationRows,
  rowSet,
} from "./row-set.js";

/** An offset of a metric: a number of periods back, or the start of the period that holds the time. */
export interface Offset {
  readonly window?: Period | undefined;
  readonly toGrain?: Grain | undefined;
}

/** The time spine whose periods are not longer than a grain: the coarsest of these. */
function spineFor(spines: readonly TimeSpine[], grain: Grain): TimeSpine | undefined {
  return spines
    .filter((spine) => compareGrains(spine.grain, grain) <= 0)
    .toSorted((a, b) => compareGrains(b.grain, a.grain))[0];
}

interface Periods {
  readonly leaf: Leaf;
  /** The grain by which they are joined, as `j`; time groups are `t` with their positions. */
  readonly grain: Grain;
  readonly groups: readonly { readonly i: number; readonly grain: Grain }[];
  readonly filters: RowFilters;
  /** Only periods of `grain` that begin one of a group. */
  readonly isStart?: boolean;
}

/** Periods of the time spine, as `p`. Conditions on time are conditions on its days. */
export function periodsOf(
  build: GroupsBuild,
  { leaf, grain, groups, filters, isStart = false }: Periods,
): Part {
  const { dialect, grouping, types } = build;
  const { identifier } = dialect;
  const needed = [grain, ...groups.map((group) => group.grain), ...filterGrains(build, leaf, filters)];
  const spine = spineFor(grouping.aggregate.spines, finestOf(needed));
  if (spine === undefined) throw new Error("An aggregate needs a time spine that it does not have.");
  const day = named(types.get(spine.relation) ?? [], spine.value);
  const time = timeColumn(build, leaf);
  const value = sql<Selection>`s.${identifier(spine.value)}`;
  const period = (to: Grain): Part => dialect.truncated(value, to, day);
  const shown = [METRIC_TIME, leaf.time ?? METRIC_TIME];
  const times = [...new Set(shown)].filter((name) => name !== spine.value);
  const base = dialect.truncated(value, spine.grain, day);
  const list = [
    sql`${value} AS ${identifier(spine.value)}`,
    ...times.flatMap((name) => [
      sql`${dialect.asTimeOf(base, time)} AS ${identifier(name)}`,
      sql`${base} AS ${identifier(periodName(name))}`,
    ]),
  ];
  const rows = sql`(SELECT ${join(list, ", ")} FROM ${relationRows(build, spine.relation, [spine.value])} AS s) AS s`;
  const columns = [
    day,
    ...times.flatMap((name) => [
      { ...time, name },
      { ...dialect.periodColumn(spine.grain), name: periodName(name) },
    ]),
  ];
  const resolve = (_: string, to: Grain | undefined): Part => {
    const asked = to ?? timeGrainOf(build, leaf);
    return dialect.comparedTime(period(asked), asked, day);
  };
  const starts = groups.map((group) => dialect.infix(period(group.grain), "=", period(grain)));
  const conditions = [
    ...filters.conditions.map(({ condition, position }) =>
      dialect.where(onRows(condition, columns), position, columns),
    ),
    ...filters.filters.map((filter) => fixedCondition(filter, resolve)),
    ...(isStart ? [sql<Selection>`(${join(starts, " OR ")})`] : []),
  ];
  const names = ["j", ...groups.map(({ i }) => `t${String(i)}`)];
  const values = [grain, ...groups.map((group) => group.grain)].map(
    (to, i) => sql`${period(to)} AS ${identifier(names[i] ?? "")}`,
  );
  const keys = names.map((name) => sql<Selection>`q.${identifier(name)}`);
  return sql`(SELECT ${join(
    keys.map((key, i) => sql`${key} AS ${identifier(names[i] ?? "")}`),
    ", ",
  )} FROM (SELECT ${join(values, ", ")} FROM ${rows}${whereClause(conditions)}) AS q${groupBy(keys)}) AS p`;
}

/** Grains that filters on the time of a leaf compare: a range its days, operators its own periods. */
function filterGrains(build: GroupsBuild, leaf: Leaf, { filters, conditions }: RowFilters): readonly Grain[] {
  const own = timeGrainOf(build, leaf);
  const fixed = filters.flatMap((filter) =>
    filter.flatMap((part) => (typeof part === "string" ? [] : [part.grain ?? own])),
  );
  return [...fixed, ...conditions.map(({ condition }) => (isRange(condition) ? "day" : own))];
}

function finestOf(grains: readonly Grain[]): Grain {
  return grains.toSorted(compareGrains)[0] ?? "day";
}

function timeColumn(build: GroupsBuild, { fact, time }: Leaf): ResultColumn {
  const place = dimensionOf(build, METRIC_TIME, time).places.find((each) => each.fact === fact);
  return named(build.types.get(fact) ?? [], place?.value ?? "");
}

/** The period of the rows that stand in another period by an offset. */
export function offsetPeriod(
  build: GroupsBuild,
  period: Part,
  grain: Grain,
  { window, toGrain }: Offset,
): Part {
  const { dialect } = build;
  if (window !== undefined) return dialect.earlier(period, window, grain);
  return toGrain === undefined ? period : dialect.truncated(period, toGrain, dialect.periodColumn(grain));
}

/** A simple metric in other periods, joined before its rows are aggregated: the offset's grain is finer than the groups. */
export function offsetRows(
  build: GroupsBuild,
  use: LeafUse,
  groups: readonly AskedGroup[],
  offset: Offset,
): GroupedSource {
  const { leaf } = use;
  const { dialect } = build;
  const { identifier } = dialect;
  const times = timeGroups(build, leaf, groups);
  const grain = timeGrainOf(build, leaf);
  const { onTime, others } = splitByTime(leaf, filtersOf(build, use));
  const isStart = offset.toGrain !== undefined && times.length > 0;
  const periods = periodsOf(build, { leaf, grain, groups: times, filters: onTime, isStart });
  const then = offsetPeriod(build, sql`p.${identifier("j")}`, grain, offset);
  const rows = timedRows(build, leaf, groups, others);
  const keys = groups.map((_, i) => periodGroup(build, leaf, groups, i));
  const value = leaf.value === undefined ? null : sql<Selection>`r.${identifier("v0")}`;
  const total = dialect.aggregate(leaf, value, valueColumn(build, leaf), null);
  const list = [
    ...keys.map((key, i) => sql`${key} AS ${groupColumn(build, i)}`),
    sql`${total} AS ${identifier("a0")}`,
  ];
  return {
    select: sql`SELECT ${join(list, ", ")} FROM ${periods} JOIN ${rows} ON ${dialect.infix(then, "=", sql`r.${identifier("d")}`)}${groupBy(keys)}`,
    columns: ["a0"],
  };
}

/** A group: of a time that of the period, else that of the row. */
export function periodGroup(build: GroupsBuild, leaf: Leaf, groups: readonly AskedGroup[], i: number): Part {
  const isTime = isTimeOf(leaf, groups[i]?.name ?? "");
  return isTime ? sql`p.${build.dialect.identifier(`t${String(i)}`)}` : sql`r.${groupColumn(build, i)}`;
}

export function valueColumn(build: GroupsBuild, { fact, value }: Leaf): ResultColumn | null {
  return value === undefined ? null : named(build.types.get(fact) ?? [], value);
}

/** The rows of a leaf as `r`: their time as `d`, their value as `v0`, and the groups that are not their time. */
export function timedRows(
  build: GroupsBuild,
  leaf: Leaf,
  groups: readonly AskedGroup[],
  filters: RowFilters,
): Part {
  const others = groups.flatMap((group, i) => (isTimeOf(leaf, group.name) ? [] : [{ group, i }]));
  const needed = neededDimensions(
    filters,
    others.map(({ group }) => group),
  );
  const rows = rowSet(build, {
    fact: leaf.fact,
    time: leaf.time,
    dimensions: [...needed, METRIC_TIME],
    values: leaf.value === undefined ? [] : [leaf.value],
  });
  const time = { key: "", name: METRIC_TIME, grain: timeGrainOf(build, leaf) };
  const timed: PlanStep = {
    kind: "compute",
    rows: filteredRows(build, rows, filters),
    columns: [
      ["d", groupOf(build, rows, time)],
      ...(leaf.value === undefined ? [] : [["v0", rows.value(leaf.value).name] as const]),
      ...others.map(({ group, i }) => [groupName(i), groupOf(build, rows, group)] as const),
    ],
  };
  return sql`(${renderPlan(timed, build.dialect)}) AS r`;
}

/** What is asked in other periods. */
export interface InOtherPeriods extends Pick<LeafUse, "leaf" | "filters"> {
  readonly offset: Offset;
}

/** A result by its finest time group in other periods: that of the spine, minus the offset. */
export function offsetResult(
  build: GroupsBuild,
  { leaf, filters, offset }: InOtherPeriods,
  groups: readonly AskedGroup[],
  inner: (build: GroupsBuild, groups: readonly AskedGroup[]) => GroupedSource,
): GroupedSource {
  const { dialect } = build;
  const { identifier } = dialect;
  const times = timeGroups(build, leaf, groups);
  const [finest] = times;
  if (finest === undefined) throw new Error("An offset needs a time group.");
  // Other time groups follow from the finest.
  const asked = groups.filter((_, i) => i === finest.i || !times.some((time) => time.i === i));
  const source = inner({ ...build, ignoresTime: true }, asked);
  const { onTime } = splitByTime(leaf, filtersOf(build, { leaf, filters }));
  const periods = periodsOf(build, { leaf, grain: finest.grain, groups: times, filters: onTime });
  const position = (group: AskedGroup | undefined): number => asked.findIndex((each) => each === group);
  const list = [
    ...groups.map((group, i) => {
      const isTime = times.some((time) => time.i === i);
      const key = isTime
        ? sql`p.${identifier(`t${String(i)}`)}`
        : sql`r.${groupColumn(build, position(group))}`;
      return sql<Selection>`${key} AS ${groupColumn(build, i)}`;
    }),
    ...source.columns.map((name) => sql`r.${identifier(name)} AS ${identifier(name)}`),
  ];
  const then = offsetPeriod(build, sql`p.${identifier("j")}`, finest.grain, offset);
  const now = sql`r.${groupColumn(build, position(groups[finest.i]))}`;
  return {
    select: sql`SELECT ${join(list, ", ")} FROM ${periods} JOIN (${source.select}) AS r ON ${dialect.infix(then, "=", now)}`,
    columns: source.columns,
  };
}

import type { AskedGroup, Grain, Leaf } from "../core/model/aggregate.js";
import { columnsOf, mapConditions, type Selection } from "../core/model/query.js";
import { constant, join, projectParts, sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import type { GroupedSource, Part } from "../core/warehouse/aggregate-dialect.js";
import {
  filtersOf,
  fixedCondition,
  groupColumn,
  isTimeOf,
  type LeafUse,
  splitByTime,
  timeGroups,
  whereClause,
} from "./leaves.js";
import { type GroupsBuild, isOnlyOn, type RowColumn, rowSet } from "./row-set.js";
import { periodGroup, periodsOf } from "./time-spine.js";

/** A result with a row for every period, also for those without any; `filters` of the request hold for the new rows too. */
export function onSpine(
  build: GroupsBuild,
  leaf: Leaf,
  groups: readonly AskedGroup[],
  source: GroupedSource,
  use: LeafUse,
): GroupedSource {
  const { dialect } = build;
  const { identifier } = dialect;
  const times = timeGroups(build, leaf, groups);
  const [finest] = times;
  if (finest === undefined) return source;
  const { onTime } = splitByTime(leaf, filtersOf(build, use));
  const periods = periodsOf(build, { leaf, grain: finest.grain, groups: times, filters: onTime });
  const columns = [
    ...groups.map((_, i) => groupColumn(build, i)),
    ...source.columns.map((name) => identifier(name)),
  ];
  const rows = joinedRows(build, columns, source.select);
  const on = times.map(({ i }) =>
    dialect.infix(sql`p.${identifier(`t${String(i)}`)}`, "=", sql`r.${groupColumn(build, i)}`),
  );
  const list = [
    ...groups.map((_, i) => sql`${periodGroup(build, leaf, groups, i)} AS ${groupColumn(build, i)}`),
    ...source.columns.map((name) => sql`r.${identifier(name)} AS ${identifier(name)}`),
  ];
  const all = sql<Selection>`SELECT ${join(list, ", ")} FROM ${periods} LEFT JOIN ${rows} ON ${join(on, " AND ")}`;
  return {
    select: sql`SELECT s.* FROM (${all}) AS s${reapplied(build, leaf, groups)}`,
    columns: source.columns,
  };
}

/** Columns of a result as `r`, the right side of a left join. */
export function joinedRows({ dialect }: GroupsBuild, columns: readonly Part[], select: Part): Part {
  const list = columns.map((name) => sql<Selection>`${dialect.joinedValue(sql`k.${name}`)} AS ${name}`);
  return sql`(SELECT ${join(list, ", ")} FROM (${select}) AS k) AS r`;
}

/** A value of a leaf, or what stands for null. */
export function filledValue({ fill }: Leaf, value: Part): Part {
  if (fill === undefined) return value;
  const number = Number.isInteger(fill) ? constant(fill) : projectParts([String(fill)]);
  return sql`coalesce(${value}, ${number})`;
}

/** Filters on nothing but what is grouped by, for rows of `s` that the spine has added: other groups are null there. */
export function reapplied(build: GroupsBuild, leaf: Leaf, groups: readonly AskedGroup[]): Part {
  const { dialect } = build;
  const { others } = splitByTime(leaf, filtersOf(build, { leaf, filters: [] }));
  const { fact, time } = leaf;
  const dimensions = groups.map(({ name }) => name).filter((name) => !isTimeOf(leaf, name));
  const rows = rowSet(build, { fact, time, dimensions, values: [] });
  const grouped = (name: string, grain: Grain | undefined): number =>
    dimensions.includes(name)
      ? groups.findIndex(
          (group) => group.name === name && group.grain === (grain ?? rows.dimension(name).grain),
        )
      : -1;
  const conditions = others.conditions.flatMap(({ condition, position }) => {
    if (!isOnlyOn(condition, (name) => grouped(name, undefined) >= 0)) return [];
    const nameOf = (name: string): string => `g${String(grouped(name, undefined))}`;
    const columns = columnsOf(condition).map((name) => ({
      ...shownColumn(build, groups[grouped(name, undefined)]?.grain, rows.dimension(name)),
      name: nameOf(name),
    }));
    const onGroups = mapConditions([condition], (each) => ({ ...each, column: nameOf(each.column) }));
    return onGroups.map((each) => dialect.where(each, position, columns));
  });
  const filters = others.filters.filter((filter) =>
    filter.every((part) => typeof part === "string" || grouped(part.dimension, part.grain) >= 0),
  );
  const resolve = (name: string, asked: Grain | undefined): Part => {
    const { column, grain: own } = rows.dimension(name);
    const value = sql<Selection>`s.${groupColumn(build, grouped(name, asked))}`;
    const grain = asked ?? own;
    return grain === undefined ? value : dialect.comparedTime(value, grain, column);
  };
  return whereClause([...conditions, ...filters.map((filter) => fixedCondition(filter, resolve))]);
}

/** The column of a group. */
function shownColumn(
  { dialect }: GroupsBuild,
  grain: Grain | undefined,
  { column }: RowColumn,
): ResultColumn {
  return grain === undefined ? column : dialect.periodColumn(grain);
}

import type { AskedGroup, Leaf } from "../core/model/aggregate.js";
import type { Selection } from "../core/model/query.js";
import { join, sql } from "../core/warehouse/sql.js";
import type { GroupedSource, Part } from "../core/warehouse/aggregate-dialect.js";
import {
  filtersOf,
  groupBy,
  groupColumn,
  isTimeOf,
  type LeafUse,
  type RowFilters,
  splitByTime,
  timeGrainOf,
  timeGroups,
} from "./leaves.js";
import type { GroupsBuild } from "./row-set.js";
import { filledValue, joinedRows, reapplied } from "./on-spine.js";
import type { TimeFilters } from "./period-positions.js";
import { runningTotals } from "./running-totals.js";
import { type Offset, offsetPeriod, periodGroup, periodsOf } from "./time-spine.js";

/** A cumulative metric: for each period of the spine the rows up to it, then one value for each longer period. */
export function cumulativeLeaf(
  build: GroupsBuild,
  use: LeafUse,
  groups: readonly AskedGroup[],
  offset: Offset | null,
): GroupedSource {
  const { leaf } = use;
  const { cumulative } = leaf;
  const { dialect } = build;
  const { identifier } = dialect;
  if (cumulative === undefined) throw new Error("Not a cumulative measure.");
  const times = timeGroups(build, leaf, groups);
  const grain = timeGrainOf(build, leaf);
  const { onTime, others } = splitByTime(leaf, filtersOf(build, use));
  const filters = { onTime, others };
  const totals =
    offset === null
      ? runningTotals(build, leaf, groups, filters)
      : offsetTotals(build, leaf, groups, filters, offset);
  const daily = filled(build, leaf, groups, onTime, totals);
  if (times[0]?.grain === grain)
    return {
      select: sql`SELECT ${join([...groups.map((_, i) => sql`y.${groupColumn(build, i)}`), sql`y.${identifier("a0")}`], ", ")} FROM (${daily}) AS y`,
      columns: ["a0"],
    };
  const keys = groups.map((_, i) => sql<Selection>`y.${groupColumn(build, i)}`);
  const value = sql<Selection>`y.${identifier("a0")}`;
  const { periodAggregation } = cumulative;
  const total =
    periodAggregation === "average"
      ? dialect.aggregate(
          { kind: "leaf", fact: "", filters: [], aggregation: "average" },
          dialect.operand(value, true),
          null,
          null,
        )
      : dialect.atEnd(periodAggregation, value, sql`y.${identifier("j")}`);
  const list = [
    ...keys.map((key, i) => sql`${key} AS ${groupColumn(build, i)}`),
    sql`${total} AS ${identifier("a0")}`,
  ];
  return { select: sql`SELECT ${join(list, ", ")} FROM (${daily}) AS y${groupBy(keys)}`, columns: ["a0"] };
}

/** What stands for null does so in each period of the spine, before longer periods take one of them. */
function filled(
  build: GroupsBuild,
  leaf: Leaf,
  groups: readonly AskedGroup[],
  onTime: RowFilters,
  totals: Part,
): Part {
  const { identifier } = build.dialect;
  if (leaf.onSpine !== true && leaf.fill === undefined) return totals;
  const [period, value] = [identifier("j"), filledValue(leaf, sql`r.${identifier("a0")}`)];
  const keys = groups.map((_, i) => groupColumn(build, i));
  if (leaf.onSpine !== true) {
    const list = [period, ...keys].map((column) => sql<Selection>`r.${column}`);
    return sql`SELECT ${join(list, ", ")}, ${value} AS ${identifier("a0")} FROM (${totals}) AS r`;
  }
  const grain = timeGrainOf(build, leaf);
  const periods = periodsOf(build, { leaf, grain, groups: timeGroups(build, leaf, groups), filters: onTime });
  const list = groups.map(
    (_, i) => sql<Selection>`${periodGroup(build, leaf, groups, i)} AS ${groupColumn(build, i)}`,
  );
  const rows = joinedRows(build, [period, ...keys, identifier("a0")], totals);
  const all = sql<Selection>`SELECT p.${period} AS ${period}, ${join([...list, sql`${value} AS ${identifier("a0")}`], ", ")} FROM ${periods} LEFT JOIN ${rows} ON ${build.dialect.infix(sql`p.${period}`, "=", sql`r.${period}`)}`;
  return sql`SELECT s.* FROM (${all}) AS s${reapplied(build, leaf, groups)}`;
}

const NOTHING: RowFilters = { filters: [], conditions: [] };

/** The accumulated value of another period for each period of the spine. */
function offsetTotals(
  build: GroupsBuild,
  leaf: Leaf,
  groups: readonly AskedGroup[],
  { onTime, others }: TimeFilters,
  offset: Offset,
): Part {
  const { dialect } = build;
  const { identifier } = dialect;
  const grain = timeGrainOf(build, leaf);
  const untimed = groups.map((group): AskedGroup =>
    isTimeOf(leaf, group.name) ? { ...group, grain } : group,
  );
  const inner = runningTotals(build, leaf, untimed, { onTime: NOTHING, others });
  const times = timeGroups(build, leaf, groups);
  const periods = periodsOf(build, { leaf, grain, groups: times, filters: onTime });
  const period = sql<Selection>`p.${identifier("j")}`;
  const list = [
    sql`${period} AS ${identifier("j")}`,
    ...groups.map((_, i) => sql`${periodGroup(build, leaf, groups, i)} AS ${groupColumn(build, i)}`),
    sql`r.${identifier("a0")} AS ${identifier("a0")}`,
  ];
  return sql`SELECT ${join(list, ", ")} FROM ${periods} JOIN (${inner}) AS r ON ${dialect.infix(offsetPeriod(build, period, grain, offset), "=", sql`r.${identifier("j")}`)}`;
}

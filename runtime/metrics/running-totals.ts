import type { AskedGroup, Leaf } from "../core/model/aggregate.js";
import type { Selection } from "../core/model/query.js";
import { EMPTY, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { groupBy, groupColumn, timeGrainOf } from "./leaves.js";
import {
  columnsOf,
  comma,
  met,
  metKeys,
  named,
  ownGroups,
  partitionBy,
  placed,
  positions,
  type TimeFilters,
  type Totals,
} from "./period-positions.js";
import type { GroupsBuild } from "./row-set.js";
import { offsetPeriod, timedRows, valueColumn } from "./time-spine.js";

/**
 * The accumulated value of each period of the spine, `j`, and group that has a row to accumulate. Periods have positions, and each row
 * knows those that it counts for. A join by a range instead compares every period with every row: with ten years of days, 1,000 groups
 * and a million rows most requests took longer than 20 s on both engines.
 */
export function runningTotals(
  build: GroupsBuild,
  leaf: Leaf,
  groups: readonly AskedGroup[],
  filters: TimeFilters,
): Part {
  const totals: Totals = { build, leaf, groups, filters };
  if (leaf.aggregation === "count_distinct") return ofDistinct(totals);
  const { window } = leaf.cumulative ?? {};
  const time = sql<Selection>`e.${build.dialect.identifier("j")}`;
  const frame =
    window === undefined ? null : build.dialect.windowFrame(time, window, timeGrainOf(build, leaf));
  if (window !== undefined && frame === null) return ofRows(totals);
  const { rows, running } = accumulated(totals);
  if (running === null) return ofRows(totals);
  return frame === null ? ofSteps(totals, rows, running) : ofFrames(totals, rows, running, frame);
}

/** An aggregation of a column over a frame. */
type Running = (value: Part, over: Part) => Part;

/** What periods accumulate, as `r`: totals by time and group, or rows; and how over a frame, which not each aggregation can. */
function accumulated(totals: Totals): { readonly rows: Part; readonly running: Running | null } {
  const { build, leaf, groups, filters } = totals;
  const { dialect } = build;
  const { identifier } = dialect;
  const rows = timedRows(build, leaf, groups, filters.others);
  const column = valueColumn(build, leaf);
  if (leaf.aggregation === "average")
    return { rows, running: (value, over) => sql`${dialect.aggregate(leaf, value, column, null)}${over}` };
  const keys = [identifier("d"), ...ownGroups(totals)];
  const v0 = sql<Selection>`r.${identifier("v0")}`;
  if (dialect.ofTotals(leaf, v0, column, EMPTY) === null) return { rows, running: null };
  const total = dialect.aggregate(leaf, leaf.value === undefined ? null : v0, column, null);
  const by = groupBy(keys.map((key) => sql<Selection>`r.${key}`));
  return {
    rows: sql`(SELECT ${columnsOf("r", keys)}, ${total} AS ${identifier("v0")} FROM ${rows}${by}) AS r`,
    running: (value, over) => dialect.ofTotals(leaf, value, column, over) ?? EMPTY,
  };
}

/** An aggregation that needs the rows themselves. */
function ofRows(totals: Totals): Part {
  const { build, leaf, groups, filters } = totals;
  const { dialect } = build;
  const { identifier } = dialect;
  const value = leaf.value === undefined ? null : sql<Selection>`r.${identifier("v0")}`;
  const rows = timedRows(build, leaf, groups, filters.others);
  const total = dialect.aggregate(leaf, value, valueColumn(build, leaf), null);
  const keys = metKeys(totals);
  return sql`SELECT ${named(totals, keys)}, ${total} AS ${identifier("a0")} FROM ${met(totals, placed(totals, rows, value ?? sql`1`, null))}${groupBy(keys)}`;
}

/** Distinct values: each adds one where it begins to count, and takes it away where it ends; where it comes again before, the later row goes on. */
function ofDistinct(totals: Totals): Part {
  const { build, leaf, groups, filters } = totals;
  const { identifier, eachNumber, asCount, infix, functionName } = build.dialect;
  const [sum, isFirst] = [functionName("sum"), infix(sql`n`, "=", sql`0`)];
  const [x, y, v0] = [identifier("x"), identifier("y"), identifier("v0")];
  const own = ownGroups(totals);
  const once = columnsOf("r", [identifier("d"), ...own, v0]);
  const rows = sql<Selection>`(SELECT DISTINCT ${once} FROM ${timedRows(build, leaf, groups, filters.others)}) AS r`;
  const ends = eachNumber(placed(totals, rows, sql`r.${v0}`, [...own, v0]), sql`0`, sql`2`);
  const change = sql<Selection>`CASE WHEN ${isFirst} THEN 1 ELSE -1 END`;
  const known = sql<Selection>`CASE WHEN e.${v0} IS NULL THEN 0 ELSE ${change} END`;
  const at = sql<Selection>`CASE WHEN ${isFirst} THEN e.${x} ELSE e.${y} END`;
  const changes = sql<Selection>`(SELECT ${columnsOf("e", own)}${comma(own)}${at} AS ${x}, ${change} AS c, ${known} AS k FROM ${ends}) AS e`;
  const keys = [...own, x];
  const by = groupBy(keys.map((key) => sql<Selection>`e.${key}`));
  const summed = sql<Selection>`(SELECT ${columnsOf("e", keys)}, ${sum}(e.c) AS c, ${sum}(e.k) AS k FROM ${changes}${by}) AS r`;
  const over = sql<Selection>`(${partitionBy(own.map((key) => sql<Selection>`r.${key}`))}ORDER BY r.${x}`;
  const steps = sql<Selection>`(SELECT ${columnsOf("r", keys)}, ${functionName("max")}(r.${x}) OVER ${over} ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING) AS ${y}, ${sum}(r.c) OVER ${over}) AS c, ${asCount(sql`${sum}(r.k) OVER ${over})`)} AS ${v0} FROM ${summed}) AS f`;
  const held = sql<Selection>`(SELECT ${columnsOf("f", [...keys, y, v0])} FROM ${steps} WHERE ${infix(sql`f.c`, ">", sql`0`)}) AS e`;
  return sql`SELECT ${named(totals, metKeys(totals))}, r.${v0} AS ${identifier("a0")} FROM ${met(totals, held)}`;
}

/** Nothing leaves the totals within a partition: the value of a row is that of the periods until the next. */
function ofSteps(totals: Totals, rows: Part, running: Running): Part {
  const { build, leaf } = totals;
  const { identifier } = build.dialect;
  const { toGrain } = leaf.cumulative ?? {};
  const time = sql<Selection>`r.${identifier("d")}`;
  const start =
    toGrain === undefined ? [] : [offsetPeriod(build, time, timeGrainOf(build, leaf), { toGrain })];
  const own = ownGroups(totals);
  const partition = partitionBy([...own.map((key) => sql<Selection>`r.${key}`), ...start]);
  const value = running(
    sql<Selection>`r.${identifier("v0")}`,
    sql<Selection>` OVER (${partition}ORDER BY ${time})`,
  );
  return sql`SELECT ${named(totals, metKeys(totals))}, r.${identifier("v0")} AS ${identifier("a0")} FROM ${met(totals, placed(totals, rows, value, own))}`;
}

/** A frame over the rows, and over the periods that have one of them to count. */
function ofFrames(totals: Totals, rows: Part, running: Running, frame: Part): Part {
  const { build, groups } = totals;
  const { identifier, eachNumber, infix } = build.dialect;
  const own = ownGroups(totals);
  const [d, x, v0, j] = [identifier("d"), identifier("x"), identifier("v0"), identifier("j")];
  // The position before its first is the row itself.
  const each = eachNumber(
    placed(totals, rows, sql`r.${v0}`, own),
    infix(sql`e.${x}`, "-", sql`1`),
    sql`greatest(e.${x}, e.${identifier("y")})`,
  );
  const isPeriod = infix(sql`n`, ">=", sql`e.${x}`);
  const value = sql<Selection>`CASE WHEN ${isPeriod} THEN NULL ELSE e.${v0} END AS ${v0}`;
  const placing = sql<Selection>`SELECT ${columnsOf("e", [d, ...own])}, ${value}, CASE WHEN ${isPeriod} THEN n ELSE 0 END AS m FROM ${each}`;
  const [, ...keys] = metKeys(totals);
  const time = sql<Selection>`CASE WHEN ${infix(sql`r.m`, ">", sql`0`)} THEN p.${j} ELSE r.${d} END`;
  const both = sql<Selection>`SELECT ${named(totals, [time, ...keys])}, r.${v0} AS ${v0}, r.m AS m FROM (${placing}) AS r LEFT JOIN ${positions(totals)} ON ${infix(sql`r.m`, "=", sql`p.n`)}`;
  const shown = [j, ...groups.map((_, i) => groupColumn(build, i))];
  const partition = partitionBy(own.map((key) => sql<Selection>`e.${key}`));
  const over = sql<Selection>` OVER (${partition}${frame})`;
  const a0 = sql<Selection>`${running(sql`e.${v0}`, over)} AS ${identifier("a0")}`;
  return sql`SELECT ${columnsOf("f", [...shown, identifier("a0")])} FROM (SELECT ${columnsOf("e", shown)}, e.m AS m, ${a0} FROM (${both}) AS e) AS f WHERE ${infix(sql`f.m`, ">", sql`0`)}`;
}

import type { AskedGroup, Leaf } from "../core/model/aggregate.js";
import type { Selection } from "../core/model/query.js";
import { EMPTY, join, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { groupColumn, isTimeOf, type RowFilters, timeGrainOf, timeGroups } from "./leaves.js";
import type { GroupsBuild } from "./row-set.js";
import { offsetPeriod, periodGroup, periodsOf, timedRows } from "./time-spine.js";

/** Filters on the time of a leaf, which restrict the periods, and the others, which restrict the rows. */
export interface TimeFilters {
  readonly onTime: RowFilters;
  readonly others: RowFilters;
}

/** What running totals are made from. */
export interface Totals {
  readonly build: GroupsBuild;
  readonly leaf: Leaf;
  readonly groups: readonly AskedGroup[];
  readonly filters: TimeFilters;
}

/** Each row beside the periods that it counts for, as `e`: from position `x` on, below `y`. The next row with the same `until` ends them. */
export function placed(totals: Totals, rows: Part, value: Part, until: readonly Part[] | null): Part {
  const { identifier } = totals.build.dialect;
  const [d, x, y] = [identifier("d"), identifier("x"), identifier("y")];
  const partition = partitionBy((until ?? []).map((column) => sql<Selection>`r.${column}`));
  const over = sql<Selection>`(${partition}ORDER BY r.${d} ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)`;
  const { infix, functionName } = totals.build.dialect;
  const following = sql<Selection>`${functionName("max")}(b.${x}) OVER ${over}`;
  // Of no row ClickHouse has the maximum 0.
  const next = sql<Selection>`CASE WHEN ${infix(following, ">", sql`0`)} THEN least(b.${y}, ${following}) ELSE b.${y} END`;
  const below = until === null ? sql<Selection>`b.${y}` : next;
  const list = sql<Selection>`${columnsOf("r", [d, ...ownGroups(totals)])}, ${value} AS ${identifier("v0")}, b.${x} AS ${x}, ${below} AS ${y}`;
  return sql`(SELECT ${list} FROM ${rows} JOIN ${bounds(totals)} ON ${infix(sql`r.${d}`, "=", sql`b.${d}`)}) AS e`;
}

/** The periods that each time of the rows, `d`, counts for: from position `x` on, below `y`; as `b`. */
function bounds(totals: Totals): Part {
  const { build, leaf, filters } = totals;
  const { dialect } = build;
  const { identifier } = dialect;
  const [d, x, y] = [identifier("d"), identifier("x"), identifier("y")];
  const grain = timeGrainOf(build, leaf);
  const { window, toGrain } = leaf.cumulative ?? {};
  const j = sql<Selection>`p.${identifier("j")}`;
  const start =
    window === undefined ? offsetPeriod(build, j, grain, { toGrain }) : dialect.earlier(j, window, grain);
  const times = sql<Selection>`SELECT DISTINCT r.${d} AS ${d}, 0 AS p, r.${d} AS k, r.${d} AS l FROM ${timedRows(build, leaf, [], filters.others)}`;
  const periods = sql<Selection>`SELECT ${j} AS ${d}, 1 AS p, ${j} AS k, ${start} AS l FROM ${periodsFor(totals)}`;
  const sum = dialect.functionName("sum");
  const before = sql<Selection>`${sum}(u.p) OVER (ORDER BY u.k, u.p ROWS UNBOUNDED PRECEDING)`;
  // The start of a window is not in it, that of a longer period is.
  const order = window === undefined ? sql`u.l, u.p DESC` : sql`u.l, u.p`;
  const isAllTime = window === undefined && toGrain === undefined;
  const over = isAllTime ? EMPTY : sql`ORDER BY ${order} ROWS UNBOUNDED PRECEDING`;
  const counted = sql<Selection>`u.${d} AS ${d}, u.p AS p, ${dialect.infix(before, "+", sql`1`)} AS ${x}, ${dialect.infix(sql`${sum}(u.p) OVER (${over})`, "+", sql`1`)} AS ${y}`;
  const both = sql<Selection>`SELECT ${counted} FROM (${times} UNION ALL ${periods}) AS u WHERE u.${d} IS NOT NULL`;
  return sql`(SELECT w.${d} AS ${d}, w.${x} AS ${x}, w.${y} AS ${y} FROM (${both}) AS w WHERE ${dialect.infix(sql`w.p`, "=", sql`0`)}) AS b`;
}

function periodsFor({ build, leaf, groups, filters }: Totals): Part {
  const grain = timeGrainOf(build, leaf);
  return periodsOf(build, { leaf, grain, groups: timeGroups(build, leaf, groups), filters: filters.onTime });
}

/** The periods of the spine with their positions from 1 on, as `p`. */
export function positions(totals: Totals): Part {
  const { build, leaf, groups } = totals;
  const { identifier } = build.dialect;
  const j = identifier("j");
  const times = timeGroups(build, leaf, groups).map(({ i }) => identifier(`t${String(i)}`));
  return sql`(SELECT ${columnsOf("p", [j, ...times])}, ${build.dialect.functionName("row_number")}() OVER (ORDER BY p.${j}) AS n FROM ${periodsFor(totals)}) AS p`;
}

/** Rows, as `r`, with each period that they count for, as `p`. */
export function met(totals: Totals, rows: Part): Part {
  const { identifier, eachNumber, infix } = totals.build.dialect;
  const each = eachNumber(rows, sql`e.${identifier("x")}`, sql`e.${identifier("y")}`);
  const columns = columnsOf("e", [...ownGroups(totals), identifier("v0")]);
  return sql`(SELECT ${columns}, n AS m FROM ${each}) AS r JOIN ${positions(totals)} ON ${infix(sql`r.m`, "=", sql`p.n`)}`;
}

/** The period and the groups of what `met` gives. */
export function metKeys({ build, leaf, groups }: Totals): readonly Part[] {
  return [
    sql<Selection>`p.${build.dialect.identifier("j")}`,
    ...groups.map((_, i) => periodGroup(build, leaf, groups, i)),
  ];
}

/** Groups that rows have, and periods have not. */
export function ownGroups({ build, leaf, groups }: Totals): readonly Part[] {
  return groups.flatMap((group, i) => (isTimeOf(leaf, group.name) ? [] : [groupColumn(build, i)]));
}

/** A period and groups under the names of their columns. */
export function named({ build, groups }: Totals, keys: readonly Part[]): Part {
  const names = [build.dialect.identifier("j"), ...groups.map((_, i) => groupColumn(build, i))];
  return join(
    keys.map((key, i) => sql<Selection>`${key} AS ${names[i] ?? EMPTY}`),
    ", ",
  );
}

export const comma = (columns: readonly Part[]): Part => (columns.length === 0 ? EMPTY : sql`, `);

export function partitionBy(columns: readonly Part[]): Part {
  return columns.length === 0 ? EMPTY : sql`PARTITION BY ${join(columns, ", ")} `;
}

export function columnsOf(table: keyof typeof TABLES, columns: readonly Part[]): Part {
  return join(
    columns.map((column) => sql<Selection>`${TABLES[table]}.${column} AS ${column}`),
    ", ",
  );
}

const TABLES = { e: sql`e`, f: sql`f`, p: sql`p`, r: sql`r` };

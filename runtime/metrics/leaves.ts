import {
  type AskedGroup,
  compareGrains,
  type FixedFilter,
  type Grain,
  type Leaf,
  METRIC_TIME,
} from "../core/model/aggregate.js";
import {
  columnsOf,
  type Condition,
  isGroup,
  mapConditions,
  OWN_ROWS,
  type Selection,
} from "../core/model/query.js";
import { EMPTY, join, projectParts, sql } from "../core/warehouse/sql.js";
import type { GroupedSource, Part } from "../core/warehouse/aggregate-dialect.js";
import type { ColumnExpression, ReadColumns, PlanStep, ColumnValue } from "./plan.js";
import { renderPlan } from "./render-plan.js";
import { type GroupsBuild, dimensionOf, isOnlyOn, named, onRows, type RowSet, rowSet } from "./row-set.js";

/** A leaf within its metric: with the filters of all metrics around it. */
export interface LeafUse {
  readonly leaf: Leaf;
  readonly filters: readonly FixedFilter[];
  /** Name of the measure whose own conditions restrict it. */
  readonly measure: string;
}

/** A condition of the request with its position, by which its value is found. */
interface Placed {
  readonly condition: Condition;
  readonly position: number;
}

/** The conditions on the rows of all measures. */
export function rowConditions({ conditions }: GroupsBuild): readonly Placed[] {
  return conditions.flatMap((condition, position) =>
    condition.name === OWN_ROWS || measureOf(condition) !== undefined ? [] : [{ condition, position }],
  );
}

/** A measure's own conditions are in no group. */
const measureOf = (condition: Condition): string | undefined =>
  isGroup(condition) ? undefined : condition.measure;

/** Whether a dimension is the time of a leaf. */
export function isTimeOf({ time }: Leaf, name: string): boolean {
  return time !== undefined && (name === METRIC_TIME || name === time);
}

export const groupColumn = (build: GroupsBuild, i: number): Part => build.dialect.identifier(groupName(i));

/** The finest grain of a leaf's time. */
export function timeGrainOf(build: GroupsBuild, { time }: Leaf): Grain {
  return (time === undefined ? undefined : dimensionOf(build, time, time).grain) ?? "day";
}

/** SQL of a dimension among rows, as expressions of the project see it. */
type Resolve = (dimension: string, grain: Grain | undefined) => Part;

export function fixedCondition(filter: FixedFilter, resolve: Resolve): Part {
  return projectParts(
    filter.map((part) => (typeof part === "string" ? part : resolve(part.dimension, part.grain))),
  );
}

export function dimensionsIn(filters: readonly FixedFilter[]): readonly string[] {
  return filters.flatMap((filter) =>
    filter.flatMap((part) => (typeof part === "string" ? [] : [part.dimension])),
  );
}

/** The filters and conditions of rows. */
export interface RowFilters {
  readonly filters: readonly FixedFilter[];
  readonly conditions: readonly Placed[];
}

/** What holds for the rows of a leaf: the filters of its metric, of the saved query and of the request. */
export function filtersOf(
  build: GroupsBuild,
  { leaf, filters }: Pick<LeafUse, "leaf" | "filters">,
): RowFilters {
  const saved = build.grouping.aggregate.saved?.filters ?? [];
  const all = { filters: [...filters, ...saved], conditions: rowConditions(build) };
  return build.ignoresTime === true ? splitByTime(leaf, all).others : all;
}

/** Separates filters on nothing but the time of a leaf from the others. */
export function splitByTime(
  leaf: Leaf,
  all: RowFilters,
): { readonly onTime: RowFilters; readonly others: RowFilters } {
  const isOnTime = (filter: FixedFilter): boolean => {
    const names = dimensionsIn([filter]);
    return names.length > 0 && names.every((name) => isTimeOf(leaf, name));
  };
  const onTime = ({ condition }: Placed): boolean => isOnlyOn(condition, (name) => isTimeOf(leaf, name));
  return {
    onTime: { filters: all.filters.filter(isOnTime), conditions: all.conditions.filter(onTime) },
    others: {
      filters: all.filters.filter((filter) => !isOnTime(filter)),
      conditions: all.conditions.filter((each) => !onTime(each)),
    },
  };
}

/** The conditions on rows. */
function conditionsOn(
  build: GroupsBuild,
  rows: RowSet,
  { filters, conditions }: RowFilters,
): readonly ColumnExpression[] {
  const { dialect } = build;
  const resolve =
    (read: ReadColumns): Resolve =>
    (name, asked) => {
      const { name: shown, column, grain: own } = rows.dimension(name);
      const grain = asked ?? own;
      const value = read.value(shown);
      return grain === undefined
        ? value
        : dialect.comparedTime(dialect.truncated(value, grain, column), grain, column);
    };
  return [
    ...conditions.map((placed) => conditionOn(build, rows, placed)),
    ...filters.map(
      (filter): ColumnExpression =>
        (read) =>
          fixedCondition(filter, resolve(read)),
    ),
  ];
}

/** A condition of a request on rows. */
function conditionOn(
  { dialect }: GroupsBuild,
  rows: RowSet,
  { condition, position }: Placed,
): ColumnExpression {
  const compared = onRows(condition, rows.columns);
  return ({ nameOf }) => {
    const [own = compared] = mapConditions([compared], (each) => {
      const column = nameOf(each.column);
      return column === each.column ? each : { ...each, column };
    });
    const columns = columnsOf(compared).map((name) => ({ ...named(rows.columns, name), name: nameOf(name) }));
    return dialect.where(own, position, columns);
  };
}

/** Rows that filters select. */
export function filteredRows(build: GroupsBuild, rows: RowSet, all: RowFilters): PlanStep {
  return {
    kind: "filter",
    rows: rows.rows,
    conditions: conditionsOn(build, rows, all),
    compared: all.conditions.flatMap(({ condition }) => columnsOf(onRows(condition, rows.columns))),
  };
}

export function whereClause(conditions: readonly Part[]): Part {
  return conditions.length === 0 ? EMPTY : sql` WHERE ${join(conditions, " AND ")}`;
}

export function groupBy(columns: readonly Part[]): Part {
  return columns.length === 0 ? EMPTY : sql` GROUP BY ${join(columns, ", ")}`;
}

/** Dimensions that rows need for filters and groups. */
export function neededDimensions(filters: RowFilters, groups: readonly AskedGroup[]): readonly string[] {
  return [
    ...groups.map(({ name }) => name),
    ...filters.conditions.flatMap(({ condition }) => columnsOf(condition)),
    ...dimensionsIn(filters.filters),
  ];
}

/** Conditions on the rows of single measures: their positions by the measure's name. */
function conditionsOfMeasure({ conditions }: GroupsBuild, measure: string): readonly Placed[] {
  return conditions.flatMap((condition, position) =>
    measureOf(condition) === measure ? [{ condition, position }] : [],
  );
}

/** The column of a group, before and after its rows are aggregated. */
export const groupName = (i: number): string => `g${String(i)}`;

/** The column of a leaf that is aggregated with others. */
export const leafName = (i: number): string => `a${String(i)}`;

/** A value of a group among rows. */
export function groupOf({ dialect }: GroupsBuild, rows: RowSet, { name, grain }: AskedGroup): ColumnValue {
  const { column, name: shown } = rows.dimension(name);
  return grain === undefined ? shown : ({ value }) => dialect.truncated(value(shown), grain, column);
}

/** Leaves over the same rows, in one pass. Columns `a0`, `a1`, … */
export function aggregatedLeaves(
  build: GroupsBuild,
  uses: readonly LeafUse[],
  groups: readonly AskedGroup[],
): PlanStep {
  const [first] = uses;
  if (first === undefined) throw new Error("No leaf to aggregate.");
  const filters = filtersOf(build, first);
  const own = uses.map(({ measure }) => conditionsOfMeasure(build, measure));
  const values = uses.flatMap(({ leaf }) => leaf.value ?? []);
  const rows = rowSet(build, {
    fact: first.leaf.fact,
    time: first.leaf.time,
    dimensions: [
      ...neededDimensions(filters, groups),
      ...own.flat().flatMap(({ condition }) => columnsOf(condition)),
    ],
    values: [...new Set(values)],
  });
  return {
    kind: "aggregate",
    rows: {
      kind: "compute",
      rows: filteredRows(build, rows, filters),
      columns: [
        ...groups.map((group, i) => [groupName(i), groupOf(build, rows, group)] as const),
        ...uses.flatMap(({ leaf: { value } }, i) =>
          value === undefined ? [] : [[`v${String(i)}`, rows.value(value).name] as const],
        ),
        ...own.flatMap((placed, i) =>
          placed.length === 0
            ? []
            : [[`b${String(i)}`, allOf(placed.map((each) => conditionOn(build, rows, each)))] as const],
        ),
      ],
    },
    groups: groups.map((_, i) => groupName(i)),
    totals: uses.map(({ leaf }, i): [string, ColumnExpression] => [
      leafName(i),
      ({ value }) =>
        build.dialect.aggregate(
          leaf,
          leaf.value === undefined ? null : value(`v${String(i)}`),
          leaf.value === undefined ? null : rows.value(leaf.value).column,
          own[i]?.length ? value(`b${String(i)}`) : null,
        ),
    ]),
  };
}

const allOf =
  (conditions: readonly ColumnExpression[]): ColumnExpression =>
  (read) =>
    sql`(${join(
      conditions.map((each) => each(read)),
      " AND ",
    )})`;

/** The same as a statement. */
export function plainLeaves(
  build: GroupsBuild,
  uses: readonly LeafUse[],
  groups: readonly AskedGroup[],
): GroupedSource {
  return {
    select: renderPlan(aggregatedLeaves(build, uses, groups), build.dialect),
    columns: uses.map((_, i) => leafName(i)),
  };
}

/** A leaf that counts only the rows of the first or the last time of a period. */
export function nonAdditiveLeaf(
  build: GroupsBuild,
  { leaf, filters }: LeafUse,
  groups: readonly AskedGroup[],
): GroupedSource {
  const { nonAdditive, fact, time, value } = leaf;
  if (nonAdditive === undefined || value === undefined) throw new Error("Not a non-additive measure.");
  const { dialect } = build;
  const { identifier } = dialect;
  const { dimension, choice, groupings } = nonAdditive;
  const all = filtersOf(build, { leaf, filters });
  const dimensions = [...neededDimensions(all, groups), dimension, ...groupings];
  const rows = rowSet(build, { fact, time, dimensions, values: [value] });
  const grain = dimensionOf(build, dimension, time).grain ?? "day";
  const valued: PlanStep = {
    kind: "compute",
    rows: filteredRows(build, rows, all),
    columns: [
      ...groups.map((group, i) => [groupName(i), groupOf(build, rows, group)] as const),
      ["v0", rows.value(value).name],
      ["d", groupOf(build, rows, { key: "", name: dimension, grain })],
      ...groupings.map((name, i) => [`w${String(i)}`, rows.dimension(name).name] as const),
    ],
  };
  const inner = sql<Selection>`(${renderPlan(valued, dialect)}) AS y`;
  const windows = groupings.map((_, i) => sql<Selection>`y.${identifier(`w${String(i)}`)}`);
  const periods = groups.flatMap(({ name }, i) =>
    name === dimension || (name === METRIC_TIME && time === dimension)
      ? [sql<Selection>`y.${groupColumn(build, i)}`]
      : [],
  );
  // Of several periods of the dimension the first that is asked.
  const partition = [...periods.slice(0, 1), ...windows];
  const over = partition.length === 0 ? EMPTY : sql`PARTITION BY ${join(partition, ", ")}`;
  const bound = sql`${dialect.functionName(choice)}(y.${identifier("d")})`;
  const kept = [
    dialect.infix(sql`x.${identifier("d")}`, "=", sql`x.${identifier("m")}`),
    ...windows.map((_, i) => sql<Selection>`x.${identifier(`w${String(i)}`)} IS NOT NULL`),
  ];
  const keys = groups.map((_, i) => sql<Selection>`x.${groupColumn(build, i)}`);
  const aggregate = dialect.aggregate(
    leaf,
    sql<Selection>`x.${identifier("v0")}`,
    rows.value(value).column,
    null,
  );
  const columns = [
    ...keys.map((key, i) => sql`${key} AS ${groupColumn(build, i)}`),
    sql`${aggregate} AS ${identifier("a0")}`,
  ];
  return {
    select: sql`SELECT ${join(columns, ", ")} FROM (SELECT y.*, ${bound} OVER (${over}) AS ${identifier("m")} FROM ${inner}) AS x${whereClause(kept)}${groupBy(keys)}`,
    columns: ["a0"],
  };
}

/** Time groups of a leaf with their positions, the finest first. */
export function timeGroups(
  build: GroupsBuild,
  leaf: Leaf,
  groups: readonly AskedGroup[],
): readonly { readonly i: number; readonly grain: Grain }[] {
  const base = timeGrainOf(build, leaf);
  return groups
    .flatMap(({ name, grain }, i) => (isTimeOf(leaf, name) ? [{ i, grain: grain ?? base }] : []))
    .toSorted((a, b) => compareGrains(a.grain, b.grain));
}

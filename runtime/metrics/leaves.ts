import type { Leaf } from "../core/model/aggregate/metric.js";
import { columnsOf, type Selection } from "../core/model/query.js";
import { EMPTY, join, sql } from "../core/warehouse/sql.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { dimensionOf, type GroupsBuild, type LeafUse, valueColumn } from "./groups-build.js";
import {
  aggregate,
  type ColumnExpression,
  type ColumnValue,
  compute,
  filter,
  groupName,
  joinRows,
  type PlanStep,
  TIME,
  VALUE,
  windows,
} from "./plan.js";
import {
  allOf,
  conditionOn,
  conditionsOfMeasure,
  filteredRows,
  filtersOf,
  groupOf,
  neededDimensions,
} from "./row-filters.js";
import { rowSet } from "./row-set.js";

/** Leaves over the same rows, each with the column of its total, in one pass. */
export function aggregatedLeaves(
  build: GroupsBuild,
  uses: readonly (LeafUse & { readonly total: string })[],
): PlanStep {
  const [first] = uses;
  if (first === undefined) throw new Error("No leaf to aggregate.");
  const groups = build.among?.groups ?? build.grouping.groups;
  const filters = filtersOf(build, first);
  const own = uses.map((use) => ({ ...use, placed: conditionsOfMeasure(build, use.measure) }));
  const conditions = own.flatMap(({ placed }) => placed);
  const rows = rowSet(build, {
    fact: first.leaf.fact,
    time: first.leaf.time,
    dimensions: [
      ...neededDimensions(filters, groups),
      ...conditions.flatMap(({ condition }) => columnsOf(condition)),
    ],
    values: [...new Set(uses.flatMap(({ leaf }) => leaf.value ?? []))],
  });
  const columns = own.flatMap(({ leaf: { value }, total, placed }): [string, ColumnValue][] => [
    ...(value === undefined ? [] : [[`of ${total}`, rows.value(value).name] as [string, ColumnValue]]),
    ...(placed.length === 0
      ? []
      : [
          [`counts for ${total}`, allOf(placed.map((each) => conditionOn(build, rows.columns, each)))] as [
            string,
            ColumnValue,
          ],
        ]),
  ]);
  const totals = own.map(({ leaf, total, placed }): [string, ColumnExpression] => [
    total,
    ({ value }) =>
      build.dialect.aggregate(
        leaf,
        leaf.value === undefined ? null : value(`of ${total}`),
        valueColumn(build, leaf),
        {
          condition: placed.length === 0 ? null : value(`counts for ${total}`),
          isGroup: build.grouping.groups.length > 0,
        },
      ),
  ]);
  const keys = groups.map((group): [string, ColumnValue] => [groupName(group), groupOf(build, rows, group)]);
  const keyed = compute(filteredRows(build, rows, filters), ...keys, ...columns);
  return aggregate(rowsAmong(build, keyed), build.grouping.groups.map(groupName), ...totals);
}

/** The rows whose groups are among those of a build. */
function rowsAmong({ among, dialect }: GroupsBuild, rows: PlanStep): PlanStep {
  if (among === undefined) return rows;
  const names = among.groups.map(groupName);
  return joinRows(rows, among.rows, (row, other) =>
    join(
      names.map((name) => dialect.isSame(row.value(name), other.value(name))),
      " AND ",
    ),
  );
}

/** The total of a leaf over the rows of a group. */
export const totalOf =
  (build: GroupsBuild, leaf: Leaf): ColumnExpression =>
  ({ value }) =>
    build.dialect.aggregate(leaf, leaf.value === undefined ? null : value(VALUE), valueColumn(build, leaf), {
      condition: null,
      isGroup: build.grouping.groups.length > 0,
    });

/** Rows with all groups, aggregated. */
export function aggregated(build: GroupsBuild, leaf: Leaf, rows: PlanStep): PlanStep {
  return aggregate(rows, build.grouping.groups.map(groupName), [VALUE, totalOf(build, leaf)]);
}

/** The first or the last time of a period. */
const CHOSEN = "chosen time";

/** A leaf that counts only the rows of the first or the last time of a period. */
export function nonAdditiveLeaf(build: GroupsBuild, use: LeafUse): PlanStep {
  const { nonAdditive, fact, time, value } = use.leaf;
  if (nonAdditive === undefined || value === undefined) throw new Error("Not a non-additive measure.");
  const { dialect, grouping } = build;
  const { dimension, choice, groupings } = nonAdditive;
  const all = filtersOf(build, use);
  const dimensions = [...neededDimensions(all, grouping.groups), dimension, ...groupings];
  const rows = rowSet(build, { fact, time, dimensions, values: [value] });
  const grain = dimensionOf(build, dimension, time).grain ?? "day";
  const identities = groupings.map((name, i) => [`of ${String(i)}`, rows.dimension(name).name] as const);
  const timed = compute(
    filteredRows(build, rows, all),
    ...grouping.groups.map((group) => [groupName(group), groupOf(build, rows, group)] as const),
    [VALUE, rows.value(value).name],
    [TIME, groupOf(build, rows, { key: "", name: dimension, grain })],
    ...identities,
  );
  const isOfDimension = (name: string): boolean => {
    const { name: own, derived } = dimensionOf(build, name, time);
    return own === dimension || derived?.time === dimension;
  };
  // Of several periods of the dimension the first that is asked.
  const period = grouping.groups.filter(({ name }) => isOfDimension(name)).slice(0, 1);
  const names = identities.map(([name]) => name);
  const partition = [...period.map(groupName), ...names];
  const chosen: ColumnExpression = ({ value: at }) =>
    sql`${dialect.functionName(choice)}(${at(TIME)}) OVER (${partitionBy(partition.map(at))})`;
  const known = names.map(
    (name): ColumnExpression =>
      ({ value: at }) =>
        sql`${at(name)} IS NOT NULL`,
  );
  const isChosen: ColumnExpression = ({ value: at }) => dialect.infix(at(TIME), "=", at(CHOSEN));
  return aggregated(build, use.leaf, filter(windows(timed, [CHOSEN, chosen]), isChosen, ...known));
}

export function partitionBy(columns: readonly Part[]): Part {
  return columns.length === 0 ? EMPTY : sql<Selection>`PARTITION BY ${join(columns, ", ")} `;
}

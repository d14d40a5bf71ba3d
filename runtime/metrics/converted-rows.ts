import { compareGrains, type Grain } from "../core/model/aggregate/grains.js";
import { type Conversion, type Leaf, METRIC_TIME } from "../core/model/aggregate/metric.js";
import { join, sql } from "../core/warehouse/sql.js";
import { type GroupsBuild, type LeafUse, named, timeGrainOf } from "./groups-build.js";
import { aggregated, partitionBy } from "./leaves.js";
import {
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
import { filteredRows, filtersOf, groupOf, neededDimensions } from "./row-filters.js";
import { type RowSet, rowSet } from "./row-set.js";

const CONVERTED_TIME = "time of the conversion";
/** The number of a conversion, and of a row among those that may have led to it. */
const NUMBER = "number of the conversion";
const RANK = "rank before the conversion";
const keyOf = (i: number): string => `key ${String(i)}`;
const convertedKeyOf = (i: number): string => `converted key ${String(i)}`;

/** What rows of a fact lead to, each in the groups of the last row before it. */
export function convertedLeaf(build: GroupsBuild, use: LeafUse): PlanStep {
  const { leaf } = use;
  const { converted } = leaf;
  if (converted === undefined) throw new Error("Not a conversion.");
  const { dialect } = build;
  const ledTo = joinRows(
    conversions(build, leaf, converted),
    candidates(build, use, converted),
    (row, other) =>
      join(
        converted.on.map(([value, of], i) =>
          dialect.equals(row.value(convertedKeyOf(i)), other.value(keyOf(i)), [
            typeOf(build, converted.fact, of),
            typeOf(build, leaf.fact, value),
          ]),
        ),
        " AND ",
      ),
  );
  const inTime = filter(ledTo, ...isBefore(build, leaf, converted));
  const groups = build.grouping.groups.map(groupName);
  const rank: ColumnExpression = ({ value }) => {
    // Of several rows at the same time that of the first groups, so that answers do not change.
    const order = [sql`${value(TIME)} DESC`, ...groups.map(value)];
    return sql`${dialect.functionName("row_number")}() OVER (${partitionBy([value(NUMBER)])}ORDER BY ${join(order, ", ")})`;
  };
  const last = filter(windows(inTime, [RANK, rank]), ({ value }) => dialect.infix(value(RANK), "=", sql`1`));
  return aggregated(build, { ...leaf, fact: converted.fact, value: converted.value }, last);
}

/** The rows that may lead to something: filters and groups are theirs. */
function candidates(build: GroupsBuild, use: LeafUse, { on }: Conversion): PlanStep {
  const { fact, time } = use.leaf;
  const { groups } = build.grouping;
  const all = filtersOf(build, use);
  const values = [...new Set(on.map(([value]) => value))];
  const rows = rowSet(build, {
    fact,
    time,
    dimensions: [...neededDimensions(all, groups), METRIC_TIME],
    values,
  });
  return compute(
    filteredRows(build, rows, all),
    ...groups.map((group) => [groupName(group), groupOf(build, rows, group)] as const),
    [TIME, timeOf(build, use.leaf, rows)],
    ...on.map(([value], i) => [keyOf(i), rows.value(value).name] as const),
  );
}

/** What they lead to: filters of the request do not hold for it. */
function conversions(build: GroupsBuild, leaf: Leaf, converted: Conversion): PlanStep {
  const { fact, time, value, on, filters } = converted;
  const own = { filters, conditions: [] };
  const values = [...new Set([value, ...on.map(([, of]) => of)])];
  const rows = rowSet(build, { fact, time, dimensions: [...neededDimensions(own, []), METRIC_TIME], values });
  const keyed = compute(
    filteredRows(build, rows, own),
    [CONVERTED_TIME, timeOf(build, leaf, rows)],
    [VALUE, rows.value(value).name],
    ...on.map(([, of], i) => [convertedKeyOf(i), rows.value(of).name] as const),
  );
  const number: ColumnExpression = ({ value: at }) =>
    sql`${build.dialect.functionName("row_number")}() OVER (ORDER BY ${at(CONVERTED_TIME)})`;
  return windows(keyed, [NUMBER, number]);
}

/** Times of both are compared in the longer of their grains. */
function grainOf(build: GroupsBuild, leaf: Leaf): Grain {
  const grains = [timeGrainOf(build, leaf), timeGrainOf(build, { time: leaf.converted?.time })];
  return grains.toSorted(compareGrains).at(-1) ?? "day";
}

const timeOf = (build: GroupsBuild, leaf: Leaf, rows: RowSet): ColumnValue =>
  groupOf(build, rows, { key: "", name: METRIC_TIME, grain: grainOf(build, leaf) });

function isBefore(build: GroupsBuild, leaf: Leaf, { window }: Conversion): readonly ColumnExpression[] {
  const { infix, earlier } = build.dialect;
  const before: ColumnExpression = ({ value }) => infix(value(CONVERTED_TIME), ">=", value(TIME));
  if (window === undefined) return [before];
  const isInWindow: ColumnExpression = ({ value }) =>
    infix(value(TIME), ">", earlier(value(CONVERTED_TIME), window, grainOf(build, leaf)));
  return [before, isInWindow];
}

const typeOf = ({ types }: GroupsBuild, fact: string, name: string) => named(types.get(fact) ?? [], name);

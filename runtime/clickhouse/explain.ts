import type { FilterParameter } from "../core/model/endpoint.js";
import { operatorOf } from "../core/model/operators.js";
import type { ColumnCondition, Condition } from "../core/model/query.js";
import {
  constant,
  DIRECTIONS,
  EMPTY,
  escapedIdentifier,
  sql,
  type Sql,
  type Statement,
} from "../core/warehouse/sql.js";
import { columnOf, textOf } from "./filters.js";
import { finished } from "./parameters.js";
import { ServedColumns } from "../core/warehouse/served-columns.js";
import type { ReadRows } from "./scanned-rows.js";
import { selectRows, type SelectSource } from "./select.js";
import type { ExplainedFilter } from "../core/warehouse/warehouse.js";

/** ClickHouse reads a relation of so few granules (8,192 rows each) at once. */
const SMALL_GRANULES = 12;

/** A value that a column has, as a request writes it: of a range the greatest or the least, so that few rows are in it. */
function selectValue({ relation, columns }: SelectSource, { column, operator }: FilterParameter): Statement {
  const type = columns.find(({ name }) => name === column)?.type ?? "String";
  const value = columnOf(column);
  const isDay = operatorOf(operator).value === "day";
  const direction = operator === "<=" ? DIRECTIONS.ASC : DIRECTIONS.DESC;
  const order: Sql = isDay ? sql` ORDER BY ${value} ${direction}` : EMPTY;
  const rows = sql`${escapedIdentifier(...relation)} WHERE isNotNull(${value})${order} LIMIT ${constant(1)}`;
  return finished(sql`SELECT toString(${textOf(column, type)}) AS value FROM ${rows} FORMAT JSONEachRow`);
}

/** Whether a filter by a value that its column has skips granules of what is read; null where there are few, and without a row. */
export async function usesIndex(
  read: ReadRows,
  source: SelectSource,
  filter: ExplainedFilter,
  sourceFor: (condition: ColumnCondition) => Promise<SelectSource>,
): Promise<boolean | null> {
  if (!("column" in filter)) return skips(read, source, filter);
  const [found] = await read<{ readonly value: string }>(selectValue(source, filter));
  if (found === undefined) return null;
  const text = operatorOf(filter.operator).value === "day" ? found.value.slice(0, 10) : found.value;
  const condition = { ...filter, value: filter.type === "string_list" ? [text] : text } as ColumnCondition;
  return skips(read, await sourceFor(condition), [condition]);
}

async function skips(
  read: ReadRows,
  source: SelectSource,
  conditions: readonly Condition[],
): Promise<boolean | null> {
  const output = { served: new ServedColumns(source.columns), format: "json", maxRows: Infinity } as const;
  const select = selectRows(source, { conditions, sort: [], page: null }, output);
  const [plan] = await read<{ readonly explain: string }>(explain(select));
  return plan === undefined ? null : skipsGranules(plan.explain);
}

function explain(select: Sql): Statement {
  return finished(sql`EXPLAIN json = 1, indexes = 1 ${select} FORMAT JSONEachRow`);
}

interface ClickhousePlan {
  readonly Indexes?: readonly {
    readonly "Initial Granules"?: number;
    readonly "Selected Granules"?: number;
  }[];
  readonly Plans?: readonly ClickhousePlan[];
}

/** Whether a plan skips granules of a table by their keys, their partitions or a data-skipping index; null where there are few, or tables have none. */
function skipsGranules(explained: string): boolean | null {
  const [{ Plan: plan }] = JSON.parse(explained) as [{ Plan: ClickhousePlan }];
  const { initial, selected } = granulesOf(plan);
  return initial <= SMALL_GRANULES ? null : selected < initial;
}

interface Granules {
  readonly initial: number;
  readonly selected: number;
}

function granulesOf({ Indexes: indexes = [], Plans: inner = [] }: ClickhousePlan): Granules {
  const own = {
    initial: indexes[0]?.["Initial Granules"] ?? 0,
    selected: indexes.at(-1)?.["Selected Granules"] ?? 0,
  };
  return inner
    .map(granulesOf)
    .reduce(
      (sum, each) => ({ initial: sum.initial + each.initial, selected: sum.selected + each.selected }),
      own,
    );
}

import type { FilterParameter } from "../../model/endpoint.js";
import { operatorOf } from "../../model/operators.js";
import { constant, DIRECTIONS, EMPTY, escapedIdentifier, sql, type Sql, type Statement } from "../sql.js";
import { columnOf, textOf } from "./filters.js";
import { finished } from "./parameters.js";
import type { Source } from "./select.js";

/** ClickHouse reads a relation of so few granules (8,192 rows each) at once. */
const SMALL_GRANULES = 12;

/** A value that a column has, as a request writes it: of a range the greatest or the least, so that few rows are in it. */
export function selectValue({ relation, columns }: Source, { column, operator }: FilterParameter): Statement {
  const type = columns.find(({ name }) => name === column)?.type ?? "String";
  const value = columnOf(column);
  const isDay = operatorOf(operator).value === "day";
  const direction = operator === "<=" ? DIRECTIONS.ASC : DIRECTIONS.DESC;
  const order: Sql = isDay ? sql` ORDER BY ${value} ${direction}` : EMPTY;
  const rows = sql`${escapedIdentifier(...relation)} WHERE isNotNull(${value})${order} LIMIT ${constant(1)}`;
  return finished(sql`SELECT toString(${textOf(column, type)}) AS value FROM ${rows} FORMAT JSONEachRow`);
}

export function explain(select: Sql): Statement {
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
export function skipsGranules(explained: string): boolean | null {
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

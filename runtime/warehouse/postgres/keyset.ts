import type { SortKey } from "../../model/endpoint.js";
import type { KeyValues, Selection } from "../../model/query.js";
import { bind, identifier, type Sql, sql } from "../sql.js";

/** A condition per key of an index range. */
type IndexRange = readonly Sql<Selection>[];

/**
 * The ranges of rows after a key, in the order of the sort: rows that equal it up to the last column, then those that equal
 * it up to the one before, and so on. Nulls are the greatest values, as PostgreSQL sorts them.
 */
export function rangesAfter(sort: readonly SortKey[], after: KeyValues): readonly IndexRange[] {
  const ranges = sort
    .map((key, i) =>
      beyond(key, i, after[i] ?? null).map((range) => [...equalKeys(sort.slice(0, i), after), range]),
    )
    .reverse()
    .flat();
  return ranges.length > 0 ? ranges : [[sql`false`]];
}

function equalKeys(sort: readonly SortKey[], after: KeyValues): IndexRange {
  return sort.map(([column], i) => {
    const name = sql`s.${identifier(column)}`;
    return (after[i] ?? null) === null ? sql`${name} IS NULL` : sql`${name} = ${keyValue(i)}`;
  });
}

/** The ranges of a column behind a value. */
function beyond([column, direction]: SortKey, i: number, value: string | null): readonly Sql<Selection>[] {
  const name = sql`s.${identifier(column)}`;
  if (direction === "DESC")
    return value === null ? [sql`${name} IS NOT NULL`] : [sql`${name} < ${keyValue(i)}`];
  return value === null ? [] : [sql`${name} > ${keyValue(i)}`, sql`${name} IS NULL`];
}

/** PostgreSQL reads it as of the column's type. */
function keyValue(i: number): Sql<Selection> {
  return bind(({ keyset }) => keyset?.after?.[i] ?? null);
}

import type { SortKey } from "../core/model/endpoint.js";
import type { KeyValues, Selection } from "../core/model/query.js";
import { bind, identifier, type Sql, sql } from "../core/warehouse/sql.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { comparedName } from "./filters.js";
import { compared } from "./qualified-names.js";

/** A condition per key of an index range. */
type IndexRange = readonly Sql<Selection>[];

/** A sort key with its column and its position. */
interface Key {
  readonly column: ResultColumn;
  readonly direction: SortKey[1];
  readonly position: number;
}

/**
 * The ranges of rows after a key, in the order of the sort: rows that equal it up to the last column, then those that equal
 * it up to the one before, and so on. Nulls are the greatest values, as PostgreSQL sorts them.
 */
export function rangesAfter(
  sort: readonly SortKey[],
  after: KeyValues,
  columns: ResultColumns,
): readonly IndexRange[] {
  const keys = sort.map(([name, direction], position) => {
    const column = columns.find((each) => each.name === name) ?? { name, type: "text" };
    return { column, direction, position };
  });
  const ranges = keys
    .map((key, i) =>
      beyond(key, after[i] ?? null).map((range) => [
        ...keys.slice(0, i).map((each) => isEqual(each, after[each.position] ?? null)),
        range,
      ]),
    )
    .reverse()
    .flat();
  return ranges.length > 0 ? ranges : [[sql`false`]];
}

function isEqual(key: Key, value: string | null): Sql<Selection> {
  return value === null
    ? sql`${comparedName(key.column)} IS NULL`
    : compared(comparedName(key.column), "=", keyValue(key), key.column);
}

/** The ranges of a column after a value. */
function beyond(key: Key, value: string | null): readonly Sql<Selection>[] {
  const name = comparedName(key.column);
  if (key.direction === "DESC")
    return value === null ? [sql`${name} IS NOT NULL`] : [compared(name, "<", keyValue(key), key.column)];
  return value === null ? [] : [compared(name, ">", keyValue(key), key.column), sql`${name} IS NULL`];
}

/** PostgreSQL reads the text as of the column's type. */
function keyValue({ column: { type, typeSchema }, position }: Key): Sql<Selection> {
  const value = bind<Selection>(({ keyset }) => keyset?.after?.[position] ?? null);
  if (typeSchema !== undefined) return sql`${value}::${identifier(typeSchema, type)}`;
  return type === "money" ? sql`${value}::pg_catalog.numeric::pg_catalog.money` : value;
}

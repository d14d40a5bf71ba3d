import { EMPTY, escapedLiteral, join, sql, type Sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";

/** A value of a relation, and its column as it was looked up. */
interface ProvenValue<From> {
  readonly value: Sql<From>;
  readonly column: ResultColumn;
}

/** What ClickHouse cannot read as a number, and names in its error. */
export const COLUMNS_CHANGED = "columns have changed";

/**
 * The end of a `SELECT` that ClickHouse refuses while it analyzes the statement, also where no row is read, unless these values have
 * the types for which it was written: a clause that no function uses is resolved, and is no step of the plan. `throwIf` in a condition
 * fails only where there are rows. The first element is no column: a tuple of columns alone may name its elements. A page of one
 * row takes 5 to 8 % more of ClickHouse's processor time (10 columns); as a condition this took 17 %.
 */
export function typeProof<From>(values: readonly ProvenValue<From>[]): Sql<From> {
  if (values.length === 0) return EMPTY;
  const types = values.map(({ column: { type, states } }) => states?.[0] ?? type);
  const known = `Tuple(UInt8, ${types.join(", ")})`;
  const list = join(
    values.map(({ value }) => value),
    ", ",
  );
  const found = sql`toTypeName(tuple(0, ${list}))`;
  const text = types.some((type) => /\b(Tuple|Nested)\(/.test(type)) ? onOneLine(found) : found;
  return sql` WINDOW types AS (ORDER BY toUInt8(if(${text} = ${escapedLiteral(known)}, '1', ${escapedLiteral(COLUMNS_CHANGED)})))`;
}

/** Where `print_pretty_type_names` is on, as it is by default, each named element of a tuple stands on a line. */
function onOneLine<From>(types: Sql<From>): Sql<From> {
  return sql`replaceRegexpAll(replaceRegexpAll(${types}, ',\\n *', ', '), '\\n *', '')`;
}

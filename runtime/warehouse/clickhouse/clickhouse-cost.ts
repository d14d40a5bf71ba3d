import { sql, type Sql, type Statement } from "../sql.js";
import { TooManyRows } from "../warehouse.js";
import type { ReadRows } from "./clickhouse-relations.js";
import { finished } from "./clickhouse-parameters.js";
import { array } from "./clickhouse-filters.js";

/** Rows that a query would read of a table. */
interface Estimate {
  readonly database: string;
  readonly table: string;
  readonly rows: number;
}

/**
 * Rejects with `TooManyRows` when a query would read more rows than `limit`. ClickHouse estimates them from its index, through
 * views, without reading. What a page's limit saves is not known to it.
 */
export async function requireAtMost(limit: number, select: Sql, read: ReadRows): Promise<void> {
  const tables = await read<Estimate>(finished(sql`EXPLAIN ESTIMATE ${select} FORMAT JSONEachRow`));
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  if (rows <= limit) return;
  const keys = await read<{ readonly name: string }>(keyColumns(tables));
  throw new TooManyRows(
    rows,
    limit,
    keys.map(({ name }) => name),
  );
}

/** Columns of the primary key and of the partitions. */
function keyColumns(tables: readonly Estimate[]): Statement {
  const databases = array([...new Set(tables.map(({ database }) => database))], "String");
  const names = array([...new Set(tables.map(({ table }) => table))], "String");
  return finished(sql`SELECT DISTINCT name FROM system.columns WHERE database IN ${databases} AND table IN ${names}
    AND (is_in_primary_key OR is_in_partition_key) FORMAT JSONEachRow`);
}

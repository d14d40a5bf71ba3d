import {
  isTable,
  type KeyValues,
  type Keyset,
  type ResolvedQuery,
  type Selection,
} from "../core/model/query.js";
import { constant, sql, type Sql, type Statement } from "../core/warehouse/sql.js";
import { servedOf } from "../core/warehouse/served-columns.js";
import type { Rows } from "../core/warehouse/warehouse.js";
import { columnOf } from "./filters.js";
import { keyOf } from "./keyset.js";
import { filtered, printed, selectRows, sortOrder, type SelectSource, written } from "./select.js";

interface RowKey {
  readonly key: KeyValues;
}

interface KeyedReader {
  /** The rows of a statement. */
  readonly read: (statement: Statement) => Promise<readonly RowKey[]>;
  readonly select: (query: ResolvedQuery) => Promise<Rows>;
}

/**
 * Looks up the key of the page's last row, then selects all rows up to it: in one query its bytes would not pass through. They
 * are more than the limit where rows share that key, as those of a `ReplacingMergeTree` do until it has merged its parts, and
 * where dbt replaces the table between the two queries. So no row is lost or sent twice.
 */
export async function selectKeyed(
  query: ResolvedQuery,
  keyset: Keyset,
  source: SelectSource,
  { read, select }: KeyedReader,
): Promise<Rows> {
  const [last, following] = await read(printed(selectKeys(source, query.selection), "ndjson"));
  const next = last !== undefined && following !== undefined ? last.key : null;
  const page = { offset: query.selection.page?.offset ?? 0, limit: Infinity, lookAhead: false };
  const selection = { ...query.selection, page, keyset: { ...keyset, ...(next && { upTo: next }) } };
  const rows = await select({ ...query, selection });
  return rows.kind === "stream" ? { ...rows, next } : { ...rows, next, hasMore: next !== null };
}

/**
 * A page of groups. Most requests have all groups on one, and each statement aggregates all rows again: so a key is looked up only where
 * others follow. Of 84 groups of 100,000 rows a statement takes 5.75 ms of ClickHouse's processor time, a bare one 5.
 */
export async function selectGroups(
  query: ResolvedQuery,
  keyset: Keyset,
  source: SelectSource,
  reader: KeyedReader,
): Promise<Rows> {
  const { selection, format } = query;
  const { page } = selection;
  if (page === null || isTable(format)) return selectKeyed(query, keyset, source, reader);
  const ahead = { ...selection, page: { ...page, lookAhead: true } };
  const rows = await reader.select({ ...query, selection: ahead });
  if (rows.kind === "buffered" && !rows.hasMore) return { ...rows, next: null };
  if (rows.kind === "stream") await rows.chunks.return();
  else rows.release?.();
  return selectKeyed(query, keyset, source, reader);
}

/** Selects the sort key of the last row of a page, and that of the row after it if there is one. */
export function selectKeys(source: SelectSource, selection: Selection): Sql {
  const { page, sort } = selection;
  const last = constant((page?.offset ?? 0) + (page?.limit ?? 0) - 1);
  const rows = sql`${filtered(source, selection, [])}${sortOrder(selection, source.columns)} LIMIT 2 OFFSET ${last}`;
  const values = sort.map(([column]) => columnOf(column));
  return written(source, values, rows, (read) => [["key", keyOf(sort, source.columns, read)]]);
}

/** Selects the row after a page that looks ahead. */
export function nextRow({ selection }: ResolvedQuery, source: SelectSource): Statement | null {
  const { page } = selection;
  if (page?.lookAhead !== true) return null;
  const next = { limit: 1, offset: page.offset + page.limit, lookAhead: false };
  const served = servedOf(source.columns, selection.columns);
  const row = selectRows(source, { ...selection, page: next }, { served, format: "ndjson", maxRows: 1 });
  return printed(row, "ndjson");
}

import { isDeepStrictEqual } from "node:util";
import {
  isTable,
  type KeyValues,
  type Keyset,
  type ResolvedQuery,
  type Selection,
} from "../../model/query.js";
import { constant, sql, type Sql, type Statement } from "../sql.js";
import { servedColumns } from "../relations.js";
import { type RowChunks, type Rows, SharedSortKey } from "../warehouse.js";
import { columnOf } from "./filters.js";
import { keyOf } from "./keyset.js";
import { filtered, printed, selectRows, sortOrder, type Source, written } from "./select.js";

interface Key {
  readonly key: KeyValues;
}

interface PageReader {
  /** The rows of a statement. */
  readonly read: (statement: Statement) => Promise<readonly Key[]>;
  readonly select: (query: ResolvedQuery) => Promise<Rows>;
}

/**
 * Looks up the key of the page's last row, then selects the rows up to it: in one query its bytes would not pass through.
 * Between the two dbt may replace the table: the page still has all rows between its two keys. If these are more than its
 * limit, it is asked for again; a stream fails.
 */
export async function selectKeyed(
  query: ResolvedQuery,
  keyset: Keyset,
  source: Source,
  { read, select }: PageReader,
): Promise<Rows> {
  // Whether a table has more rows than its limit is not known from its bytes.
  const page = isTable(query.format) ? withoutLimit(query) : query;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const next = await lastKey(query.selection, keyset, source, read);
    const selection = { ...page.selection, keyset: { ...keyset, ...(next && { upTo: next }) } };
    const rows = await select({ ...page, selection });
    if (rows.kind === "stream") return { ...rows, next, chunks: withoutMore(rows.chunks) };
    if (!rows.hasMore) return { ...rows, next, hasMore: next !== null };
  }
  throw new Error(REPLACED);
}

/**
 * The key at which a page ends; null when no row follows it. A `ReplacingMergeTree` has rows with one unique key until it has
 * merged its parts: a page ends before those that would begin it and another, and has fewer rows than its limit.
 */
async function lastKey(
  selection: Selection,
  keyset: Keyset,
  source: Source,
  read: PageReader["read"],
): Promise<KeyValues | null> {
  const readKeys = (some: Selection): Promise<readonly Key[]> =>
    read(printed(selectKeys(source, some), "ndjson"));
  const [last, following] = await readKeys(selection);
  if (last === undefined || following === undefined) return null;
  if (!isDeepStrictEqual(last, following)) return last.key;
  const [before] = await readKeys(rowBefore(last.key, selection, keyset));
  if (before === undefined || isDeepStrictEqual(before.key, keyset.after)) throw new SharedSortKey();
  return before.key;
}

/** The row before those with a key: the first one behind it in the reverse order. */
function rowBefore(key: KeyValues, selection: Selection, { scope, after }: Keyset): Selection {
  const reverse = { ASC: "DESC", DESC: "ASC" } as const;
  const sort = selection.sort.map(([column, direction]) => [column, reverse[direction]] as const);
  const keyset = { scope, after: key, ...(after && { upTo: after }) };
  return { ...selection, sort, keyset, page: { limit: 1, offset: 0, lookAhead: false } };
}

/** Selects the sort key of the last row of a page, and that of the row behind it if there is one. */
export function selectKeys(source: Source, selection: Selection): Sql {
  const { page, sort } = selection;
  const last = constant((page?.offset ?? 0) + (page?.limit ?? 0) - 1);
  const rows = sql`${filtered(source, selection)}${sortOrder(selection, source.columns)} LIMIT 2 OFFSET ${last}`;
  const values = sort.map(([column]) => columnOf(column));
  return written(source, values, rows, (read) => [["key", keyOf(sort, source.columns, read)]]);
}

/** Selects the row behind a page that looks ahead. */
export function nextRow({ selection }: ResolvedQuery, source: Source): Statement | null {
  const { page } = selection;
  if (page?.lookAhead !== true || page.limit === Infinity) return null;
  const next = { limit: 1, offset: page.offset + page.limit, lookAhead: false };
  const served = servedColumns(source.columns, selection.columns);
  const row = selectRows(source, { ...selection, page: next }, { served, format: "ndjson", maxRows: 1 });
  return printed(row, "ndjson");
}

/** Without the limit of its page: a range of keys is sent whole, as the next page begins behind it. */
function withoutLimit(query: ResolvedQuery): ResolvedQuery {
  const { page } = query.selection;
  const selection = { ...query.selection, page: page && { ...page, limit: Infinity } };
  return { ...query, selection };
}

/** The rows of a last page. If rows follow it after all, its stream fails: they have no page. */
function withoutMore(chunks: RowChunks): RowChunks {
  return {
    async next() {
      const result = await chunks.next();
      if (result.done === true && result.value.hasMore) throw new Error(REPLACED);
      return result;
    },
    return: () => chunks.return(),
  };
}

const REPLACED = "The table was replaced while a page of it was read.";

/** How often a page is asked for when the table is replaced between its two queries by one with more rows in its range. */
const MAX_ATTEMPTS = 5;

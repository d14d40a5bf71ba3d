import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { RunQuery } from "../verify/relations.js";
import { type ColumnFacts, NO_FACTS, type RelationFacts } from "./suggestion.js";

/** Values of the most frequent ones that are read. */
const MOST_COMMON = 20;

/**
 * Of partitioned tables the statistics of the whole. Only what the role may read is in `pg_stats`; a negative `n_distinct` is a share of
 * the rows.
 */
const POSTGRES = `
  SELECT c.reltuples::float8 AS rows, t.class AS trigrams, s.attname AS column, s.n_distinct::float8 AS "distinct",
    (s.most_common_vals::text::text[])[1:${String(MOST_COMMON)}] AS common,
    (SELECT coalesce(sum(f), 0) FROM unnest(s.most_common_freqs[1:${String(MOST_COMMON)}]) AS f)::float8 + s.null_frac AS share
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN (
    SELECT CASE e.nspname WHEN 'public' THEN '' ELSE quote_ident(e.nspname) || '.' END || o.opcname AS class
    FROM pg_catalog.pg_opclass o JOIN pg_catalog.pg_namespace e ON e.oid = o.opcnamespace WHERE o.opcname = 'gin_trgm_ops' LIMIT 1) t ON true
  LEFT JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'm', 'p')
  ORDER BY s.inherited NULLS FIRST`;

interface StatisticsRow {
  readonly rows: number;
  readonly trigrams: string | null;
  readonly column: string | null;
  readonly distinct: number;
  readonly common: readonly string[] | null;
  readonly share: number;
}

/** What PostgreSQL's statistics say of a relation. */
export async function postgresFacts(
  query: RunQuery,
  relation: CatalogueEntry["relation"],
): Promise<RelationFacts> {
  const found = (await query(POSTGRES, relation)) as readonly StatisticsRow[];
  const rows = found[0]?.rows ?? -1;
  // Never analysed.
  if (rows < 0) return NO_FACTS;
  const columns = new Map<string, ColumnFacts>();
  for (const { column, distinct, common, share } of found) {
    if (column === null) continue;
    const count = distinct < 0 ? -distinct * rows : distinct;
    columns.set(column, { distinct: count, common: common ?? [], commonShare: share });
  }
  return { rows, columns, sortKey: null, trigrams: found[0]?.trigrams ?? null };
}

/** ClickHouse keeps no statistics of values: of a table its rows and its sorting key. */
export async function clickhouseFacts(
  query: RunQuery,
  [database, name]: CatalogueEntry["relation"],
): Promise<RelationFacts> {
  const text = (value: string): string => `'${value.replace(/[\\']/g, "\\$&")}'`;
  // Lines of JSON.
  const [line] = (await query(
    `SELECT toFloat64(total_rows) AS rows, sorting_key AS key FROM system.tables
      WHERE database = ${text(database)} AND name = ${text(name)} AND engine LIKE '%MergeTree'`,
  )) as readonly string[];
  if (line === undefined) return NO_FACTS;
  const row = JSON.parse(line) as { readonly rows: number | null; readonly key: string };
  const sortKey = row.key === "" ? [] : row.key.split(",").map((part) => part.trim());
  return { rows: row.rows, columns: new Map(), sortKey, trigrams: null };
}

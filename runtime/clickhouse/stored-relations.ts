import type { Relation } from "../core/model/endpoint.js";
import { escapedIdentifier, sql } from "../core/warehouse/sql.js";
import { ClickhouseError } from "./errors.js";
import { finished, isNamed } from "./parameters.js";
import type { ReadRows } from "./scanned-rows.js";

interface StoredTable {
  /** Expressions by which parts and granules are left out. */
  readonly keys: readonly string[];
  /** Its `CREATE` statement. */
  readonly definition: string;
}

/**
 * Whether reading a relation evaluates no expression, so that none can read a setting of the query. A view does, and a column with an
 * `ALIAS` or a default, a row policy, a key or an index with a function. What ClickHouse says in other words than the newest version counts as if
 * it did.
 */
export async function isStored(relation: Relation, read: ReadRows): Promise<boolean> {
  const [table] = await read<StoredTable>(tableOf(relation));
  if (table === undefined || !hasSimpleKeys(table)) return false;
  const select = sql`EXPLAIN SELECT * FROM ${escapedIdentifier(...relation)} FORMAT JSONEachRow`;
  try {
    const plan = await read<{ readonly explain: string }>(finished(select));
    return plan.length > 0 && plan.every(({ explain }) => ONLY_READS.test(explain));
  } catch (error) {
    // The role may not read all columns.
    if (error instanceof ClickhouseError) return false;
    throw error;
  }
}

/** The table with parts that a relation is, where all its columns are stored. */
const tableOf = (relation: Relation) => {
  const computed = sql`SELECT 1 FROM system.columns WHERE ${isNamed(relation, "table")} AND default_kind <> ''`;
  return finished(sql`SELECT [partition_key, sorting_key, primary_key, sampling_key] AS keys, create_table_query AS definition
    FROM system.tables WHERE ${isNamed(relation)} AND engine LIKE '%MergeTree' AND NOT exists(${computed}) FORMAT JSONEachRow`);
};

/** A line of a plan that reads a table and does nothing else. */
const ONLY_READS = /^(\s*|Output: .*|ReadFromMergeTree \(.*\)|\s+(Output|Read type|Parts): .*)$/;

function hasSimpleKeys({ keys, definition }: StoredTable): boolean {
  const indexes = [...definition.matchAll(/\bINDEX \S+ (.*?) TYPE /g)].map(
    ([, expression = ""]) => expression,
  );
  return !/\bPROJECTION\b/.test(definition) && [...keys, ...indexes].every((key) => SIMPLE_KEY.test(key));
}

/** Columns, and functions of them that read no setting. */
const SIMPLE_KEY =
  /^(?:(?:tuple|to(?:YYYYMM(?:DD)?|Year|Month|Monday|Date|Date32|StartOf\w+)|(?:city|sip|int|xx)Hash\d+|intDiv)\(|`(?:[^`\\]|\\.)*`|\w+(?![\w(])|[\s,()])*$/;

import { hash } from "node:crypto";
import type { Relation } from "../../model/endpoint.js";
import { relationKey } from "../relations.js";
import { EMPTY, sql, type Statement } from "../sql.js";
import { finished, parameter } from "./clickhouse-parameters.js";
import { array } from "./clickhouse-filters.js";

/** The columns of a relation with their types. */
export function columnsOf([database, table]: Relation): Statement {
  return finished(sql`SELECT name, type FROM system.columns
    WHERE database = ${parameter(database, "String")} AND table = ${parameter(table, "String")} AND default_kind <> 'EPHEMERAL'
    ORDER BY position FORMAT JSONEachRow`);
}

/** A table or view, as far as it identifies its rows. */
interface Table {
  readonly database: string;
  readonly name: string;
  /** Another one after dbt has exchanged the table. */
  readonly uuid: string;
  /** Its `CREATE` statement. */
  readonly definition: string;
  readonly rows: number | null;
  /** Changes with each insert, mutation and dropped partition, not with a merge; empty without the right to read it. */
  readonly parts: string;
}

/** Names in one statement: ClickHouse refuses a parameter of more than 128 KiB. */
const MAX_NAMES = 200;

/** Runs a statement and parses its rows. */
export type ReadRows = <Row>(statement: Statement) => Promise<readonly Row[]>;

/**
 * Identifies the rows of a relation: its own uuid and parts, and those of each table beneath its views. Empty where there
 * is no such relation. `hasParts`: whether the role may read `system.parts`.
 */
export async function storageOf(relation: Relation, read: ReadRows, hasParts: boolean): Promise<string> {
  const names = new Set([relationKey(relation)]);
  const queue = [relation];
  const found: string[] = [];
  while (queue.length > 0) {
    for (const table of await read<Table>(selectTables(queue.splice(0, MAX_NAMES), hasParts))) {
      const { uuid, rows, parts } = table;
      // A table of another database may have the name.
      if (!names.has(relationKey([table.database, table.name]))) continue;
      found.push(`${uuid} ${String(rows)} ${parts}`);
      for (const name of namesIn(table)) {
        if (!names.has(relationKey(name))) queue.push(name);
        names.add(relationKey(name));
      }
    }
  }
  return found.length === 0 ? "" : hash("sha1", found.sort().join("\n"));
}

/** A name of two parts. ClickHouse stores views with the database before each table. */
const QUALIFIED = /(`(?:[^`\\]|\\.)+`|\w+)\.(`(?:[^`\\]|\\.)+`|\w+)/g;

/**
 * The tables that a view may read: every qualified name in its definition. Names of columns (`t.id`) are among them; no table
 * is found for those. A materialized view without a target keeps its rows in a table of its own.
 */
function namesIn({ database, uuid, definition }: Table): readonly Relation[] {
  if (!/^CREATE (MATERIALIZED |LIVE |WINDOW )?VIEW /.test(definition)) return [];
  const names = [...definition.matchAll(QUALIFIED)].map(([, schema = "", name = ""]): Relation => [
    unquoted(schema),
    unquoted(name),
  ]);
  return [...names, [database, `.inner_id.${uuid}`]];
}

function unquoted(name: string): string {
  return name.startsWith("`") ? name.slice(1, -1).replace(/\\(.)/g, "$1") : name;
}

/** The fifth part of a part's name is its last mutation; `data_version` would also change with a merge. */
function selectTables(names: readonly Relation[], hasParts: boolean): Statement {
  const databases = array([...new Set(names.map(([database]) => database))], "String");
  const tables = array([...new Set(names.map(([, table]) => table))], "String");
  const parts = hasParts
    ? sql`LEFT JOIN (SELECT database, table, sum(cityHash64(partition_id, block, mutation)) AS parts
        FROM (SELECT database, table, partition_id, max(max_block_number) AS block, max(toUInt64OrZero(splitByChar('_', name)[5])) AS mutation
          FROM system.parts WHERE active AND database IN ${databases} AND table IN ${tables}
          GROUP BY database, table, partition_id)
        GROUP BY database, table) AS p ON p.database = t.database AND p.table = t.name`
    : EMPTY;
  return finished(sql`SELECT t.database AS database, t.name AS name, toString(t.uuid) AS uuid, t.create_table_query AS definition,
      t.total_rows AS rows, ${hasParts ? sql`toString(p.parts)` : sql`''`} AS parts
    FROM (SELECT * FROM system.tables WHERE database IN ${databases} AND name IN ${tables}) AS t ${parts} FORMAT JSONEachRow`);
}

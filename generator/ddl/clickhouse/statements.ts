import type { BuildsAtLoad } from "@routewright/runtime/model";
import { clickhouseIdentifier as identifier } from "../../verify/clickhouse-relations.js";
import type { CopiedRelation } from "../copied-relation.js";
import { COMMENT_START, loadComment } from "../load-comment.js";
import { type RelationScript, statement, type LoadStep } from "../script.js";
import { bareType, type LoadedColumn } from "./expressions.js";
import { clickhouseLiteral as literal } from "./literal.js";
import type { TableFunction } from "./source.js";

/** A relation to load, with what is known of its export. */
export interface ClickhouseLoad {
  readonly copied: CopiedRelation;
  readonly columns: readonly LoadedColumn[];
  readonly source: TableFunction;
  readonly builds: BuildsAtLoad | null;
  /** Whether its database does not exist yet. */
  readonly isNewDatabase: boolean;
  /** Roles and users that may read it. */
  readonly grants: readonly string[];
}

/** The table is filled beside the old one, and takes its place at once. */
export function tableScript(load: ClickhouseLoad): RelationScript {
  const { copied, columns, source, builds } = load;
  const [database, name] = copied.relation;
  const [served, next] = [quoted(copied.relation), quoted([database, nextName(name)])];
  const names = columns.map((column) => identifier(column.name)).join(", ");
  const comment = literal(loadComment(builds));
  const firstLoad = `throwIf(true, ${literal(`${database}.${name} is loaded for the first time`)}) AS loading`;
  return {
    name: copied.relation.join("."),
    steps: [
      ...beforeLoad(load),
      statement(`DROP TABLE IF EXISTS ${next} SYNC`),
      statement(
        `CREATE TABLE ${next}\n(\n${columnList(columns)}\n)\nENGINE = MergeTree\nORDER BY ${sortKey(copied, columns)}\nSETTINGS allow_nullable_key = 1\nCOMMENT ${comment}`,
        `DROP TABLE IF EXISTS ${next} SYNC`,
      ),
      statement(
        `INSERT INTO ${next} (${names})\n${selectOf(columns, source, true)}\n${settingsOf([...READ_AS_IT_IS, ...source.off])}`,
      ),
      statement(
        `SELECT throwIf((SELECT count() FROM ${next}) != (SELECT count() FROM ${source.text}), ${literal(`${database}.${name}: the copy and its export differ in their number of rows`)})\n${settingsOf(READ_AS_IT_IS)}\nFORMAT Null`,
      ),
      // Two relations are exchanged at once; before the first load there is only one.
      statement(`CREATE VIEW IF NOT EXISTS ${served} AS SELECT ${firstLoad} COMMENT ${comment}`),
      statement(`EXCHANGE TABLES ${next} AND ${served}`),
      statement(`DROP TABLE ${next} SYNC`),
      ...afterLoad(load),
    ],
  };
}

/** A view reads the export at each request, with the rights of who defined it. */
export function viewScript(load: ClickhouseLoad): RelationScript {
  const { copied, columns, source } = load;
  const named = columns.map(({ name, type }) => `  ${identifier(name)} ${type}`).join(",\n");
  // Its rows change with the files: it holds no build.
  const comment = literal(loadComment(null));
  return {
    name: copied.relation.join("."),
    steps: [
      ...beforeLoad(load),
      statement(
        `CREATE OR REPLACE VIEW ${quoted(copied.relation)}\n(\n${named}\n)\nDEFINER = CURRENT_USER SQL SECURITY DEFINER\nAS ${selectOf(columns, source, false)}${source.off.length === 0 ? "" : `\n${settingsOf(source.off)}`}\nCOMMENT ${comment}`,
      ),
      ...afterLoad(load),
    ],
  };
}

function beforeLoad({ copied, source, isNewDatabase }: ClickhouseLoad): readonly LoadStep[] {
  const [database, name] = copied.relation;
  const [at, named] = [literal(database), literal(name)];
  const foreign = `${database}.${name} was not made by \`routewright ddl\`: rename or drop it, then load again`;
  const running = `another load of ${database}.${name} runs`;
  // The statement that asks is in the list too.
  const insert = literal(`INSERT INTO ${quoted([database, nextName(name)])} (`);
  return [
    ...(isNewDatabase ? [statement(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`)] : []),
    statement(
      `SELECT throwIf(count() > 0, ${literal(foreign)}) FROM system.tables\nWHERE database = ${at} AND name = ${named} AND NOT startsWith(comment, ${literal(COMMENT_START)})\nFORMAT Null`,
    ),
    statement(
      `SELECT throwIf(count() > 0, ${literal(running)}) FROM system.processes\nWHERE startsWith(query, ${insert})\nFORMAT Null`,
    ),
    ...(source.metadata === null ? [] : [statement(sameSchema(source.metadata, `${database}.${name}`))]),
  ];
}

/** The first file decides how all are read: another type in a later one would be converted to it, and values wrapped. */
function sameSchema(metadata: string, name: string): string {
  const shape = "arrayMap(c -> (c.path, c.physical_type, c.logical_type), columns)";
  return `SELECT throwIf(uniqExact(${shape}) > 1, ${literal(`${name}: the files of the export differ in their columns or types`)})\nFROM ${metadata}\nFORMAT Null`;
}

function afterLoad({ copied, grants }: ClickhouseLoad): readonly LoadStep[] {
  return grants.map((role) => statement(`GRANT SELECT ON ${quoted(copied.relation)} TO ${identifier(role)}`));
}

/**
 * The export is read with its own types, of this moment. By default ClickHouse reads it with those of the table that it
 * inserts into: values wrap, and a column in another letter case is null, before any check sees them.
 */
const READ_AS_IT_IS = [
  "use_structure_from_insertion_table_in_table_functions",
  "input_format_parquet_allow_missing_columns",
  ...["file", "s3", "azure", "url"].map((store) => `schema_inference_use_cache_for_${store}`),
  "use_cache_for_count_from_files",
];

const settingsOf = (off: readonly string[]): string =>
  `SETTINGS ${off.map((name) => `${name} = 0`).join(", ")}`;

/** `ofTable`: later files are checked too, though those of today have the types of the copy. */
function selectOf(columns: readonly LoadedColumn[], { text }: TableFunction, ofTable: boolean): string {
  const values = columns.map(({ name, value }) => `  ${value} AS ${identifier(name)}`).join(",\n");
  const checks = columns.flatMap(({ name, type, isExact, hasSameType }) =>
    isExact === null || (!ofTable && hasSameType)
      ? []
      : [`NOT throwIf(NOT (${isExact}), ${literal(`a value of ${name} does not fit ${type}`)})`],
  );
  const where = checks.length === 0 ? "" : `\nWHERE ${checks.join("\n  AND ")}`;
  return `SELECT\n${values}\nFROM ${text} AS export${where}`;
}

const columnList = (columns: readonly LoadedColumn[]): string =>
  columns.map(({ name, type }) => `  ${identifier(name)} ${type}`).join(",\n");

/** More columns than these make the index larger, and find no rows faster. */
const MAX_SORT_KEY = 6;

/** Columns that requests filter by, then those that they sort by. */
function sortKey({ filtered, sorted }: CopiedRelation, columns: readonly LoadedColumn[]): string {
  const names = [...new Set([...filtered.map(({ column }) => column), ...sorted])];
  const sortable = names.flatMap((name) => {
    const column = columns.find((each) => each.name.toLowerCase() === name.toLowerCase());
    return column === undefined || /^(Array|Map|Tuple|Float|BFloat|JSON)/.test(bareType(column.type))
      ? []
      : [identifier(column.name)];
  });
  const key = sortable.slice(0, MAX_SORT_KEY);
  return key.length === 0 ? "tuple()" : `(${key.join(", ")})`;
}

const quoted = (relation: readonly string[]): string => relation.map(identifier).join(".");

const nextName = (name: string): string => `${name}__new`;

import type { BuildsAtLoad } from "@routewright/runtime/model";
import { clickhouseIdentifier as identifier } from "../../verify/clickhouse-relations.js";
import type { CopiedRelation } from "../copied-relation.js";
import { COMMENT_START, loadComment } from "../load-comment.js";
import { onEachNode, type RelationScript, statement, type LoadStep } from "../script.js";
import { bareType } from "./conversions.js";
import type { LoadedColumn } from "./expressions.js";
import { clickhouseLiteral as literal } from "./literal.js";
import type { TableFunction } from "./source.js";
import { dropped, loadTime, NEW, newName, quoted, shardName } from "./load-tables.js";

/** A relation to load, with what is known of its export. */
export interface ClickhouseLoad {
  readonly copied: CopiedRelation;
  /** The files, by their columns. */
  readonly parts: readonly LoadedPart[];
  readonly source: TableFunction;
  readonly notes: readonly string[];
  readonly builds: BuildsAtLoad | null;
  /** Whether its database does not exist yet. */
  readonly isNewDatabase: boolean;
  /** Roles and users that may read it. */
  readonly grants: readonly string[];
  /** Names the tables of this load. */
  readonly id: string;
  /** The cluster whose nodes each keep a part of the rows; null for one server. */
  readonly cluster: string | null;
  readonly earlier: EarlierTables;
}

/** Files that have the same columns, with those of the copy. */
export interface LoadedPart {
  /** How they are read: all files of the export, or, where they differ, those of these paths. */
  readonly text: string;
  readonly paths: readonly string[] | null;
  readonly columns: readonly LoadedColumn[];
}

/** Tables of earlier loads, beside the relation. */
export interface EarlierTables {
  /** A load that was killed has left them. */
  readonly left: readonly string[];
  /** The served relation reads them. */
  readonly served: readonly string[];
}

/** The table is filled beside the old one, and takes its place at once. */
export function tableScript(load: ClickhouseLoad): RelationScript {
  const { copied, parts, source, cluster, notes } = load;
  const [database, name] = copied.relation;
  const next = quoted([database, newName(load)]);
  const names = columnsOf(load)
    .map((column) => identifier(column.name))
    .join(", ");
  const inserted = [NULLABLE, ...(cluster === null ? [] : ["distributed_foreground_insert = 1"])];
  return {
    name: copied.relation.join("."),
    notes,
    steps: [
      ...beforeLoad(load),
      ...[newName(load), ...load.earlier.left].map((table) => onEachNode(dropped([database, table]))),
      ...(cluster === null ? [newTable(load)] : newShards(load, cluster)),
      statement(
        `INSERT INTO ${next} (${names})\n${selectOf(parts, true)}\n${settingsOf([...READ_AS_IT_IS, ...source.off], inserted)}`,
      ),
      statement(
        `SELECT throwIf((SELECT count() FROM ${next}) != (SELECT count() FROM ${source.text}), ${literal(`${database}.${name}: the copy and its export differ in their number of rows`)})\n${settingsOf(READ_AS_IT_IS)}\nFORMAT Null`,
      ),
      ...(cluster === null ? [firstLoad(load), exchanged(load)] : exchangedOnAll(load)),
      onEachNode(dropped([database, newName(load)]), { phase: "cleanup" }),
      ...load.earlier.served.map((table) => onEachNode(dropped([database, table]), { phase: "cleanup" })),
    ],
  };
}

function newTable(load: ClickhouseLoad): LoadStep {
  return statement(storedTable(load, newName(load), loadComment(load.builds)), {
    undo: dropped([load.copied.relation[0], newName(load)]),
  });
}

const columnsOf = ({ parts: [first] }: ClickhouseLoad): readonly LoadedColumn[] => first?.columns ?? [];

const storedTable = (load: ClickhouseLoad, name: string, comment: string): string =>
  `CREATE TABLE ${quoted([load.copied.relation[0], name])}\n(\n${columnList(columnsOf(load))}\n)\nENGINE = MergeTree\nORDER BY ${sortKey(load.copied, columnsOf(load))}\nSETTINGS allow_nullable_key = 1\nCOMMENT ${literal(comment)}`;

/** Each node keeps a part of the rows, in a table that only this load has: a query reads the parts of one load. */
function newShards(load: ClickhouseLoad, cluster: string): readonly LoadStep[] {
  const [database] = load.copied.relation;
  const [shard, next] = [shardName(load), newName(load)];
  const engine = `Distributed(${[cluster, database, shard].map(literal).join(", ")}, rand())`;
  return [
    onEachNode(storedTable(load, shard, NO_CLAIM), { undo: dropped([database, shard]) }),
    onEachNode(
      `CREATE TABLE ${quoted([database, next])}\n(\n${columnList(columnsOf(load))}\n)\nENGINE = ${engine}\nCOMMENT ${literal(NO_CLAIM)}`,
      { undo: dropped([database, next]) },
    ),
  ];
}

/** Two relations are exchanged at once; before the first load there is only one. */
function firstLoad({ copied, builds, cluster }: ClickhouseLoad): LoadStep {
  const message = literal(`${copied.relation.join(".")} is loaded for the first time`);
  const comment = literal(cluster === null ? loadComment(builds) : NO_CLAIM);
  return onEachNode(
    `CREATE VIEW IF NOT EXISTS ${quoted(copied.relation)} AS SELECT throwIf(true, ${message}) AS loading COMMENT ${comment}`,
  );
}

function exchanged(load: ClickhouseLoad): LoadStep {
  const { copied } = load;
  const text = `EXCHANGE TABLES ${quoted([copied.relation[0], newName(load)])} AND ${quoted(copied.relation)}`;
  return onEachNode(text, { phase: "commit", ...(load.cluster !== null && { undo: text }) });
}

/** A node says which build it holds only while all nodes hold that build. */
function exchangedOnAll(load: ClickhouseLoad): readonly LoadStep[] {
  const { copied, builds } = load;
  const claim = (comment: string): string =>
    `ALTER TABLE ${quoted(copied.relation)} MODIFY COMMENT ${literal(comment)}`;
  return [
    firstLoad(load),
    onEachNode(claim(NO_CLAIM)),
    exchanged(load),
    onEachNode(claim(loadComment(builds, new Date(loadTime(load.id)).toISOString())), {
      undo: claim(NO_CLAIM),
    }),
  ];
}

const NO_CLAIM = loadComment(null);

/** A view reads the export at each request, with the rights of who defined it. */
export function viewScript(load: ClickhouseLoad): RelationScript {
  const { copied, parts, source, notes } = load;
  const named = columnsOf(load)
    .map(({ name, type }) => `  ${identifier(name)} ${type}`)
    .join(",\n");
  // Its rows change with the files: it holds no build.
  const comment = literal(NO_CLAIM);
  return {
    name: copied.relation.join("."),
    notes,
    steps: [
      ...beforeLoad(load),
      onEachNode(
        `CREATE OR REPLACE VIEW ${quoted(copied.relation)}\n(\n${named}\n)\nDEFINER = CURRENT_USER SQL SECURITY DEFINER\nAS ${selectOf(parts, false, settingsOf([...AS_FILES, ...source.off], [NULLABLE]))}\nCOMMENT ${comment}`,
      ),
    ],
  };
}

function beforeLoad({
  copied,
  source,
  parts,
  isNewDatabase,
  grants,
  cluster,
}: ClickhouseLoad): readonly LoadStep[] {
  const [database, name] = copied.relation;
  const [at, named] = [literal(database), literal(name)];
  const foreign = `${database}.${name} was not made by \`routewright ddl\`: rename or drop it, then load again`;
  const running = `another load of ${database}.${name} runs`;
  // The statement that asks is in the list too.
  const insert = literal(`INSERT INTO ${quoted([database, `${name}${NEW}`]).slice(0, -1)}`);
  const ofRelation = `FROM system.tables\nWHERE database = ${at} AND name = ${named}`;
  const shards = `${database}.${name} is spread over a cluster: load it with --cluster, or drop it on every node`;
  return [
    ...(isNewDatabase ? [onEachNode(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`)] : []),
    // By name: a grant holds for the table that takes the place of another, and a role that is not there ends the load here.
    ...grants.map((role) => onEachNode(`GRANT SELECT ON ${quoted(copied.relation)} TO ${identifier(role)}`)),
    onEachNode(
      `SELECT throwIf(count() > 0, ${literal(foreign)}) ${ofRelation} AND NOT startsWith(comment, ${literal(COMMENT_START)})\nFORMAT Null`,
    ),
    ...(cluster === null
      ? [
          statement(
            `SELECT throwIf(count() > 0, ${literal(shards)}) ${ofRelation} AND engine = 'Distributed'\nFORMAT Null`,
          ),
        ]
      : []),
    onEachNode(
      `SELECT throwIf(count() > 0, ${literal(running)}) FROM system.processes\nWHERE startsWith(query, ${insert})\nFORMAT Null`,
    ),
    ...(source.metadata === null || parts.length > 1
      ? []
      : [statement(sameSchema(source.metadata, `${database}.${name}`))]),
  ];
}

/** The first file decides how all are read: another type in a later one would be converted to it, and values wrapped. */
function sameSchema(metadata: string, name: string): string {
  const shape = "arrayMap(c -> (c.path, c.physical_type, c.logical_type), columns)";
  return `SELECT throwIf(uniqExact(${shape}) > 1, ${literal(`${name}: the files of the export differ in their columns or types`)})\nFROM ${metadata}\nFORMAT Null`;
}

/** A folder of a path never takes the place of a column, and a document of JSON keeps its text. */
export const AS_FILES = ["use_hive_partitioning", "input_format_parquet_enable_json_parsing"];
/** As of files that do not say which columns have no nulls. */
export const NULLABLE = "schema_inference_make_columns_nullable = 1";

/**
 * The export is read with its own types, of this moment. By default ClickHouse reads it with those of the table that it
 * inserts into: values wrap, and a column in another letter case is null, before any check sees them.
 */
const READ_AS_IT_IS = [
  "use_structure_from_insertion_table_in_table_functions",
  "input_format_parquet_allow_missing_columns",
  ...["file", "s3", "azure", "url"].map((store) => `schema_inference_use_cache_for_${store}`),
  "use_cache_for_count_from_files",
  ...AS_FILES,
];

const settingsOf = (off: readonly string[], others: readonly string[] = []): string =>
  `SETTINGS ${[...off.map((name) => `${name} = 0`), ...others].join(", ")}`;

/** `settings`: of each part's statement, in a view. */
function selectOf(parts: readonly LoadedPart[], isChecked: boolean, settings = ""): string {
  return parts
    .map((part) => `${partOf(part, isChecked)}${settings && `\n${settings}`}`)
    .join("\nUNION ALL\n");
}

/** `isChecked`: files of a later day are checked too, though those of today have the types of the copy. */
function partOf({ text, paths, columns }: LoadedPart, isChecked: boolean): string {
  const values = columns.map(({ name, value }) => `  ${value} AS ${identifier(name)}`).join(",\n");
  const types = isChecked && paths === null ? columns.flatMap(({ hasType }) => hasType ?? []) : [];
  const checks = [
    ...(paths === null ? [] : [isOneOf(paths)]),
    ...(types.length === 0 ? [] : [`NOT throwIf(NOT (${types.join(" AND ")}), ${literal(OTHER_TYPES)})`]),
    ...columns.flatMap(({ check }) =>
      check === null
        ? []
        : [
            `NOT throwIf(NOT (${check.isExact}), ${literal(`a value of ${check.column} does not fit ${check.to}`)})`,
          ],
    ),
  ];
  const where = checks.length === 0 ? "" : `\nWHERE ${checks.join("\n  AND ")}`;
  return `SELECT\n${values}\nFROM ${text} AS export${where}`;
}

export const isOneOf = (paths: readonly string[]): string =>
  `export._path IN (${paths.map(literal).join(", ")})`;

const OTHER_TYPES =
  "the files of the export have other types than when the script was printed: print it again";

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

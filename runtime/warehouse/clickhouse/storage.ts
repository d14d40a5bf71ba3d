import { hash } from "node:crypto";
import type { Relation } from "../../model/endpoint.js";
import { relationKey } from "../relations.js";
import { sql, type Statement } from "../sql.js";
import { finished } from "./parameters.js";
import { array } from "./filters.js";

/** A table or view, as far as it identifies its rows. */
interface Table {
  readonly database: string;
  readonly name: string;
  readonly engine: string;
  /** Another one after dbt has exchanged the table; zero outside `Atomic` databases, where a table can be replaced unnoticed. */
  readonly uuid: string;
  /** Its `CREATE` statement. */
  readonly definition: string;
  /** The query of a view. */
  readonly query: string;
  /** Expressions of its `ALIAS` columns. */
  readonly aliases: string;
  readonly rows: number | null;
}

/** The parts of a table. */
interface Parts {
  readonly database: string;
  readonly name: string;
  /** Changes with each insert, mutation and dropped partition. */
  readonly changes: string;
  /** Changes with a merge too. */
  readonly merges: string;
}

/** What is known of the rows of a relation. */
export interface Storage {
  /** Changes whenever the rows may have changed; null where nothing proves that they have not. */
  readonly id: string | null;
  /** Rows of the tables without parts beneath it: a query reads them whole. Infinite where their number is not known. */
  readonly scannedRows: number;
}

/** Names in one statement: ClickHouse refuses a parameter of more than 128 KiB. */
const MAX_NAMES = 200;

/** Engines whose rows change with their parts only. All others have no version. */
const HAS_PARTS =
  /^(Replicated|Shared)?(Replacing|Coalescing|Summing|Aggregating|(Versioned)?Collapsing|Graphite)?MergeTree$/;

/** Engines whose merges keep the rows, unless the table has a `TTL`. */
const KEEPS_ROWS = /^(Replicated|Shared)?MergeTree$/;

const VIEWS: ReadonlySet<string> = new Set(["View", "MaterializedView"]);

const NO_UUID = "00000000-0000-0000-0000-000000000000";

/**
 * The storage of a relation: definition and parts of each table beneath its views. It has an id where each name in a view is
 * a table that is found, each function gives the same for the same rows, and each table has parts.
 */
export async function storageOf(relation: Relation, read: ReadRows, functions: Functions): Promise<Storage> {
  const { tables, isComplete } = await tablesOf(relation, read);
  const stored = tables.filter(({ engine }) => !VIEWS.has(engine));
  const isProven =
    isComplete &&
    stored.every(({ engine, uuid }) => HAS_PARTS.test(engine) && uuid !== NO_UUID) &&
    tables.every((table) => calls(expressionsOf(table)).every((name) => functions.isDeterministic(name)));
  const isCounted = !tables.some((table) =>
    calls(expressionsOf(table)).some((name) => functions.isUnlimited(name)),
  );
  const scannedRows = isCounted ? stored.reduce((sum, table) => sum + scannedOf(table), 0) : Infinity;
  if (!isProven) return { id: null, scannedRows };
  const parts = await read<Parts>(selectParts(stored));
  const partsOf = new Map(parts.map((each) => [relationKey([each.database, each.name]), each]));
  const found = tables.map((table) => {
    const { changes = "", merges = "" } = partsOf.get(relationKey([table.database, table.name])) ?? {};
    const keepsRows = KEEPS_ROWS.test(table.engine) && !/\bTTL\b/.test(table.definition);
    return [table.uuid, table.definition, table.rows, keepsRows ? changes : merges].join(" ");
  });
  return { id: hash("sha1", found.sort().join("\n")), scannedRows };
}

/** Rows that each query reads. ClickHouse limits those of parts itself; the other servers of a `Distributed` table report theirs. */
function scannedOf({ engine, rows }: Table): number {
  return HAS_PARTS.test(engine) || engine === "Distributed" ? 0 : (rows ?? Infinity);
}

/** A materialized view does not run its query when it is read. */
function expressionsOf({ engine, query, aliases }: Table): string {
  return engine === "View" ? query : aliases;
}

interface FoundTables {
  readonly tables: readonly Table[];
  /** Whether each table that they may read is among them. */
  readonly isComplete: boolean;
}

/** A relation and the tables beneath it. */
async function tablesOf(relation: Relation, read: ReadRows): Promise<FoundTables> {
  const names = new Set([relationKey(relation)]);
  const required = new Set(names);
  const queue = [relation];
  const tables = new Map<string, Table>();
  while (queue.length > 0) {
    for (const table of await read<Table>(selectTables(queue.splice(0, MAX_NAMES)))) {
      const key = relationKey([table.database, table.name]);
      // A table of another database may have the name.
      if (!names.has(key)) continue;
      tables.set(key, table);
      for (const { name, isTable } of sourcesOf(table)) {
        const source = relationKey(name);
        if (!names.has(source)) queue.push(name);
        names.add(source);
        if (isTable) required.add(source);
      }
    }
  }
  const lastNames = new Set([...tables.values()].map(({ name }) => name));
  const isComplete = [...required].every(
    (key) => tables.has(key) || lastNames.has(key.slice(0, key.indexOf("\0"))),
  );
  return { tables: [...tables.values()], isComplete };
}

/** The tables that a view may read: every qualified name in its query; and the table of a `Distributed` one on this server. */
function sourcesOf({ engine, database, uuid, query, definition }: Table) {
  if (engine === "View") return namesIn(query);
  if (engine === "Distributed") {
    const [, schema = "", name = ""] = DISTRIBUTED.exec(definition) ?? [];
    return [{ name: [schema, name] as const, isTable: false }];
  }
  if (engine !== "MaterializedView") return [];
  const [, schema, name] = TARGET.exec(definition) ?? [];
  // Without a target it keeps its rows in a table of its own.
  const stored: Relation =
    schema === undefined || name === undefined
      ? [database, `.inner_id.${uuid}`]
      : [unquoted(schema), unquoted(name)];
  return [{ name: stored, isTable: true }];
}

/** A name of two parts. ClickHouse stores views with the database before each table. */
const QUALIFIED = /(`(?:[^`\\]|\\.)+`|\b[A-Za-z_]\w*)\.(`(?:[^`\\]|\\.)+`|[A-Za-z_]\w*)/;

const DISTRIBUTED = /ENGINE = Distributed\('[^']*', '([^']*)', '([^']*)'/;

const TARGET = new RegExp(`^CREATE MATERIALIZED VIEW [^(]*? TO ${QUALIFIED.source}`);

function selectTables(names: readonly Relation[]): Statement {
  const databases = array([...new Set(names.map(([database]) => database))], "String");
  const tables = array([...new Set(names.map(([, table]) => table))], "String");
  return finished(sql`SELECT t.database AS database, t.name AS name, t.engine AS engine, toString(t.uuid) AS uuid,
      t.create_table_query AS definition, t.as_select AS query, t.total_rows AS rows, ifNull(c.expressions, '') AS aliases
    FROM (SELECT * FROM system.tables WHERE database IN ${databases} AND name IN ${tables}) AS t
    LEFT JOIN (SELECT database, table, arrayStringConcat(groupArray(default_expression), ', ') AS expressions FROM system.columns
      WHERE default_kind = 'ALIAS' AND database IN ${databases} AND table IN ${tables} GROUP BY database, table) AS c
      ON c.database = t.database AND c.table = t.name FORMAT JSONEachRow`);
}

/** The fifth part of a part's name is its last mutation; `data_version` would also change with a merge. */
function selectParts(tables: readonly Table[]): Statement {
  const databases = array([...new Set(tables.map(({ database }) => database))], "String");
  const names = array([...new Set(tables.map(({ name }) => name))], "String");
  return finished(sql`SELECT database, table AS name, toString(sum(cityHash64(partition_id, block, mutation))) AS changes,
      toString(sum(part_names)) AS merges
    FROM (SELECT database, table, partition_id, max(max_block_number) AS block,
        max(toUInt64OrZero(splitByChar('_', name)[5])) AS mutation, sum(cityHash64(name)) AS part_names
      FROM system.parts WHERE active AND database IN ${databases} AND table IN ${names} GROUP BY database, table, partition_id)
    GROUP BY database, table FORMAT JSONEachRow`);
}

/** Runs a statement and parses its rows. */
export type ReadRows = <Row>(statement: Statement) => Promise<readonly Row[]>;

const ALIAS = /\bAS (`(?:[^`\\]|\\.)+`|\w+)|(`(?:[^`\\]|\\.)+`|\w+) AS \(/g;

/** A name in the query of a view. */
interface SourceName {
  readonly name: Relation;
  /** Whether it must be a table: before the dot is no alias of the query. Elsewhere it may be a column (`t.id`). */
  readonly isTable: boolean;
}

/** Every qualified name in a query. */
function namesIn(query: string): readonly SourceName[] {
  const text = withoutStrings(query);
  const aliases = new Set(
    [...text.matchAll(ALIAS)].map(([, after, before]) => unquoted(after ?? before ?? "")),
  );
  return [...text.matchAll(new RegExp(QUALIFIED, "g"))].map(([, schema = "", name = ""]) => ({
    name: [unquoted(schema), unquoted(name)],
    isTable: !aliases.has(unquoted(schema)),
  }));
}

function unquoted(name: string): string {
  return name.startsWith("`") ? name.slice(1, -1).replace(/\\(.)/g, "$1") : name;
}

function withoutStrings(text: string): string {
  return text.replace(/'(?:[^'\\]|\\.|'')*'/g, "''");
}

/** What stands before a bracket and is no function. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `all and any array as asc between by case columns cube desc distinct else except exists from global having ilike in intersect
   interval is join like limit not offset on or over prewhere qualify replace rollup select sets then union using when where with`.split(
    /\s+/,
  ),
);

/** Names of the functions that an expression calls, in lower case; table functions are among them. */
function calls(expression: string): readonly string[] {
  const names = [...withoutStrings(expression).matchAll(/([A-Za-z_]\w*)\s*\(/g)].map(([, name = ""]) => name);
  return names.map((name) => name.toLowerCase()).filter((name) => !KEYWORDS.has(name));
}

export interface Functions {
  /** Whether it gives the same value for the same rows: what ClickHouse itself allows in its query cache. */
  isDeterministic(name: string): boolean;
  /** Whether it is a table function of which ClickHouse reads more rows than `max_rows_to_read`. */
  isUnlimited(name: string): boolean;
}

interface FunctionRow {
  readonly name: string;
  readonly is_aggregate: 0 | 1;
  /** Before 26.1 `is_deterministic`. */
  readonly deterministic?: 0 | 1 | null;
  readonly is_deterministic?: 0 | 1 | null;
}

/** Table functions that end at `max_rows_to_read`, or have few rows; those of which nothing is known are not among them. */
const LIMITED =
  /^(numbers|zeros|generate_?series|generaterandom|values|null|format|remote|cluster|dictionary|loop|view)(_mt|secure|allreplicas|ifpermitted)?$/;

const TABLE_FUNCTIONS: Statement = finished(sql`SELECT name FROM system.table_functions FORMAT JSONEachRow`);

/** A function of users may be replaced; table functions are not among these. */
const FUNCTIONS: Statement = finished(
  sql`SELECT COLUMNS('^(name|is_aggregate|deterministic|is_deterministic)$') FROM system.functions WHERE origin = 'System' FORMAT JSONEachRow`,
);

/** Suffixes of aggregate functions (https://clickhouse.com/docs/sql-reference/aggregate-functions/combinators). */
const COMBINATORS =
  /(if|array|map|state|simplestate|merge|mergestate|foreach|distinct|ordefault|ornull|resample|argmin|argmax)$/;

export async function readFunctions(read: ReadRows): Promise<Functions> {
  const [rows, tables] = await Promise.all([
    read<FunctionRow>(FUNCTIONS),
    read<Pick<FunctionRow, "name">>(TABLE_FUNCTIONS),
  ]);
  const names = (from: readonly FunctionRow[]): Set<string> =>
    new Set(from.map(({ name }) => name.toLowerCase()));
  const aggregates = names(rows.filter((row) => row.is_aggregate === 1));
  const scalars = names(rows.filter((row) => (row.deterministic ?? row.is_deterministic) === 1));
  // Joined rows of one array: it is `deterministic` for no query cache only.
  scalars.add("arrayjoin");
  const isDeterministic = (name: string): boolean =>
    scalars.has(name) ||
    aggregates.has(name) ||
    (COMBINATORS.test(name) && isDeterministic(name.replace(COMBINATORS, "")));
  const unlimited = new Set(
    tables.map(({ name }) => name.toLowerCase()).filter((name) => !LIMITED.test(name)),
  );
  // A function of both kinds, such as `file`, is rare in a view.
  return { isDeterministic, isUnlimited: (name) => unlimited.has(name) };
}

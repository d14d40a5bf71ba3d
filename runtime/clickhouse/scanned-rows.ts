import type { Relation } from "../core/model/endpoint.js";
import { relationKey } from "../core/warehouse/schema-cache.js";
import { sql, type Statement } from "../core/warehouse/sql.js";
import { finished } from "./parameters.js";
import { array } from "./filters.js";

/** A table or view. */
interface ScannedTable {
  readonly database: string;
  readonly name: string;
  readonly engine: string;
  readonly uuid: string;
  /** Its `CREATE` statement. */
  readonly definition: string;
  /** The query of a view. */
  readonly query: string;
  readonly rows: number | null;
}

/** Names in one statement: ClickHouse refuses a parameter of more than 128 KiB. */
const MAX_NAMES = 200;

/** Engines of which ClickHouse itself limits the rows that a query reads, here or on the other servers of a `Distributed` table. */
const LIMITED_ENGINES = /MergeTree$|^Distributed$/;

const VIEWS: ReadonlySet<string> = new Set(["View", "MaterializedView"]);

/** Runs a statement and parses its rows. */
export type ReadRows = <Row>(statement: Statement) => Promise<readonly Row[]>;

/**
 * Rows of the tables without parts beneath a relation: each query reads them whole, whatever `max_rows_to_read` says
 * (`requireAtMost`). Infinite where their number is not known.
 */
export async function scannedRowsOf(relation: Relation, read: ReadRows): Promise<number> {
  const tables = await tablesOf(relation, read);
  const unlimited = new Set(
    (await read<{ readonly name: string }>(TABLE_FUNCTIONS))
      .map(({ name }) => name.toLowerCase())
      .filter((name) => !LIMITED_FUNCTIONS.test(name)),
  );
  // A materialized view does not run its query when it is read.
  const isCounted = tables.every(
    ({ engine, query }) => engine !== "View" || calls(query).every((name) => !unlimited.has(name)),
  );
  const stored = tables.filter(({ engine }) => !VIEWS.has(engine) && !LIMITED_ENGINES.test(engine));
  return isCounted ? stored.reduce((sum, { rows }) => sum + (rows ?? Infinity), 0) : Infinity;
}

/** A relation and the tables beneath it. */
async function tablesOf(relation: Relation, read: ReadRows): Promise<readonly ScannedTable[]> {
  const names = new Set([relationKey(relation)]);
  const queue = [relation];
  const tables = new Map<string, ScannedTable>();
  while (queue.length > 0) {
    for (const table of await read<ScannedTable>(selectTables(queue.splice(0, MAX_NAMES)))) {
      const key = relationKey([table.database, table.name]);
      // A table of another database may have the name.
      if (!names.has(key)) continue;
      tables.set(key, table);
      for (const name of sourcesOf(table)) {
        const source = relationKey(name);
        if (!names.has(source)) queue.push(name);
        names.add(source);
      }
    }
  }
  return [...tables.values()];
}

/** The tables that a view may read: every qualified name in its query; and the table of a `Distributed` one on this server. */
function sourcesOf({ engine, database, uuid, query, definition }: ScannedTable): readonly Relation[] {
  if (engine === "View") return namesIn(query);
  if (engine === "Distributed") {
    const [, schema = "", name = ""] = DISTRIBUTED.exec(definition) ?? [];
    return [[schema, name]];
  }
  if (engine !== "MaterializedView") return [];
  const [, schema, name] = TARGET.exec(definition) ?? [];
  // Without a target it keeps its rows in a table of its own.
  return schema === undefined || name === undefined
    ? [[database, `.inner_id.${uuid}`]]
    : [[unquoted(schema), unquoted(name)]];
}

/** A name of two parts. ClickHouse stores views with the database before each table. */
const QUALIFIED = /(`(?:[^`\\]|\\.)+`|\b[A-Za-z_]\w*)\.(`(?:[^`\\]|\\.)+`|[A-Za-z_]\w*)/;

const DISTRIBUTED = /ENGINE = Distributed\('[^']*', '([^']*)', '([^']*)'/;

const TARGET = new RegExp(`^CREATE MATERIALIZED VIEW [^(]*? TO ${QUALIFIED.source}`);

function selectTables(names: readonly Relation[]): Statement {
  const databases = array([...new Set(names.map(([database]) => database))], "String");
  const tables = array([...new Set(names.map(([, table]) => table))], "String");
  return finished(sql`SELECT database, name, engine, toString(uuid) AS uuid, create_table_query AS definition, as_select AS query,
      total_rows AS rows
    FROM system.tables WHERE database IN ${databases} AND name IN ${tables} FORMAT JSONEachRow`);
}

/** Every qualified name in a query; a column of an alias (`t.id`) names no table. */
function namesIn(query: string): readonly Relation[] {
  return [...withoutStrings(query).matchAll(new RegExp(QUALIFIED, "g"))].map(
    ([, schema = "", name = ""]): Relation => [unquoted(schema), unquoted(name)],
  );
}

function unquoted(name: string): string {
  return name.startsWith("`") ? name.slice(1, -1).replace(/\\(.)/g, "$1") : name;
}

function withoutStrings(text: string): string {
  return text.replace(/'(?:[^'\\]|\\.|'')*'/g, "''");
}

/** Names of the functions that an expression calls, in lower case; table functions are among them. */
function calls(expression: string): readonly string[] {
  return [...withoutStrings(expression).matchAll(/([A-Za-z_]\w*)\s*\(/g)].map(([, name = ""]) =>
    name.toLowerCase(),
  );
}

/** Table functions that end at `max_rows_to_read`, or have few rows; those of which nothing is known are not among them. */
const LIMITED_FUNCTIONS =
  /^(numbers|zeros|generate_?series|generaterandom|values|null|format|remote|cluster|dictionary|loop|view)(_mt|secure|allreplicas|ifpermitted)?$/;

/** A function of both kinds, such as `file`, is rare in a view. */
const TABLE_FUNCTIONS: Statement = finished(sql`SELECT name FROM system.table_functions FORMAT JSONEachRow`);

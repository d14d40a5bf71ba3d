import type { Relation } from "../../model/endpoint.js";
import { sql, type Statement } from "../sql.js";
import { finished } from "./parameters.js";

/** Runs a statement and parses its rows. */
export type ReadRows = <Row>(statement: Statement) => Promise<readonly Row[]>;

/** A name of two parts. ClickHouse stores views with the database before each table. */
export const QUALIFIED = /(`(?:[^`\\]|\\.)+`|\b[A-Za-z_]\w*)\.(`(?:[^`\\]|\\.)+`|[A-Za-z_]\w*)/;

const ALIAS = /\bAS (`(?:[^`\\]|\\.)+`|\w+)|(`(?:[^`\\]|\\.)+`|\w+) AS \(/g;

/** A name in the query of a view. */
interface SourceName {
  readonly name: Relation;
  /** Whether it must be a table: before the dot is no alias of the query. Elsewhere it may be a column (`t.id`). */
  readonly isTable: boolean;
}

/** Every qualified name in a query. */
export function namesIn(query: string): readonly SourceName[] {
  const text = withoutStrings(query);
  const aliases = new Set(
    [...text.matchAll(ALIAS)].map(([, after, before]) => unquoted(after ?? before ?? "")),
  );
  return [...text.matchAll(new RegExp(QUALIFIED, "g"))].map(([, schema = "", name = ""]) => ({
    name: [unquoted(schema), unquoted(name)],
    isTable: !aliases.has(unquoted(schema)),
  }));
}

export function unquoted(name: string): string {
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
export function calls(expression: string): readonly string[] {
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

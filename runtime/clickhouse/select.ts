import type { Relation, SortKey } from "../core/model/endpoint.js";
import { columnsOf, type RowFormat, type Selection } from "../core/model/query.js";
import {
  constant,
  DIRECTIONS,
  EMPTY,
  escapedIdentifier,
  join,
  resolved,
  sql,
  type Sql,
  type Statement,
} from "../core/warehouse/sql.js";
import type { EngineQuery } from "../core/warehouse/base-engine.js";
import type { ServedColumns } from "../core/warehouse/served-columns.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { parseType } from "./filter-types.js";
import { columnOf, compareValues, where } from "./filters.js";
import { comparesKeys, keysetConditions } from "./keyset.js";
import { write, writeJson } from "./output-values.js";
import { finished, parameter } from "./parameters.js";
import { finishedStates, finishedValue } from "./states.js";
import { typeProof } from "./type-proof.js";

/** Does not wait for the query's end. */
export function killQuery(id: string): Statement {
  return finished(sql`KILL QUERY WHERE query_id = ${parameter(id, "String")} ASYNC`);
}

/** A relation, its columns, and how the role reads it. */
export interface SelectSource {
  readonly relation: Relation;
  readonly columns: ResultColumns;
  /** The end of a subquery that is evaluated under the role's own settings. */
  readonly roleSettingsClause: Sql;
  /** The statement in place of the relation, which applies the conditions itself. */
  readonly from?: EngineQuery["from"];
  readonly fromColumns?: EngineQuery["fromColumns"];
  /** Of that statement. */
  readonly compared?: EngineQuery["compared"] | undefined;
}

export function sourceOf(
  {
    relation,
    from,
    fromColumns,
    compared,
  }: Pick<EngineQuery, "relation" | "from" | "fromColumns" | "compared">,
  columns: ResultColumns,
  roleSettingsClause: Sql,
): SelectSource {
  return { relation, columns, roleSettingsClause, ...(from && { from, fromColumns, compared }) };
}

/** The rows of a statement: their columns, their format, and how many at most. */
export interface Output {
  readonly served: ServedColumns;
  readonly format: RowFormat;
  readonly maxRows: number;
}

/** What is selected of a relation, and what is written of that. */
interface WrittenColumns {
  /** The columns themselves where nothing but they is written: no subquery is needed then. */
  readonly plain: Sql | null;
  readonly nested: NestedColumns;
}

interface NestedColumns {
  readonly selected: Sql;
  readonly output: Sql;
}

/** Selects rows and writes them in their format. */
export function selectRows(
  source: SelectSource,
  selection: Selection,
  { served, format, maxRows }: Output,
): Sql {
  const { page } = selection;
  const limit = maxRows === Infinity ? EMPTY : sql` LIMIT ${constant(maxRows)}`;
  const offset = page === null || page.offset === 0 ? EMPTY : sql` OFFSET ${constant(page.offset)}`;
  const written = served.prepared(() => new Map<RowFormat, WrittenColumns>());
  let columns = written.get(format);
  if (columns === undefined) written.set(format, (columns = writtenColumns(source, served.columns, format)));
  const isPlain = columns.plain !== null && evaluatesNothing(source, selection);
  const groups = isPlain ? sortedGroups(source, selection, served.columns) : null;
  if (groups !== null) return sql`${groups}${limit}${offset}`;
  const rows = sql`${filtered(source, selection, served.columns)}${sortOrder(selection, source.columns)}${limit}${offset}`;
  if (isPlain) return sql`SELECT ${columns.plain ?? EMPTY} FROM ${rows}`;
  return fromRows(source, columns.nested, rows);
}

/**
 * A statement of groups that has its order itself, by what its columns are made of: names may mean others under settings of the role.
 * It proves the types of what it reads, from which those of its columns follow; a proof that names an aggregate is not evaluated.
 * 84 groups of 100,000 rows take 0.92 of the processor time that they take in a subquery.
 */
function sortedGroups(
  { columns, from, fromColumns }: SelectSource,
  selection: Selection,
  served: ResultColumns,
): Sql | null {
  const { sort, keyset } = selection;
  if (from === undefined || fromColumns == null || comparesKeys(keyset)) return null;
  const names = [...fromColumns.keys()];
  if (names.length !== served.length || served.some(({ name }, i) => name !== names[i])) return null;
  const keys: Sql[] = [];
  for (const key of sort) {
    const value = fromColumns.get(key[0]);
    if (value === undefined) return null;
    keys.push(orderBy(key, columns, resolved(value, selection) as Sql));
  }
  return sql`${from() as Sql}${ordered(keys)}`;
}

function writtenColumns({ columns }: SelectSource, served: ResultColumns, format: RowFormat): WrittenColumns {
  const values = served.map((column) => shownValue(column));
  const isPlain = served.every((column) => {
    const value = columnOf(column.name);
    const shown = shownValue(column, value);
    return column.key === undefined && shown === value && write(column, shown, format) === value;
  });
  const nested = inSubquery(columns, values, (read) =>
    served.map((column, i) => [column.key ?? column.name, write(column, read[i] ?? EMPTY, format)]),
  );
  return { nested, plain: isPlain ? join(values, ", ") : null };
}

/** States of aggregate functions are shown as their results. */
function shownValue(column: ResultColumn, own = columnOf(column.name)): Sql {
  const value = finishedStates(column, own);
  return finishedValue(value, column.type, column.type) ?? value;
}

/** Selects the number of rows and the bounds of columns, which are null without rows. */
export function selectAggregate(
  source: SelectSource,
  bounded: ResultColumns,
  { conditions }: Selection,
): Sql {
  const bounds = bounded
    .map((column) => shownValue(column))
    .flatMap((value) => [sql`minOrNull(${value})`, sql`maxOrNull(${value})`]);
  const rows = filtered(source, { conditions, sort: [] }, bounded);
  return written(source, [sql`count()`, ...bounds], rows, ([count = EMPTY, ...read]) => [
    ["count", sql`toString(ifNull(${count}, 0))`],
    ...read.map((bound, i): [string, Sql] => [
      `${i % 2 === 0 ? "min" : "max"}${String(i >> 1)}`,
      writeJson(bounded[i >> 1]?.type ?? "String", bound),
    ]),
  ]);
}

/** Selects values of rows, and writes them as columns. */
export function written(
  source: SelectSource,
  values: readonly Sql[],
  rows: Sql,
  write: (read: readonly Sql[]) => readonly (readonly [name: string, value: Sql])[],
): Sql {
  return fromRows(source, inSubquery(source.columns, values, write), rows);
}

/** The names between the two are such that no column has them: neither side takes the one for the other. */
function inSubquery(
  columns: ResultColumns,
  values: readonly Sql[],
  write: (read: readonly Sql[]) => readonly (readonly [name: string, value: Sql])[],
): NestedColumns {
  const prefix = unusedPrefix(columns);
  const names = values.map((_, i) => escapedIdentifier(prefix + String(i)));
  const selected = values.map((value, i) => sql`${value} AS ${names[i] ?? EMPTY}`);
  const output = write(names).map(([name, value]) => sql`${value} AS ${escapedIdentifier(name)}`);
  return { selected: join(selected, ", "), output: join(output, ", ") };
}

/** The rows of a relation, read under the role's own settings, then written under those of the query. `rows`: the rest of the inner `SELECT`. */
function fromRows({ roleSettingsClause }: SelectSource, { selected, output }: NestedColumns, rows: Sql): Sql {
  return sql`SELECT ${output} FROM (SELECT ${selected} FROM ${rows}${roleSettingsClause})`;
}

/**
 * Whether rows are read as a table has stored them, or aggregated by functions of ours alone: nothing reads a setting of the role. A page of
 * 1,000 rows takes 4.1 ms of ClickHouse's processor time so instead of 4.8, 84 groups of 100,000 rows 9.3 instead of 10.
 */
function evaluatesNothing({ columns, from, compared }: SelectSource, { conditions }: Selection): boolean {
  if (from !== undefined) return compared !== undefined && compareValues(conditions, compared.flat());
  return columns[0]?.isStored === true && compareValues(conditions, columns);
}

/** No column begins with it, and no name of an aggregate. */
function unusedPrefix(columns: ResultColumns): string {
  let prefix = "value_";
  while (columns.some(({ name }) => name.startsWith(prefix))) prefix += "_";
  return prefix;
}

export function sortOrder({ sort }: Selection, columns: ResultColumns): Sql {
  return ordered(sort.map((key) => orderBy(key, columns)));
}

function ordered(keys: readonly Sql[]): Sql {
  return keys.length === 0 ? EMPTY : sql` ORDER BY ${join(keys, ", ")}`;
}

/** Nulls are last ascending and first descending; ClickHouse sorts NaN with them. */
function orderBy([column, direction]: SortKey, columns: ResultColumns, value = columnOf(column)): Sql {
  const { name, isNullable } = parseType(columns.find((each) => each.name === column)?.type ?? "String");
  const nulls = direction === "DESC" && (isNullable || /Float/.test(name)) ? sql` NULLS FIRST` : EMPTY;
  return sql`${value} ${DIRECTIONS[direction]}${nulls}`;
}

/** The relation and the conditions on its rows. `read`: the columns whose values are read. */
export function filtered(
  { relation, columns, from }: SelectSource,
  { conditions, sort, keyset }: Pick<Selection, "conditions" | "sort" | "keyset">,
  read: ResultColumns,
): Sql {
  const wheres = [
    ...(from ? [] : conditions.map((condition) => where(condition, columns))),
    ...(keyset === undefined ? [] : keysetConditions(keyset, sort, columns)),
  ];
  const filter = wheres.length > 0 ? sql` WHERE ${join(wheres, " AND ")}` : EMPTY;
  const rows = from ? sql`(${from() as Sql})` : escapedIdentifier(...relation);
  const compared = [...(from ? [] : conditions.flatMap(columnsOf)), ...sort.map(([column]) => column)];
  const used = new Set([...read.map(({ name }) => name), ...compared]);
  const values = columns
    .filter(({ name }) => used.has(name))
    .map((column) => ({ value: columnOf(column.name), column }));
  return sql`${rows}${filter}${typeProof(values)}`;
}

/** The statement that runs a selection and prints its rows. */
export function printed(select: Sql, format: RowFormat): Statement {
  return finished(sql`${select} FORMAT ${FORMATS[format]}`);
}

const FORMATS: Readonly<Record<RowFormat, Sql>> = {
  json: sql`JSONEachRow`,
  "json-strings": sql`JSONEachRow`,
  "json-declared": sql`JSONEachRow`,
  ndjson: sql`JSONEachRow`,
  csv: sql`CSV`,
  spreadsheet: sql`CSV`,
  parquet: sql`Parquet`,
  arrow: sql`Arrow`,
  "arrow-stream": sql`ArrowStream`,
};

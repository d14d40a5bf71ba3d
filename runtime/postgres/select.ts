import { conditionForm, groupingKey } from "../core/model/query-key.js";
import type { EngineQuery } from "../core/warehouse/base-engine.js";
import { servedOf } from "../core/warehouse/served-columns.js";
import type { Relation, SortKey } from "../core/model/endpoint.js";
import { columnsOf, type Page, type Selection } from "../core/model/query.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { columnValue, placeholder, showsType, sortKeyOf, typeField, typesOf } from "./columns.js";
import { hiddenKeys, PlannedRows, PreparedColumns, preparedOf, type RowFields } from "./prepared-columns.js";
import { PATH, variantOf, where } from "./filters.js";
import { rangesAfter } from "./keyset.js";
import { aggregateName } from "./qualified-names.js";
import {
  bind,
  constant,
  type BindValue,
  DIRECTIONS,
  EMPTY,
  identifier,
  join,
  plan,
  routeComment,
  sql,
  statement,
  type Sql,
  type Statement,
} from "../core/warehouse/sql.js";

/** What a statement returns: rows, or aggregates of these columns. */
type StatementUse = "rows" | `aggregate ${string}`;

/** What rows are selected from. */
export type RowsFrom = Pick<EngineQuery, "relation" | "from" | "read" | "route">;

/** A statement with what it was made of. */
export interface RowsStatement extends Statement {
  readonly planned: PlannedRows;
}

/** The statement, from the plan of its form, which is all of the selection except the values. */
function planned(
  use: StatementUse,
  rowsFrom: RowsFrom,
  columns: ResultColumns,
  selection: Selection,
  make: (parts: SelectParts) => PlannedSelect,
): RowsStatement {
  const { relation, from, read, route } = rowsFrom;
  const prepared = preparedOf(servedOf(columns, selection.columns));
  const { columns: served } = prepared;
  const readTypes = (read ?? []).flatMap(({ columns: all }) => all.map(({ oid = 0 }) => oid));
  const form = `${route ?? ""}\0${readTypes.join()}\0${statementForm(use, relation, selection, comparedIn(rowsFrom, columns, selection))}`;
  const made = prepared.plan(form, () => {
    const { body, fields } = make({ relation, from, read, columns, served, selection });
    const text = sql`${body} ${typesOf(fields.expected)}${routeComment(route)}`;
    return new PlannedRows(plan(text, placeholder), fields);
  });
  return Object.assign(statement(made.plan, selection), { planned: made });
}

/** What conditions compare. Those of groups name other columns than the results: where a path is read, any of them may be one. */
function comparedIn(
  { read = [] }: RowsFrom,
  columns: ResultColumns,
  { conditions }: Selection,
): ResultColumns {
  const [path] = read.flatMap((each) => each.columns.filter(({ type }) => type === PATH));
  return path === undefined ? columns : conditions.flatMap(columnsOf).map((name) => ({ ...path, name }));
}

interface PlannedSelect {
  readonly body: Sql<Selection>;
  readonly fields: RowFields;
}

interface SelectParts extends Pick<RowsFrom, "relation"> {
  /** The statement in place of the relation, which applies the conditions itself. */
  readonly from: RowsFrom["from"] | undefined;
  readonly read: RowsFrom["read"] | undefined;
  /** All columns of the relation. */
  readonly columns: ResultColumns;
  readonly served: ResultColumns;
  readonly selection: Selection;
}

/** U+0000 separates the parts: no name of PostgreSQL can contain it. */
function statementForm(
  use: StatementUse,
  [schema, name]: Relation,
  { conditions, sort, page, keyset, grouping }: Selection,
  columns: ResultColumns,
): string {
  let form = `${use}\0${schema}\0${name}\0`;
  if (grouping !== undefined) form += groupingKey(grouping);
  form += page === null ? "" : `${page.lookAhead ? "look ahead" : "page"}${pageForm(page)}`;
  for (const condition of conditions) form += conditionForm(condition, (each) => variantOf(each, columns));
  for (const [column, direction] of sort) form += `\0\0${column}\0${direction}`;
  // Which of the values are null decides the conditions.
  if (keyset !== undefined)
    form += `\0\0\0${(keyset.after ?? []).map((value) => (value === null ? "0" : "1")).join("")}`;
  return form;
}

/** The part of a page that is in the statement's text. */
function pageForm(page: Page): string {
  return `${hasCommonLimit(page) ? String(page.limit) : ""}${page.offset > 0 ? "+" : ""}`;
}

/**
 * With the limit in the text PostgreSQL reuses a generic plan; with a bind parameter it plans each execution, which takes
 * longer than a small query. The common limits are few enough to prepare a statement for each.
 */
function hasCommonLimit({ limit }: Page): boolean {
  return limit <= 10 || (limit <= 100 && limit % 5 === 0) || (limit <= 1000 && limit % 50 === 0);
}

/** Whether pages follow each other by the sort key of their last row. */
const hasCursor = ({ page, keyset }: Selection): boolean => keyset !== undefined && page !== null;

/** Selects the rows of the page, each value as PostgreSQL has it (`columnValue`): at most one row past the page if it looks ahead. */
export function selectRows(rowsFrom: RowsFrom, columns: ResultColumns, selection: Selection): RowsStatement {
  return planned("rows", rowsFrom, columns, selection, (parts) => {
    const sort = hasCursor(selection) ? selection.sort : null;
    const hidden = sort === null ? [] : hiddenKeys(columns, parts.served, sort);
    const typed = typedColumns(parts, parts.served);
    const names = [...new Set([...parts.served, ...hidden].map(({ name }) => name))];
    const values = [
      ...parts.served.map(columnValue),
      ...hidden.map((key) => sortKeyOf(key).select(sql`t.${identifier(key.name)}`)),
      ...typed.map(({ column, source }) => typeField(column, source)),
    ];
    const limit = pageLimit(selection);
    // Values are made after the limit: a sort does not carry them.
    const rows = sql`SELECT ${columnList(names)} FROM ${source(parts, names, limit)}${order(selection)}${limit}`;
    const prepared = preparedOf(servedOf(columns, selection.columns));
    return {
      body: sql`SELECT ${join(values, ", ")} FROM (${rows}) t`,
      fields: prepared.fields(
        columns,
        sort,
        typed.map(({ column }) => column),
      ),
    };
  });
}

/** The results of `selectAggregate`. */
export function aggregateColumns(bounded: ResultColumns): ResultColumns {
  const bounds = bounded.flatMap((column, i) =>
    (["min", "max"] as const).map((name) => ({ ...column, name: `${name}${String(i)}` })),
  );
  return [{ name: "count", type: "int8" }, ...bounds];
}

/** Selects the number of rows and the bounds of columns. */
export function selectAggregate(
  rowsFrom: RowsFrom,
  columns: ResultColumns,
  bounded: ResultColumns,
  selection: Selection,
): RowsStatement {
  const { columns: declared, conditions, labels, grouping } = selection;
  const all: Selection = {
    ...(declared && { columns: declared }),
    ...(grouping && { grouping }),
    ...(labels && { labels }),
    conditions,
    sort: [],
    page: null,
  };
  return planned(`aggregate ${JSON.stringify(bounded)}`, rowsFrom, columns, all, (parts) => {
    const bounds = bounded.flatMap((column, i) => [
      sql`${aggregateName("min", column)}(s.${identifier(column.name)}) AS ${identifier(`min${String(i)}`)}`,
      sql`${aggregateName("max", column)}(s.${identifier(column.name)}) AS ${identifier(`max${String(i)}`)}`,
    ]);
    const aggregates = join([sql`pg_catalog.count(*) AS count`, ...bounds], ", ");
    const rows = sql`SELECT ${aggregates} FROM ${source(parts, [], EMPTY)}`;
    const results = aggregateColumns(bounded);
    const typed = typedColumns(parts, []);
    const values = [
      ...results.map(columnValue),
      ...typed.map(({ column, source }) => typeField(column, source)),
    ];
    return {
      body: sql`SELECT ${join(values, ", ")} FROM (${rows}) t`,
      fields: new PreparedColumns(results).fields(
        [],
        null,
        typed.map(({ column }) => column),
      ),
    };
  });
}

/** A column whose type a field shows, and what it is selected from. */
interface TypeField {
  readonly column: ResultColumn;
  readonly source: Sql;
}

/** The columns that decide rows or their text while no field of `shown` has their type. */
function typedColumns(parts: SelectParts, shown: ResultColumns): readonly TypeField[] {
  const { relation, from, read = [], columns, selection } = parts;
  if (from)
    return read.flatMap(({ select, columns: all }) =>
      all.filter(hasType).map((column) => ({ column, source: sql`(${select})` })),
    );
  const used = new Set([
    ...shown.filter((column) => !showsType(column)).map(({ name }) => name),
    ...[...selection.conditions.flatMap(columnsOf), ...selection.sort.map(([column]) => column)].filter(
      (name) => !shown.some((column) => column.name === name && showsType(column)),
    ),
  ]);
  return columns
    .filter((column) => used.has(column.name) && hasType(column))
    .map((column) => ({ column, source: identifier(...relation) }));
}

const hasType = ({ oid }: ResultColumn): boolean => oid !== undefined;

const columnList = (names: readonly string[]): Sql =>
  join(
    names.map((name) => sql`s.${identifier(name)}`),
    ", ",
  );

function pageLimit({ page }: Selection): Sql<Selection> {
  if (page === null) return EMPTY;
  const limit = hasCommonLimit(page) ? constant(rowsOf(page)) : bind(maxRows);
  return sql` LIMIT ${limit}${offset(page)}`;
}

function offset(page: Page): Sql<Selection> {
  return page.offset === 0 ? EMPTY : sql` OFFSET ${bind(offsetOf)}`;
}

/**
 * The first `limit` of the selected rows of the relation, or all of them, as `s`. Those after a key are the union of ranges of
 * the sort's index, each with the limit, so that PostgreSQL reads no more of any: one condition with `OR` would read the
 * index from its start.
 */
function source(
  { relation, from, columns, selection }: SelectParts,
  names: readonly string[],
  limit: Sql<Selection>,
): Sql<Selection> {
  const { conditions, sort, keyset } = selection;
  const filters = from ? [] : conditions.map((condition, i) => where(condition, i, columns));
  const table = from ? sql`(${from()})` : identifier(...relation);
  const rows = (range: readonly Sql<Selection>[]): Sql<Selection> => {
    const all = [...filters, ...range];
    const filter = all.length > 0 ? sql` WHERE ${join(all, " AND ")}` : EMPTY;
    return sql`${table} AS s${filter}`;
  };
  if (!keyset?.after) return rows([]);
  const list = columnList([...new Set([...names, ...sort.map(([column]) => column)])]);
  const ranges = rangesAfter(sort, keyset.after, columns).map(
    (range) => sql`(SELECT ${list} FROM ${rows(range)}${order(selection)}${limit})`,
  );
  return sql`(${join(ranges, " UNION ALL ")}) AS s`;
}

function order({ sort }: Selection): Sql {
  return sort.length > 0 ? sql` ORDER BY ${join(sort.map(orderBy), ", ")}` : EMPTY;
}

const offsetOf = ({ page }: Selection): BindValue => page?.offset ?? 0;
const rowsOf = ({ limit, lookAhead }: Page): number => limit + (lookAhead ? 1 : 0);
const maxRows = ({ page }: Selection): BindValue => (page === null ? null : rowsOf(page));

function orderBy([column, direction]: SortKey): Sql {
  return sql`s.${identifier(column)} ${DIRECTIONS[direction]}`;
}

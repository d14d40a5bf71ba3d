import { servedColumns } from "../relations.js";
import type { Relation, SortKey } from "../../model/endpoint.js";
import type { Page, Selection } from "../../model/query.js";
import { BUFFERED_BYTES, BUFFERED_ROWS, type ResultColumn, type ResultColumns } from "../warehouse.js";
import { columnText, isUnbounded, kindOf, placeholder } from "./postgres-columns.js";
import { where } from "./postgres-filters.js";
import { keyOf, rangesAfter } from "./postgres-keyset.js";
import {
  bind,
  constant,
  type BindValue,
  DIRECTIONS,
  EMPTY,
  identifier,
  join,
  plan,
  type Plan,
  sql,
  statement,
  type Sql,
  type Statement,
} from "../sql.js";

/** Cached plans per relation. Bounded, since callers choose the filters. */
const MAX_PLANS = 200;

/** Building a statement takes longer than the rest of a small request. By served columns, then by form of the selection. */
const plans = new WeakMap<ResultColumns, Map<string, Plan<Selection>>>();

/** What a statement returns: the rows as one text, within the bounds of a buffered result, or all of them; or aggregates of these columns. */
type Use = "text" | "rows" | "each" | `aggregate ${string}`;

/** The statement, from the plan of its form, which is all of the selection except the values. */
function planned(
  use: Use,
  relation: Relation,
  columns: ResultColumns,
  selection: Selection,
  make: (parts: SelectParts) => Sql<Selection>,
): Statement {
  const served = servedColumns(columns, selection.columns);
  let known = plans.get(served);
  if (!known) plans.set(served, (known = new Map<string, Plan<Selection>>()));
  const form = formOf(use, relation, selection);
  const made = known.get(form) ?? plan(make({ relation, columns, served, selection }), placeholder);
  if (known.size < MAX_PLANS) known.set(form, made);
  return statement(made, selection);
}

interface SelectParts {
  readonly relation: Relation;
  /** All columns of the relation. */
  readonly columns: ResultColumns;
  readonly served: ResultColumns;
  readonly selection: Selection;
}

/** U+0000 separates the parts: no name of PostgreSQL can contain it. */
function formOf(use: Use, [schema, name]: Relation, { conditions, sort, page, keyset }: Selection): string {
  let form = `${use}\0${schema}\0${name}\0`;
  form += page === null ? "" : `${page.lookAhead ? "look ahead" : "page"}${pageForm(page)}`;
  for (const { column, operator, value, timezone = "", ...filter } of conditions) {
    const variant = operator === "null" ? String(value) : "case" in filter ? (filter.case ?? "") : "";
    form += `\0${column}\0${operator}\0${variant}\0${timezone}`;
  }
  for (const [column, direction] of sort) form += `\0\0${column}\0${direction}`;
  // Which of the values are null decides the conditions.
  if (keyset !== undefined)
    form += `\0\0\0${(keyset.after ?? []).map((value) => (value === null ? "0" : "1")).join("")}`;
  return form;
}

/** The part of a page that is in the statement's text. */
function pageForm(page: Page): string {
  return `${hasCommonLimit(page) ? String(Math.min(page.limit, BUFFERED_ROWS + 1)) : ""}${page.offset > 0 ? "+" : ""}`;
}

/**
 * With the limit in the text PostgreSQL reuses a generic plan; with a bind parameter it plans each execution, which takes
 * longer than a small query. The common limits are few enough to prepare a statement for each.
 */
function hasCommonLimit({ limit }: Page): boolean {
  return limit <= 10 || (limit <= 100 && limit % 5 === 0) || limit % 50 === 0 || limit > BUFFERED_ROWS;
}

/** Separates the values of all rows, and stands for null. A value that contains the separator, or is the mark, is rare. */
export const VALUE_SEPARATOR = "\x1f";
export const NULL_MARK = "\x1e";

/**
 * Selects one row: the text of all values, row by row, with `VALUE_SEPARATOR` between them, then the number of rows, at most
 * one past the page and one past `BUFFERED_ROWS`, then the key of the next page. No row when a buffered result may not have so many or so large rows.
 *
 * The SQL is that of PostgreSQL 14 and newer. Requires a session with time zone UTC and date style ISO.
 */
export function selectText(relation: Relation, columns: ResultColumns, selection: Selection): Statement {
  return planned("text", relation, columns, selection, (parts) => {
    const text = joined(parts.served.map(markedValue));
    const fitting = parts.served.some(isUnbounded) ? sql`CASE WHEN ${fits(parts)} THEN ${text} END` : text;
    const rows = sql`SELECT ${fitting} AS r FROM (${bufferedRows(parts)}) u OFFSET 0`;
    const all = sql`string_agg(r, E'\\x1f')`;
    const isBounded = isPageBuffered(selection) ? EMPTY : sql` AND count(*) <= ${constant(BUFFERED_ROWS)}`;
    return sql`SELECT ${all}, count(*) AS found${bufferedNextKey(parts)} FROM (${rows}) v HAVING count(r) = count(*) AND (octet_length(${all}) > ${constant(BUFFERED_BYTES)}) IS NOT TRUE${isBounded}`;
  });
}

/** PostgreSQL passes at most 100 arguments to a function. */
const MAX_JOINED = 90;

function joined(values: readonly Sql[]): Sql {
  if (values.length === 0) return sql`''`;
  if (values.length <= MAX_JOINED) return sql`concat_ws(E'\\x1f', ${join(values, ", ")})`;
  const groups = Math.ceil(values.length / MAX_JOINED);
  return joined(
    Array.from({ length: groups }, (_, i) => joined(values.slice(i * MAX_JOINED, (i + 1) * MAX_JOINED))),
  );
}

/**
 * Selects the rows as text, whether all fits into a buffered result (a value of a row that does not is null), and the key of
 * the next page.
 */
export function selectRows(relation: Relation, columns: ResultColumns, selection: Selection): Statement {
  return planned("rows", relation, columns, selection, (parts) => {
    const values = parts.served.map((column, i) =>
      isUnbounded(column) ? sql`CASE WHEN fits THEN ${nameOf(i)} END` : nameOf(i),
    );
    const rows = sql`SELECT *, ${fits(parts)} AS fits FROM (${bufferedRows(parts)}) u OFFSET 0`;
    return sql`SELECT ${join([...values, sql`fits`], ", ")}${bufferedNextKey(parts)} FROM (${rows}) v`;
  });
}

/** Selects all rows of the page as text, each with the key of the next page: at most one past it if it looks ahead. */
export function selectEach(relation: Relation, columns: ResultColumns, selection: Selection): Statement {
  return planned("each", relation, columns, selection, (parts) =>
    textRows(parts, pageLimit(selection), nextKey(parts)),
  );
}

/** The results of `selectAggregate`. */
export function aggregateColumns(bounded: ResultColumns): ResultColumns {
  const bounds = bounded.flatMap((column, i) =>
    (["min", "max"] as const).map((name) => ({ ...column, name: `${name}${String(i)}` })),
  );
  return [{ name: "count", type: "int8" }, ...bounds];
}

/** Selects the number of rows and the bounds of columns, as text. */
export function selectAggregate(
  relation: Relation,
  columns: ResultColumns,
  bounded: ResultColumns,
  selection: Selection,
): Statement {
  const { columns: declared, conditions } = selection;
  const all: Selection = { ...(declared && { columns: declared }), conditions, sort: [], page: null };
  return planned(`aggregate ${JSON.stringify(bounded)}`, relation, columns, all, (parts) => {
    const bounds = bounded.flatMap(({ name }, i) => [
      sql`min(s.${identifier(name)}) AS ${identifier(`min${String(i)}`)}`,
      sql`max(s.${identifier(name)}) AS ${identifier(`max${String(i)}`)}`,
    ]);
    const aggregates = join([sql`count(*) AS count`, ...bounds], ", ");
    const rows = sql`SELECT ${aggregates} FROM ${source(parts, [], EMPTY)}`;
    return sql`SELECT ${join(aggregateColumns(bounded).map(columnText), ", ")} FROM (${rows}) t`;
  });
}

const nameOf = (i: number): Sql => identifier(`c${String(i)}`);

/** A text that is the null mark becomes the separator, which tells the reader that the values are not these. */
function markedValue(column: ResultColumn, i: number): Sql {
  const name = nameOf(i);
  const value = sql`coalesce(${name}, E'\\x1e')`;
  return kindOf(column) === "text" ? sql`CASE ${name} WHEN E'\\x1e' THEN E'\\x1f' ELSE ${value} END` : value;
}

/** The texts of the rows of a buffered result. */
function bufferedRows(parts: SelectParts): Sql<Selection> {
  return sql`${textRows(parts, bufferedLimit(parts.selection))} OFFSET 0`;
}

/** Whether a row is within its share of the bytes, which bounds the database's memory. */
function fits({ served, selection }: SelectParts): Sql {
  const lengths = served.flatMap((column, i) =>
    isUnbounded(column) ? [sql`coalesce(octet_length(${nameOf(i)}), 0)`] : [],
  );
  return sql`${join([constant(0), ...lengths], " + ")} <= ${constant(rowShare(selection))}`;
}

function rowShare({ page }: Selection): number {
  const rows = page !== null && hasCommonLimit(page) ? Math.min(page.limit, BUFFERED_ROWS) : BUFFERED_ROWS;
  return Math.max(SMALLEST_ROW_PART, BUFFERED_BYTES / rows);
}

/** Minimum share of a row, in bytes. */
const SMALLEST_ROW_PART = 32 * 1024;

/** Whether a page of this limit is within the rows of a buffered result. */
function isPageBuffered({ page }: Selection): boolean {
  return page !== null && page.limit <= BUFFERED_ROWS;
}

/** The text of the selected rows. It is made after the limit: a sort does not carry it. */
function textRows(
  { relation, columns, served, selection }: SelectParts,
  limit: Sql<Selection>,
  next: Sql<Selection> = EMPTY,
): Sql<Selection> {
  const names = served.map(({ name }) => name);
  const texts = served.map((column, i) => sql`${columnText(column)} AS ${nameOf(i)}`);
  const parts = { relation, columns, served, selection };
  const rows = sql`SELECT ${columnList(names)} FROM ${source(parts, names, limit)}${order(selection)}${limit}`;
  return sql`SELECT ${join(texts, ", ")}${next} FROM (${rows}) t`;
}

const columnList = (names: readonly string[]): Sql =>
  join(
    names.map((name) => sql`s.${identifier(name)}`),
    ", ",
  );

function pageLimit({ page }: Selection): Sql<Selection> {
  return page === null ? EMPTY : sql` LIMIT ${bind(maxRows)}${offset(page)}`;
}

/** The same, up to one row more than is buffered. */
function bufferedLimit(selection: Selection): Sql<Selection> {
  const { page } = selection;
  if (page === null) return sql` LIMIT ${constant(BUFFERED_ROWS + 1)}`;
  const limit = hasCommonLimit(page) ? constant(maxBufferedRows(selection)) : bind(maxBufferedRows);
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
  { relation, columns, selection }: SelectParts,
  names: readonly string[],
  limit: Sql<Selection>,
): Sql<Selection> {
  const { conditions, sort, keyset } = selection;
  const filters = conditions.map((condition, i) => where(condition, i, columns));
  const rows = (range: readonly Sql<Selection>[]): Sql<Selection> => {
    const all = [...filters, ...range];
    const filter = all.length > 0 ? sql` WHERE ${join(all, " AND ")}` : EMPTY;
    return sql`${identifier(...relation)} AS s${filter}`;
  };
  if (!keyset?.after) return rows([]);
  const list = columnList([...new Set([...names, ...sort.map(([column]) => column)])]);
  const ranges = rangesAfter(sort, keyset.after).map(
    (range) => sql`(SELECT ${list} FROM ${rows(range)}${order(selection)}${limit})`,
  );
  return sql`(${join(ranges, " UNION ALL ")}) AS s`;
}

/** The key of the page's last row, null where no row follows. Of one snapshot with the rows, so that none slips between pages. */
function nextKey(parts: SelectParts): Sql<Selection> {
  const { sort, page, keyset } = parts.selection;
  if (keyset === undefined || page === null) return EMPTY;
  const names = sort.map(([column]) => column);
  const rows = sql`${source(parts, names, sql` LIMIT ${bind(maxRows)}`)}${order(parts.selection)}`;
  const last = sql`SELECT ${keyOf(sort)} AS k FROM ${rows} LIMIT 2 OFFSET ${bind(lastOf)}`;
  return sql`, (SELECT CASE WHEN count(*) = 2 THEN (array_agg(k))[1] END FROM (${last}) n) AS next`;
}

/** No row follows a buffered result of a larger page. */
function bufferedNextKey(parts: SelectParts): Sql<Selection> {
  return isPageBuffered(parts.selection) ? nextKey(parts) : EMPTY;
}

function order({ sort }: Selection): Sql {
  return sort.length > 0 ? sql` ORDER BY ${join(sort.map(orderBy), ", ")}` : EMPTY;
}

const offsetOf = ({ page }: Selection): BindValue => page?.offset ?? 0;
const lastOf = ({ page }: Selection): number => (page?.offset ?? 0) + (page?.limit ?? 0) - 1;
const maxRows = ({ page }: Selection): number => (page?.limit ?? 0) + (page?.lookAhead ? 1 : 0);
const maxBufferedRows = (selection: Selection): number => Math.min(maxRows(selection), BUFFERED_ROWS + 1);

function orderBy([column, direction]: SortKey): Sql {
  return sql`s.${identifier(column)} ${DIRECTIONS[direction]}`;
}

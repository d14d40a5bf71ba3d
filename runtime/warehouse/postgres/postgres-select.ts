import { servedColumns } from "../relations.js";
import type { Relation, SortKey } from "../../model/endpoint.js";
import type { Page, RowFormat, Selection } from "../../model/query.js";
import {
  type Dialect,
  type ResultColumns,
  BUFFERED_BYTES,
  BUFFERED_ROWS,
  type OutputStyle,
} from "../warehouse.js";
import { describe, hasPlainStyle, isPlain, outputColumns, placeholder, record } from "./postgres-columns.js";
import { where } from "./postgres-filters.js";
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

/** What depends on the columns alone, and the plans by form. */
interface ColumnsPlans {
  readonly hasPlainStyle: boolean;
  readonly plans: Map<string, Plan<Selection>>;
}

/** Plans by columns, relation and form of the selection, which is all of it except the values. */
class PlanCache {
  readonly #plans = new WeakMap<ResultColumns, ColumnsPlans>();

  /** Whether the two styles differ for these columns. */
  hasPlainStyle(served: ResultColumns): boolean {
    return this.#of(served).hasPlainStyle;
  }

  /** `use`: `buffered` or `each`, and the format. */
  of(
    use: string,
    relation: Relation,
    columns: ResultColumns,
    selection: Selection,
    make: () => Plan<Selection>,
  ): Plan<Selection> {
    const served = servedColumns(columns, selection.columns);
    const { plans } = this.#of(served);
    const form = formOf(use, relation, selection);
    const known = plans.get(form);
    if (known) return known;
    const made = make();
    if (plans.size < MAX_PLANS) plans.set(form, made);
    return made;
  }

  #of(served: ResultColumns): ColumnsPlans {
    const known = this.#plans.get(served);
    if (known) return known;
    const made = { hasPlainStyle: hasPlainStyle(served), plans: new Map<string, Plan<Selection>>() };
    this.#plans.set(served, made);
    return made;
  }
}

/** U+0000 separates the parts: no name of PostgreSQL can contain it. */
function formOf(use: string, [schema, name]: Relation, { conditions, sort, page }: Selection): string {
  let form = `${use}\0${schema}\0${name}\0`;
  form += page === null ? "" : `${page.lookAhead ? "look ahead" : "page"}${pageForm(page)}`;
  for (const { column, operator, ...filter } of conditions) {
    form += `\0${column}\0${operator}\0${"case" in filter ? (filter.case ?? "") : ""}`;
  }
  for (const [column, direction] of sort) form += `\0\0${column}\0${direction}`;
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

/** The SQL of PostgreSQL 14 and newer. Requires a session with time zone UTC and date style ISO. */
export const postgresDialect: Dialect = {
  describe,
  selectBuffered,
  selectEach,
  hasPlainStyle: (columns) => plans.hasPlainStyle(columns),
};

function selectBuffered(
  relation: Relation,
  columns: ResultColumns,
  selection: Selection,
  format: RowFormat,
  style: OutputStyle,
): Statement {
  const make = (): Plan<Selection> =>
    plan(bufferedSelect(relation, columns, selection, format, style), placeholder);
  return statement(plans.of(`buffered ${style} ${format}`, relation, columns, selection, make), selection);
}

function selectEach(
  relation: Relation,
  columns: ResultColumns,
  selection: Selection,
  format: RowFormat,
): Statement {
  const make = (): Plan<Selection> => plan(rowSelect(relation, columns, selection, format), placeholder);
  return statement(plans.of(`each ${format}`, relation, columns, selection, make), selection);
}

/** Building a statement takes longer than the rest of a small request. */
const plans = new PlanCache();

const SEPARATORS: Readonly<Record<RowFormat, { readonly text: Sql; readonly bytes: number }>> = {
  json: { text: sql`','`, bytes: 1 },
  "json-strings": { text: sql`','`, bytes: 1 },
  ndjson: { text: sql`E'\\n'`, bytes: 1 },
  csv: { text: sql`E'\\r\\n'`, bytes: 2 },
  spreadsheet: { text: sql`E'\\r\\n'`, bytes: 2 },
};

function bufferedSelect(
  relation: Relation,
  columns: ResultColumns,
  selection: Selection,
  format: RowFormat,
  style: OutputStyle,
): Sql<Selection> {
  const served = servedColumns(columns, selection.columns);
  const rows = sql`${selectRows(relation, columns, selection, style)}${bufferedLimit(selection)}`;
  const plain = style === "plain" ? sql`, ${isPlain(served)} AS plain` : EMPTY;
  const each = sql`SELECT ${record(served, format)} AS j${plain} FROM (${rows}) t OFFSET 0`;
  const bounded = sql`SELECT ${boundedRow(selection, style)} AS j FROM (${each}) e`;
  const aggregate = unlessTooLarge(sql`string_agg(j, ${SEPARATORS[format].text})`, selection);
  const beyond =
    selection.page?.lookAhead === true ? sql`, ${bytesBeyond(selection, format)} AS beyond` : EMPTY;
  return sql`SELECT ${aggregate} AS rows, count(*)::int AS found${beyond} FROM (${bounded}) r`;
}

/** Length of the row past the page. Numbering the rows and filtering the last one takes longer. */
function bytesBeyond(selection: Selection, format: RowFormat): Sql<Selection> {
  const separator = constant(SEPARATORS[format].bytes);
  return sql`(array_agg(octet_length(j)))[${limitOfPage(selection)} + 1] + ${separator}`;
}

/** Null instead of more rows or bytes than a buffered result may have. */
function unlessTooLarge(aggregate: Sql<Selection>, { page }: Selection): Sql<Selection> {
  const isBounded = page !== null && page.limit <= BUFFERED_ROWS;
  const rows = isBounded ? EMPTY : sql` AND count(*) <= ${constant(BUFFERED_ROWS)}`;
  return sql`CASE WHEN count(j) = count(*) AND sum(octet_length(j)) <= ${constant(BUFFERED_BYTES)}${rows} THEN ${aggregate} END`;
}

/** Null instead of a row above its share of the bytes, which bounds the database's memory too. */
function boundedRow({ page }: Selection, style: OutputStyle): Sql {
  const rows = page !== null && hasCommonLimit(page) ? Math.min(page.limit, BUFFERED_ROWS) : BUFFERED_ROWS;
  const plain = style === "plain" ? sql` AND plain` : EMPTY;
  return sql`CASE WHEN octet_length(j) <= ${constant(Math.max(SMALLEST_ROW_PART, BUFFERED_BYTES / rows))}${plain} THEN j END`;
}

/** Minimum share of a row, in bytes. */
const SMALLEST_ROW_PART = 32 * 1024;

function rowSelect(
  relation: Relation,
  columns: ResultColumns,
  selection: Selection,
  format: RowFormat,
): Sql<Selection> {
  const rows = sql`${selectRows(relation, columns, selection, "exact")}${pageLimit(selection)}`;
  return sql`SELECT ${record(servedColumns(columns, selection.columns), format)} FROM (${rows}) t`;
}

function selectRows(
  relation: Relation,
  columns: ResultColumns,
  selection: Selection,
  style: OutputStyle,
): Sql<Selection> {
  const filtered = filterAndOrder(columns, selection);
  const output = outputColumns(servedColumns(columns, selection.columns), style);
  return sql`SELECT ${output} FROM ${identifier(...relation)} AS s${filtered}`;
}

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

/** The page's limit, without the row past it. */
function limitOfPage({ page }: Selection): Sql<Selection> {
  return page !== null && hasCommonLimit(page)
    ? constant(Math.min(page.limit, BUFFERED_ROWS + 1))
    : sql`${bind(limitOf)}::int`;
}

function filterAndOrder(
  columns: ResultColumns,
  { columns: declared = [], conditions, sort }: Selection,
): Sql<Selection> {
  const wheres = conditions.map((condition, i) => where(condition, i, columns, declared));
  const filter = wheres.length > 0 ? sql` WHERE ${join(wheres, " AND ")}` : EMPTY;
  const order = sort.length > 0 ? sql` ORDER BY ${join(sort.map(orderBy), ", ")}` : EMPTY;
  return sql`${filter}${order}`;
}

const limitOf = ({ page }: Selection): BindValue => page?.limit ?? 0;
const offsetOf = ({ page }: Selection): BindValue => page?.offset ?? 0;
const maxRows = ({ page }: Selection): number => (page?.limit ?? 0) + (page?.lookAhead ? 1 : 0);
const maxBufferedRows = (selection: Selection): number => Math.min(maxRows(selection), BUFFERED_ROWS + 1);

function orderBy([column, direction]: SortKey): Sql {
  return sql`s.${identifier(column)} ${DIRECTIONS[direction]}`;
}

import type { Relation, SortKey } from "../model/endpoint.js";
import {
  type Dialect,
  type ResultColumns,
  BUFFERED_BYTES,
  BUFFERED_ROWS,
  servedColumns,
  type OutputStyle,
  type Page,
  type RowFormat,
  type Selection,
} from "./warehouse.js";
import { where } from "./postgres-filters.js";
import { hasPlainStyle, isPlain, outputColumns, record } from "./postgres-output.js";
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
} from "./sql.js";

/** Cached plans per relation. Bounded, since callers choose the filters. */
const MAX_PLANS = 200;

/** Plans by columns, relation and form of the selection, which is all of it except the values. */
class PlanCache {
  readonly #plans = new WeakMap<ResultColumns, Map<string, Plan<Selection>>>();

  /** `use`: `buffered` or `each`, and the format. */
  of(
    use: string,
    relation: Relation,
    columns: ResultColumns,
    selection: Selection,
    make: () => Plan<Selection>,
  ): Plan<Selection> {
    const served = servedColumns(columns, selection.columns);
    let plans = this.#plans.get(served);
    if (!plans) this.#plans.set(served, (plans = new Map<string, Plan<Selection>>()));
    const form = formOf(use, relation, selection);
    const known = plans.get(form);
    if (known) return known;
    const made = make();
    if (plans.size < MAX_PLANS) plans.set(form, made);
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

/** Composite types nested deeper are served as PostgreSQL writes them. */
const COMPOSITE_DEPTH = 3;

/** The type at the bottom of a chain of domains. */
function baseType(oid: Sql): Sql {
  return sql`(WITH RECURSIVE below AS (
      SELECT ${oid} AS oid, 0 AS depth
      UNION ALL SELECT d.typbasetype, below.depth + 1
      FROM below JOIN pg_catalog.pg_type d ON d.oid = below.oid AND d.typtype = 'd'
    ) SELECT below.oid FROM below ORDER BY depth DESC LIMIT 1)`;
}

/** Name and fields of the type of attribute `a`. */
function typeOf(a: Sql, depth: number): Sql {
  const f = identifier(`f${String(depth)}`);
  const fields =
    depth === 0
      ? sql`NULL::json`
      : sql`CASE WHEN coalesce(e.typtype, b.typtype) = 'c' THEN (
          SELECT json_agg(json_build_object('name', ${f}.attname, 'type', t.name, 'fields', t.fields) ORDER BY ${f}.attnum)
          FROM pg_catalog.pg_attribute ${f}, LATERAL (${typeOf(f, depth - 1)}) t
          WHERE ${f}.attrelid = coalesce(e.typrelid, b.typrelid) AND ${f}.attnum > 0 AND NOT ${f}.attisdropped) END`;
  return sql`SELECT coalesce('_' || e.typname, b.typname) AS name, ${fields} AS fields
    FROM pg_catalog.pg_type b
    LEFT JOIN pg_catalog.pg_type e ON b.typcategory = 'A' AND e.oid = ${baseType(sql`b.typelem`)}
    WHERE b.oid = ${baseType(sql`${a}.atttypid`)}`;
}

const TYPE_OF_A = typeOf(sql`a`, COMPOSITE_DEPTH);

/** The SQL of PostgreSQL 14 and newer. Requires a session with time zone UTC and date style ISO. */
export const postgresDialect: Dialect = { describe, selectBuffered, selectEach, hasPlainStyle };

const placeholder = (position: number): string => `$${position}`;

/**
 * `storage` changes when the relation is replaced or rewritten. `type` is the base type of a domain; a leading `_` means an
 * array of it. `fields` are those of a composite type, down to `COMPOSITE_DEPTH`.
 */
function describe([schema, name]: Relation): Statement {
  const body = sql`SELECT json_agg(json_strip_nulls(json_build_object('name', a.attname, 'type', t.name, 'fields', t.fields, 'storage', c.oid || '.' || c.relfilenode)) ORDER BY a.attnum)::text AS columns
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,
    LATERAL (${TYPE_OF_A}) t
    WHERE n.nspname = ${bind(() => schema)} AND c.relname = ${bind(() => name)} AND a.attnum > 0 AND NOT a.attisdropped`;
  return statement(plan(body, placeholder), undefined);
}

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

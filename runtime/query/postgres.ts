import type { Relation, SortKey } from "../model/endpoint.js";
import {
  type Dialect,
  type ResultColumns,
  BUFFERED_BYTES,
  BUFFERED_ROWS,
  type Condition,
  type Page,
  type RowFormat,
  type Selection,
} from "./warehouse.js";
import { outputColumns, record } from "./postgres-output.js";
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

/** Forms kept for one shape: callers choose the filters, and must not choose how much memory that takes. */
const MAX_FORMS = 200;

/** Plans by the relation, its shape and the form of the selection: all of it but the values. */
class PlanCache {
  readonly #plans = new WeakMap<ResultColumns, Map<string, Plan<Selection>>>();

  /** `use`: what the plan is for, besides the selection. */
  of(
    use: string,
    relation: Relation,
    shape: ResultColumns,
    selection: Selection,
    make: () => Plan<Selection>,
  ): Plan<Selection> {
    let plans = this.#plans.get(shape);
    if (!plans) this.#plans.set(shape, (plans = new Map<string, Plan<Selection>>()));
    const form = formOf(use, relation, selection);
    const known = plans.get(form);
    if (known) return known;
    const made = make();
    if (plans.size < MAX_FORMS) plans.set(form, made);
    return made;
  }
}

/** No name holds the separator: PostgreSQL knows no such character, and a catalogue with one is refused. */
function formOf(use: string, [schema, name]: Relation, { conditions, sort, page }: Selection): string {
  let form = `${use}\0${schema}\0${name}\0`;
  form += page === null ? "" : `${page.lookAhead ? "envelope" : "page"}${pageForm(page)}`;
  for (const { column, operator, ...filter } of conditions) {
    form += `\0${column}\0${operator}\0${"case" in filter ? (filter.case ?? "") : ""}`;
  }
  for (const [column, direction] of sort) form += `\0\0${column}\0${direction}`;
  return form;
}

/** What of a page stands in the text itself. */
function pageForm(page: Page): string {
  return `${hasCommonLimit(page) ? String(Math.min(page.limit, BUFFERED_ROWS + 1)) : ""}${page.offset > 0 ? "+" : ""}`;
}

/**
 * A limit in the text lets PostgreSQL keep a generic plan; with a parameter it plans each execution, which takes longer
 * than a small answer. The limits that callers usually send are few enough to prepare a statement for each.
 */
function hasCommonLimit({ limit }: Page): boolean {
  return limit <= 10 || (limit <= 100 && limit % 5 === 0) || limit % 50 === 0 || limit > BUFFERED_ROWS;
}

/** SQL as PostgreSQL (14 and newer) speaks it. The session's time zone is UTC and its date style ISO. */
export const postgresDialect: Dialect = { describe, whole, each };

const placeholder = (position: number): string => `$${position}`;

/** Domains are told as the type at the bottom of them; `_` before a type's name means an array of it. */
function describe([schema, name]: Relation): Statement {
  const body = sql`SELECT json_agg(json_build_object('name', a.attname, 'type', (
      WITH RECURSIVE below AS (
        SELECT a.atttypid AS oid, 0 AS depth
        UNION ALL SELECT d.typbasetype, below.depth + 1
        FROM below JOIN pg_catalog.pg_type d ON d.oid = below.oid AND d.typtype = 'd'
      ) SELECT b.typname FROM below JOIN pg_catalog.pg_type b ON b.oid = below.oid ORDER BY depth DESC LIMIT 1
    )) ORDER BY a.attnum)::text AS columns
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${bind(() => schema)} AND c.relname = ${bind(() => name)} AND a.attnum > 0 AND NOT a.attisdropped`;
  return statement(plan(body, placeholder), undefined);
}

function whole(relation: Relation, shape: ResultColumns, selection: Selection, format: RowFormat): Statement {
  const make = (): Plan<Selection> => plan(wholeAnswer(relation, shape, selection, format), placeholder);
  return statement(plans.of(`whole ${format}`, relation, shape, selection, make), selection);
}

function each(relation: Relation, shape: ResultColumns, selection: Selection, format: RowFormat): Statement {
  const make = (): Plan<Selection> => plan(eachRow(relation, shape, selection, format), placeholder);
  return statement(plans.of(`each ${format}`, relation, shape, selection, make), selection);
}

/** Putting a statement together takes longer than the rest of a small request: it is done once for each form. */
const plans = new PlanCache();

const SEPARATORS: Readonly<Record<RowFormat, Sql>> = {
  json: sql`','`,
  ndjson: sql`E'\\n'`,
  csv: sql`E'\\r\\n'`,
};

function wholeAnswer(
  relation: Relation,
  shape: ResultColumns,
  selection: Selection,
  format: RowFormat,
): Sql<Selection> {
  const rows = sql`${selectRows(relation, shape, selection)}${upToWhole(selection)}`;
  const separator = SEPARATORS[format];
  const each = sql`SELECT ${record(shape, format)} AS j FROM (${rows}) t OFFSET 0`;
  if (!selection.page?.lookAhead) {
    const aggregate = sql`string_agg(j, ${separator})`;
    return sql`SELECT ${unlessTooLarge(aggregate, selection)} AS rows, count(*)::int AS found FROM (SELECT ${unlessRowTooLarge(selection)} AS j FROM (${each}) e) r`;
  }
  const aggregate = sql`string_agg(j, ${separator}) FILTER (WHERE n <= ${limitIn(selection)})`;
  return sql`SELECT ${unlessTooLarge(aggregate, selection)} AS rows, count(*)::int AS found FROM (SELECT ${unlessRowTooLarge(selection)} AS j, row_number() OVER () AS n FROM (${each}) e) r`;
}

/** Null instead of more rows or bytes than may be answered in one piece. */
function unlessTooLarge(aggregate: Sql<Selection>, { page }: Selection): Sql<Selection> {
  const isBounded = page !== null && page.limit <= BUFFERED_ROWS;
  const rows = isBounded ? EMPTY : sql` AND count(*) <= ${constant(BUFFERED_ROWS)}`;
  return sql`CASE WHEN count(j) = count(*) AND sum(octet_length(j)) <= ${constant(BUFFERED_BYTES)}${rows} THEN ${aggregate} END`;
}

/** Null instead of a row that takes more than its part, so that the database's own memory is bounded too. */
function unlessRowTooLarge({ page }: Selection): Sql {
  const rows = page !== null && hasCommonLimit(page) ? Math.min(page.limit, BUFFERED_ROWS) : BUFFERED_ROWS;
  return sql`CASE WHEN octet_length(j) <= ${constant(Math.max(SMALLEST_ROW_PART, BUFFERED_BYTES / rows))} THEN j END`;
}

/** Bytes that a row may take however many there are. */
const SMALLEST_ROW_PART = 32 * 1024;

function eachRow(
  relation: Relation,
  shape: ResultColumns,
  selection: Selection,
  format: RowFormat,
): Sql<Selection> {
  const rows = sql`${selectRows(relation, shape, selection)}${upToPage(selection)}`;
  return sql`SELECT ${record(shape, format)} FROM (${rows}) t`;
}

function selectRows(relation: Relation, shape: ResultColumns, selection: Selection): Sql<Selection> {
  const filtered = tail(shape, selection);
  return sql`SELECT ${outputColumns(shape)} FROM ${identifier(...relation)} AS s${filtered}`;
}

/** The page, if there is one. */
function upToPage({ page }: Selection): Sql<Selection> {
  return page === null ? EMPTY : sql` LIMIT ${bind(mostOf)}${offset(page)}`;
}

/** The same, but no more than may be answered in one piece, and one that tells that there is more. */
function upToWhole(selection: Selection): Sql<Selection> {
  const { page } = selection;
  if (page === null) return sql` LIMIT ${constant(BUFFERED_ROWS + 1)}`;
  const limit = hasCommonLimit(page) ? constant(mostOfWhole(selection)) : bind(mostOfWhole);
  return sql` LIMIT ${limit}${offset(page)}`;
}

function offset(page: Page): Sql<Selection> {
  return page.offset === 0 ? EMPTY : sql` OFFSET ${bind(offsetOf)}`;
}

/** The page's own limit, without the row behind it. */
function limitIn({ page }: Selection): Sql<Selection> {
  return page !== null && hasCommonLimit(page)
    ? constant(Math.min(page.limit, BUFFERED_ROWS + 1))
    : bind(limitOf);
}

function tail(shape: ResultColumns, { conditions, sort }: Selection): Sql<Selection> {
  const types = new Map(shape.map(({ name, type }) => [name, type]));
  const wheres = conditions.map((condition, i) =>
    where(condition, bind(valueOf(i)), types.get(condition.column)),
  );
  const filter = wheres.length > 0 ? sql` WHERE ${join(wheres, " AND ")}` : EMPTY;
  const order = sort.length > 0 ? sql` ORDER BY ${join(sort.map(orderBy), ", ")}` : EMPTY;
  return sql`${filter}${order}`;
}

const valueOf =
  (position: number) =>
  ({ conditions }: Selection): BindValue =>
    conditions[position]?.value ?? "";
const limitOf = ({ page }: Selection): BindValue => page?.limit ?? 0;
const offsetOf = ({ page }: Selection): BindValue => page?.offset ?? 0;
const mostOf = ({ page }: Selection): number => (page?.limit ?? 0) + (page?.lookAhead ? 1 : 0);
const mostOfWhole = (selection: Selection): number => Math.min(mostOf(selection), BUFFERED_ROWS + 1);

function orderBy([column, direction]: SortKey): Sql {
  return sql`s.${identifier(column)} ${DIRECTIONS[direction]}`;
}

const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "varchar", "bpchar", "citext"]);
const TIMES: ReadonlySet<string> = new Set(["timestamp", "timestamptz"]);

/** One filter. What is not text is compared by its text, so that no value of a request can fail to convert. */
function where(condition: Condition, value: Sql<Selection>, type = "text"): Sql<Selection> {
  const column = sql`s.${identifier(condition.column)}`;
  switch (condition.operator) {
    case "=":
      return sql`${asText(column, type, condition.case)} = ${value}`;
    case "ILIKE":
      return sql`${asText(column, type, condition.case)} ILIKE ${value}`;
    case "IN":
      return sql`${asText(column, type, condition.case)} = ANY(${value}::text[])`;
    case ">=":
      return type === "date" || TIMES.has(type)
        ? sql`${column} >= ${value}::date`
        : sql`${asText(column, type)} >= ${value}`;
    case "<=":
      return upTo(column, type, value);
  }
}

/** The last day is included whole, also where the column holds times of day. */
function upTo(column: Sql, type: string, day: Sql<Selection>): Sql<Selection> {
  if (type === "date") return sql`${column} <= ${day}::date`;
  if (TIMES.has(type)) return sql`${column} < ${day}::date + 1`;
  return sql`${asText(column, type)} <= ${day}`;
}

function asText(column: Sql, type: string, letterCase?: "lower" | "upper"): Sql {
  const text = TEXT_TYPES.has(type) ? column : sql`${column}::text`;
  switch (letterCase) {
    case undefined:
      return text;
    case "lower":
      return sql`lower(${text})`;
    case "upper":
      return sql`upper(${text})`;
  }
}

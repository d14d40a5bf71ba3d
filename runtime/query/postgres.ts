import type { Relation, SortKey } from "../endpoint/endpoint.js";
import type { Dialect, RealColumn, RelationShape } from "./dialect.js";
import type { Condition, Selection } from "./selection.js";
import { PlanCache } from "./plan-cache.js";
import {
  bind,
  type BindValue,
  DIRECTIONS,
  EMPTY,
  identifier,
  join,
  plan,
  sql,
  statement,
  type Sql,
  type Statement,
} from "./sql.js";

/** SQL as PostgreSQL (14 and newer) speaks it. The session's time zone is UTC and its date style ISO. */
export const postgresDialect: Dialect = { describe, select };

const placeholder = (position: number): string => `$${position}`;

/** Domains are told as the type at the bottom of them; `_` before a type's name means an array of it. */
function describe([schema, name]: Relation): Statement {
  const body = sql`SELECT a.attname::text AS name, (
      WITH RECURSIVE below AS (
        SELECT a.atttypid AS oid, 0 AS depth
        UNION ALL SELECT d.typbasetype, below.depth + 1
        FROM below JOIN pg_catalog.pg_type d ON d.oid = below.oid AND d.typtype = 'd'
      ) SELECT b.typname::text FROM below JOIN pg_catalog.pg_type b ON b.oid = below.oid ORDER BY depth DESC LIMIT 1
    ) AS type
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${bind(() => schema)} AND c.relname = ${bind(() => name)} AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum`;
  return statement(plan(body, placeholder), undefined);
}

function select(relation: Relation, shape: RelationShape, selection: Selection): Statement {
  const body = (): Sql<Selection> => selectRows(relation, shape, selection);
  return statement(
    plans.of(relation, shape, selection, () => plan(body(), placeholder)),
    selection,
  );
}

/** Putting a statement together takes longer than the rest of a small request: it is done once for each form. */
const plans = new PlanCache();

function selectRows(relation: Relation, shape: RelationShape, selection: Selection): Sql<Selection> {
  const columns = join(shape.map(outputColumn), ", ");
  const rows = sql`SELECT ${columns} FROM ${identifier(...relation)} AS s${tail(shape, selection)}`;
  // `t.*` is the row whatever its columns are called; a bare `t` would be a column of that name.
  if (!selection.page?.lookAhead) {
    return sql`SELECT string_agg(j, ',') AS rows, count(*)::int AS found FROM (SELECT row_to_json(t.*)::text AS j FROM (${rows}) t) r`;
  }
  return sql`SELECT string_agg(j, ',') FILTER (WHERE n <= ${bind(limitOf)}) AS rows, count(*)::int AS found FROM (SELECT row_to_json(t.*)::text AS j, row_number() OVER () AS n FROM (${rows}) t) r`;
}

function tail(shape: RelationShape, { conditions, sort, page }: Selection): Sql<Selection> {
  const types = new Map(shape.map(({ name, type }) => [name, type]));
  const wheres = conditions.map((condition, i) =>
    where(condition, bind(valueOf(i)), types.get(condition.column)),
  );
  const filter = wheres.length > 0 ? sql` WHERE ${join(wheres, " AND ")}` : EMPTY;
  const order = sort.length > 0 ? sql` ORDER BY ${join(sort.map(orderBy), ", ")}` : EMPTY;
  return page === null
    ? sql`${filter}${order}`
    : sql`${filter}${order} LIMIT ${bind(mostOf)} OFFSET ${bind(offsetOf)}`;
}

const valueOf =
  (position: number) =>
  ({ conditions }: Selection): BindValue =>
    conditions[position]?.value ?? "";
const limitOf = ({ page }: Selection): BindValue => page?.limit ?? 0;
const offsetOf = ({ page }: Selection): BindValue => page?.offset ?? 0;
const mostOf = ({ page }: Selection): BindValue => (page?.limit ?? 0) + (page?.lookAhead ? 1 : 0);

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

function outputColumn({ name, type }: RealColumn): Sql {
  const column = sql`s.${identifier(name)}`;
  return sql`${type.startsWith("_") ? outputArray(column, type.slice(1)) : outputValue(column, type)} AS ${identifier(name)}`;
}

/** A value as the API shows it (decisions.md §A, Responses): what JSON cannot hold is null, times are RFC 3339 in UTC. */
function outputValue(column: Sql, type: string): Sql {
  switch (type) {
    case "float4":
    case "float8":
      // False for NaN, and for an infinity, which taken from itself is none: one look instead of three.
      return sql`CASE WHEN ${column} - ${column} = 0 THEN ${column} END`;
    case "numeric":
      return sql`nullif(nullif(nullif(${column}, 'NaN'), 'Infinity'), '-Infinity')`;
    case "date":
      return sql`CASE WHEN isfinite(${column}) THEN ${column} END`;
    case "timestamp":
      // The cast is for a column that has become a `timestamptz` since its type was looked up.
      return sql`CASE WHEN isfinite(${column}) THEN replace(${column}::timestamp::text, ' ', 'T') || 'Z' END`;
    case "timestamptz":
      return sql`CASE WHEN isfinite(${column}) THEN replace((${column} AT TIME ZONE 'UTC')::text, ' ', 'T') || 'Z' END`;
    default:
      return column;
  }
}

const REWRITTEN: ReadonlySet<string> = new Set([
  "float4",
  "float8",
  "numeric",
  "date",
  "timestamp",
  "timestamptz",
]);

function outputArray(column: Sql, element: string): Sql {
  if (!REWRITTEN.has(element)) return column;
  const items = sql`SELECT json_agg(${outputValue(sql`e`, element)}) FROM unnest(${column}) AS e`;
  return sql`CASE WHEN ${column} IS NOT NULL THEN coalesce((${items}), '[]') END`;
}

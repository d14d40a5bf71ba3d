import type { Relation, SortKey } from "../endpoint/endpoint.js";
import type { Dialect, RealColumn, RelationShape } from "./dialect.js";
import type { Condition, Selection } from "./selection.js";
import {
  bind,
  DIRECTIONS,
  EMPTY,
  identifier,
  join,
  sql,
  statement,
  type Sql,
  type Statement,
} from "./sql.js";

/** SQL as PostgreSQL (14 and newer) speaks it. The session's time zone is UTC and its date style ISO. */
export const postgresDialect: Dialect = { describe, select };

const placeholder = (position: number): string => `$${position}`;

/** Domains are told as the type below them; `_` before a type's name means an array of it. */
function describe([schema, name]: Relation): Statement {
  const body = sql`SELECT a.attname::text AS name, coalesce(base.typname, t.typname)::text AS type
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_catalog.pg_type base ON base.oid = t.typbasetype AND t.typtype = 'd'
    WHERE n.nspname = ${bind(schema)} AND c.relname = ${bind(name)} AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum`;
  return statement(body, placeholder);
}

function select(relation: Relation, shape: RelationShape, selection: Selection): Statement {
  const rows = sql`SELECT ${join(shape.map(outputColumn), ", ")} FROM ${identifier(...relation)} AS s${tail(shape, selection)}`;
  const page = selection.page;
  const body = page?.lookAhead
    ? sql`SELECT string_agg(j, ',') FILTER (WHERE n <= ${bind(page.limit)}) AS rows, count(*)::int AS found FROM (SELECT row_to_json(t)::text AS j, row_number() OVER () AS n FROM (${rows}) t) r`
    : sql`SELECT string_agg(j, ',') AS rows, count(*)::int AS found FROM (SELECT row_to_json(t)::text AS j FROM (${rows}) t) r`;
  return statement(body, placeholder);
}

function tail(shape: RelationShape, { conditions, sort, page }: Selection): Sql {
  const types = new Map(shape.map(({ name, type }) => [name, type]));
  const wheres = conditions.map((condition) => where(condition, types.get(condition.column)));
  const filter = wheres.length > 0 ? sql` WHERE ${join(wheres, " AND ")}` : EMPTY;
  const order = sort.length > 0 ? sql` ORDER BY ${join(sort.map(orderBy), ", ")}` : EMPTY;
  if (page === null) return sql`${filter}${order}`;
  const most = page.lookAhead ? page.limit + 1 : page.limit;
  return sql`${filter}${order} LIMIT ${bind(most)} OFFSET ${bind(page.offset)}`;
}

function orderBy([column, direction]: SortKey): Sql {
  return sql`s.${identifier(column)} ${DIRECTIONS[direction]}`;
}

const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "varchar", "bpchar", "citext"]);
const TIMES: ReadonlySet<string> = new Set(["timestamp", "timestamptz"]);

/** One filter. What is not text is compared by its text, so that no value of a request can fail to convert. */
function where(condition: Condition, type = "text"): Sql {
  const column = sql`s.${identifier(condition.column)}`;
  const value = bind(condition.value);
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
function upTo(column: Sql, type: string, day: Sql): Sql {
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
    case "numeric":
      return sql`nullif(nullif(nullif(${column}, 'NaN'), 'Infinity'), '-Infinity')`;
    case "date":
      return sql`CASE WHEN isfinite(${column}) THEN ${column} END`;
    case "timestamp":
      return sql`CASE WHEN isfinite(${column}) THEN replace(${column}::text, ' ', 'T') || 'Z' END`;
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

import type { ResultColumn, ResultColumns, RowFormat } from "./warehouse.js";
import { identifier, join, sql, type Sql } from "./sql.js";

/** The columns of a relation `s` as the API shows them, each under its own name. */
export function outputColumns(shape: ResultColumns): Sql {
  return join(
    shape.map((column) => sql`${outputColumn(column)} AS ${identifier(column.name)}`),
    ", ",
  );
}

/** One row of `t`, which holds `outputColumns`, as text. */
export function record(shape: ResultColumns, format: RowFormat): Sql {
  switch (format) {
    case "json":
      return ROW_AS_JSON;
    case "ndjson":
      // Line breaks within strings are escaped: what is left of them is white space of a column of type `json`.
      return shape.some(({ type }) => /^_?json$/.test(type))
        ? sql`translate(${ROW_AS_JSON}, E'\\r\\n', '  ')`
        : ROW_AS_JSON;
    case "csv":
      return join(shape.map(csvField), " || ',' || ");
  }
}

/** `t.*` is the row whatever its columns are called; a bare `t` would be a column of that name. */
const ROW_AS_JSON = sql`row_to_json(t.*)::text`;

function outputColumn({ name, type }: ResultColumn): Sql {
  const column = sql`s.${identifier(name)}`;
  return type.startsWith("_") ? outputArray(column, type.slice(1)) : outputValue(column, type);
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

/** Types whose text never holds a comma, a quote or a line break. */
const BARE: ReadonlySet<string> = new Set([
  ...["int2", "int4", "int8", "oid", "float4", "float8", "numeric", "bool"],
  ...["date", "timestamp", "timestamptz", "uuid"],
]);

/** A field of CSV (RFC 4180): null is nothing at all, the empty text `""`. Lists and objects are their JSON. */
function csvField({ name, type }: ResultColumn): Sql {
  const value = sql`t.${identifier(name)}`;
  if (BARE.has(type)) return sql`coalesce(${value}::text, '')`;
  return sql`coalesce('"' || replace(to_json(${value}) #>> '{}', '"', '""') || '"', '')`;
}

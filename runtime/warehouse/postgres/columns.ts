import type { Relation } from "../../model/endpoint.js";
import {
  bind,
  EMPTY,
  identifier,
  join,
  literal,
  plan,
  sql,
  type Sql,
  statement,
  type Statement,
  typeName,
} from "../sql.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";

/** How a value is written in a response (`rows.ts`). `word`: a text of letters, digits and hyphens. */
export type Kind = "number" | "boolean" | "date" | "timestamp" | "timestamptz" | "text" | "word" | "json";

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...(["int2", "int4", "int8", "float4", "float8", "numeric"] as const).map(
    (type) => [type, "number"] as const,
  ),
  ...(["text", "varchar"] as const).map((type) => [type, "text"] as const),
  ...(["uuid", "oid"] as const).map((type) => [type, "word"] as const),
  ["bool", "boolean"],
  ["date", "date"],
  ["timestamp", "timestamp"],
  ["timestamptz", "timestamptz"],
]);

/** All other types are JSON that PostgreSQL makes. */
export function kindOf({ type, fields }: ResultColumn): Kind {
  return fields ? "json" : (KINDS.get(type) ?? "json");
}

/** Whether a field of the column is a number of days or microseconds (`times.ts`); all other fields are text. */
export function isTime(column: ResultColumn): boolean {
  const kind = kindOf(column);
  return kind === "date" || kind === "timestamp" || kind === "timestamptz";
}

/** The formats of so many fields, of which the first are these columns, as a Bind message lists them; without fields: all are text. */
export function fieldFormats(columns: ResultColumns, fields: number): Buffer {
  const known = formatsOf.get(columns);
  if (known?.length === 2 + 2 * fields) return known;
  const formats = Buffer.alloc(2 + 2 * fields);
  formats.writeInt16BE(fields);
  columns.forEach((column, i) => formats.writeInt16BE(isTime(column) ? BINARY : TEXT, 2 + 2 * i));
  formatsOf.set(columns, formats);
  return formats;
}

const formatsOf = new WeakMap<ResultColumns, Buffer>();
const TEXT = 0;
const BINARY = 1;

/**
 * The value of a column of the relation `t`. The typed null costs nothing, and fails once the column has another type: its
 * values would be written as of the old one.
 */
export function columnValue(column: ResultColumn): Sql {
  const value = sql`t.${identifier(column.name)}`;
  switch (kindOf(column)) {
    case "json":
      return sql`to_json(${output(value, column)})`;
    case "timestamp":
      return inUtc(value, column);
    default:
      return sql`coalesce(${value}, NULL::${typeName(column.type)})`;
  }
}

/** Whether `columnValue` has the text of the column itself, which a cursor holds. */
export function isOwnText(column: ResultColumn): boolean {
  const kind = kindOf(column);
  return kind !== "json" && (kind !== "timestamp" || (column.timezone ?? "UTC") === "UTC");
}

/**
 * A `timestamp` column in UTC. The cast is for a column that became a `timestamptz` after its type was looked up. A time
 * within a day of the ends of PostgreSQL's range may have no instant in UTC, and is null: the conversion would fail.
 */
function inUtc(value: Sql, { timezone = "UTC" }: Omit<ResultColumn, "name">): Sql {
  const time = sql`${value}::timestamp`;
  return timezone === "UTC"
    ? time
    : sql`CASE WHEN ${time} > '4714-11-26 BC' AND ${time} < '294276-12-30' THEN ${time} AT TIME ZONE ${literal(timezone)} AT TIME ZONE 'UTC' END`;
}

/** A value inside an array or a composite in the API's format (runtime/docs/responses.md); else the value itself. */
function output(value: Sql, type: Omit<ResultColumn, "name">, depth = 0): Sql {
  if (!isRewritten(type)) return value;
  if (type.type.startsWith("_")) return outputArray(value, { ...type, type: type.type.slice(1) }, depth);
  return type.fields ? outputComposite(value, type.fields, depth) : outputScalar(value, type);
}

const SCALARS: ReadonlySet<string> = new Set([
  "float4",
  "float8",
  "numeric",
  "date",
  "timestamp",
  "timestamptz",
]);

function isRewritten({ type, fields }: Omit<ResultColumn, "name">): boolean {
  return fields ? fields.some(isRewritten) : SCALARS.has(type.replace(/^_/, ""));
}

/** JSON has no NaN and no infinity: they are null. Times are RFC 3339 in UTC. */
function outputScalar(value: Sql, column: Omit<ResultColumn, "name">): Sql {
  switch (column.type) {
    case "float4":
    case "float8":
      // False for NaN and for an infinity, whose difference from itself is NaN: one comparison instead of three.
      return sql`CASE WHEN ${value} - ${value} = 0 THEN ${value} END`;
    case "numeric":
      return sql`nullif(nullif(nullif(${value}, 'NaN'), 'Infinity'), '-Infinity')`;
    case "date":
      return outputTime(value, sql`date`, EMPTY);
    case "timestamp":
      return outputTime(inUtc(value, column), sql`timestamp`, sql` || 'Z'`);
    default:
      return outputTime(sql`(${value} AT TIME ZONE 'UTC')`, sql`timestamp`, sql` || 'Z'`);
  }
}

/**
 * Writes a year outside 0001 to 9999 in the expanded form of ISO 8601, which JavaScript parses: a sign and at least six
 * digits, `-000043` for 44 BC.
 */
function outputTime(time: Sql, type: Sql, zone: Sql): Sql {
  const year = sql`CASE extract(year FROM ${time}) WHEN -1 THEN '0000' ELSE to_char(extract(year FROM ${time})::int + (${time} < ${type} '0001-01-01')::int, 'FMSG9999000000') END`;
  const rest = sql`replace(regexp_replace(${time}::text, '^[0-9]+| BC$', '', 'g'), ' ', 'T')`;
  return sql`CASE WHEN ${time} >= ${type} '0001-01-01' AND ${time} < ${type} '10000-01-01' THEN replace(${time}::text, ' ', 'T')${zone} WHEN isfinite(${time}) THEN ${year} || ${rest}${zone} END`;
}

/** `c.*` is the row even where a field is called `c`. */
function outputComposite(value: Sql, fields: readonly ResultColumn[], depth: number): Sql {
  const items = fields.map(({ name, ...field }) => {
    const item = output(sql`(${value}).${identifier(name)}`, field, depth);
    return sql`${item} AS ${identifier(name)}`;
  });
  return sql`CASE WHEN ${value} IS DISTINCT FROM NULL THEN (SELECT row_to_json(c.*) FROM (SELECT ${join(items, ", ")}) AS c) END`;
}

/**
 * Multidimensional arrays keep their dimensions: their JSON is rewritten as text, for years of four digits. The position has
 * another name at each depth: an array inside an element would otherwise take its own position for the element's.
 */
function outputArray(array: Sql, element: Omit<ResultColumn, "name">, depth: number): Sql {
  const i = identifier(`i${String(depth)}`);
  const item = output(sql`(${array})[${i}.${i}]`, element, depth + 1);
  const items = sql`SELECT json_agg(${item} ORDER BY ${i}.${i}) FROM generate_subscripts(${array}, 1) AS ${i}(${i})`;
  return sql`CASE WHEN array_ndims(${array}) > 1 THEN ${outputNested(array, element)} WHEN ${array} IS NOT NULL THEN coalesce((${items}), '[]') END`;
}

function outputNested(array: Sql, { type, timezone = "UTC" }: Omit<ResultColumn, "name">): Sql {
  const finite = (json: Sql): Sql => sql`regexp_replace(${json}::text, '"-?(NaN|[Ii]nfinity)"', 'null', 'g')`;
  switch (type) {
    case "float4":
    case "float8":
    case "numeric":
    case "date":
      return sql`${finite(sql`to_json(${array})`)}::json`;
    case "timestamp":
      return timezone === "UTC"
        ? sql`regexp_replace(${finite(sql`to_json(${array})`)}, '([0-9])"', '\\1Z"', 'g')::json`
        : sql`NULL::json`;
    case "timestamptz":
      return sql`regexp_replace(${finite(sql`to_json(${array})`)}, '[+]00:00"', 'Z"', 'g')::json`;
    default:
      return sql`to_json(${array})`;
  }
}

export const placeholder = (position: number): string => `$${position}`;

/** Composite types nested deeper are served as PostgreSQL writes them. */
const COMPOSITE_DEPTH = 8;

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

/** Precision and scale of `numeric(p,s)`, from the type modifier of attribute `a`: the scale has eleven bits and a sign. */
const DECIMAL_OF_A = sql`CASE WHEN a.atttypid = 'numeric'::regtype AND a.atttypmod > 3
  THEN json_build_array((a.atttypmod - 4) >> 16 & 65535, (((a.atttypmod - 4) & 2047) # 1024) - 1024) END`;

/**
 * One row for a relation, none where it does not exist: its id and its columns. `storage` changes when the relation is replaced
 * or rewritten. `type` is the base type of a domain; a leading `_` means an array of it. `fields` are those of a composite type,
 * down to `COMPOSITE_DEPTH`.
 */
export function describe([schema, name]: Relation): Statement {
  const column = sql`json_strip_nulls(json_build_object('name', a.attname, 'type', t.name, 'fields', t.fields, 'decimal', ${DECIMAL_OF_A}, 'storage', c.oid || '.' || c.relfilenode))`;
  const columns = sql`coalesce(json_agg(${column} ORDER BY a.attnum) FILTER (WHERE a.attnum IS NOT NULL), '[]')`;
  const body = sql`SELECT json_build_object('id', c.oid::text, 'columns', ${columns})::text AS relation
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN LATERAL (${TYPE_OF_A}) t ON true
    WHERE n.nspname = ${bind(() => schema)} AND c.relname = ${bind(() => name)}
    GROUP BY c.oid`;
  return statement(plan(body, placeholder), undefined);
}

import type { Relation } from "../../model/endpoint.js";
import { bind, constant, identifier, join, plan, sql, type Sql, statement, type Statement } from "../sql.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";
import { type BinaryValue, binaryValue } from "./binary-values.js";
import { checkType } from "./scalars.js";
import { TypeChanged } from "./times.js";

/**
 * How a value is written in a response (`rows.ts`). `word`: a text of letters, digits and hyphens. `binary`: JSON from a binary
 * form (`binary-values.ts`).
 */
export type Kind =
  | "number"
  | "float4"
  | "float8"
  | "boolean"
  | "date"
  | "timestamp"
  | "timestamptz"
  | "text"
  | "word"
  | "json"
  | "binary";

/** Kinds of types, by PostgreSQL's name and number. */
const KINDS: Readonly<Record<string, readonly [Kind, ...oids: number[]]>> = {
  int2: ["number", 21],
  int4: ["number", 23],
  int8: ["number", 20],
  numeric: ["number", 1700],
  money: ["number", 1700],
  float4: ["float4", 700],
  float8: ["float8", 701],
  bool: ["boolean", 16],
  text: ["text", 25],
  // Its minimum is a `text`.
  varchar: ["text", 1043, 25],
  uuid: ["word", 2950],
  oid: ["word", 26],
  date: ["date", 1082],
  timestamp: ["timestamp", 1114],
  timestamptz: ["timestamptz", 1184],
};

/** Types that are neither here nor binary are JSON that PostgreSQL makes. */
export function kindOf(column: ResultColumn): Kind {
  return ownKind(column)?.[0] ?? (binaryOf(column) === null ? "json" : "binary");
}

function ownKind({ type, fields, range }: ResultColumn): (typeof KINDS)[string] | undefined {
  return fields === undefined && range === undefined && Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
}

const binaries = new WeakMap<ResultColumn, BinaryValue | null>();

/** How the column is read where its kind is `binary`; made once. */
export function binaryOf(column: ResultColumn): BinaryValue | null {
  const known = binaries.get(column);
  if (known !== undefined) return known;
  const made = binaryValue(column);
  binaries.set(column, made);
  return made;
}

const BINARY_KINDS: ReadonlySet<Kind> = new Set([
  "float4",
  "float8",
  "date",
  "timestamp",
  "timestamptz",
  "binary",
]);

/** The formats of these fields as a Bind message lists them; without fields: all are text. */
export function fieldFormats(columns: ResultColumns, keys: readonly SortKeyField[] = []): Buffer {
  const known = keys.length === 0 ? formatsOf.get(columns) : undefined;
  if (known !== undefined) return known;
  const binary = [
    ...columns.map((column) => BINARY_KINDS.has(kindOf(column))),
    ...keys.map(({ isBinary }) => isBinary),
  ];
  const formats = Buffer.alloc(2 + 2 * binary.length);
  formats.writeInt16BE(binary.length);
  binary.forEach((isBinary, i) => formats.writeInt16BE(isBinary ? BINARY : TEXT, 2 + 2 * i));
  if (keys.length === 0) formatsOf.set(columns, formats);
  return formats;
}

const formatsOf = new WeakMap<ResultColumns, Buffer>();
const TEXT = 0;
const BINARY = 1;

/** The numbers of the types that `checkTypes` expects, as a comment: a statement prepared for other types has another text. */
export function typesOf(columns: ResultColumns): Sql {
  const oids = columns.map((column) => ownKind(column)?.[1] ?? binaryOf(column)?.oid ?? 0);
  return sql`/* ${join(oids.map(constant), ", ")} */`;
}

/** Throws where a field is not of the type of its column: the column has changed since it was looked up. */
export function checkTypes(columns: ResultColumns, oids: readonly number[]): void {
  columns.forEach((column, i) => {
    const oid = oids[i] ?? 0;
    const own = ownKind(column);
    if (own !== undefined && !own.includes(oid)) throw new TypeChanged();
    const binary = own === undefined ? binaryOf(column) : null;
    if (binary !== null) checkType(oid, binary.oid);
  });
}

/** The value of a column of the relation `t`. */
export function columnValue(column: ResultColumn): Sql {
  const value = sql`t.${identifier(column.name)}`;
  switch (kindOf(column)) {
    case "json":
      return sql`to_json(${value})`;
    case "binary":
    case "timestamp":
      return binaryOf(column)?.select(value, 0) ?? value;
    default:
      return column.type === "money" ? sql`${value}::numeric` : value;
  }
}

/** How a sort key is selected, and read as the text that a cursor holds. */
export interface SortKeyField {
  readonly select: (value: Sql) => Sql;
  readonly isBinary: boolean;
  readonly text: (field: Buffer) => string;
  /** Whether the field of the column itself has the key. */
  readonly isServed: boolean;
}

const sortKeys = new WeakMap<ResultColumn, SortKeyField>();

export function sortKeyOf(column: ResultColumn): SortKeyField {
  const known = sortKeys.get(column);
  if (known !== undefined) return known;
  const made = makeSortKey(column);
  sortKeys.set(column, made);
  return made;
}

function makeSortKey({ timezone = "UTC", ...column }: ResultColumn): SortKeyField {
  const kind = kindOf(column);
  const binary = BINARY_KINDS.has(kind) ? binaryValue(column) : null;
  if (binary?.text)
    return {
      select: (value) => binary.select(value, 0),
      isBinary: true,
      text: binary.text,
      isServed: timezone === "UTC",
    };
  const isMoney = column.type === "money";
  return {
    select: (value) => (isMoney ? sql`${value}::numeric` : sql`${value}::text`),
    isBinary: false,
    text: (field) => field.toString(),
    isServed: kind !== "json" && kind !== "binary",
  };
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

/** A range or multirange `t`: the type of its bounds. PostgreSQL has multiranges since version 14. */
function rangeOf(type: Sql): Sql {
  return sql`(SELECT json_build_object('bound', s.typname, 'isMulti', ${type}.oid <> r.rngtypid)
      FROM pg_catalog.pg_range r JOIN pg_catalog.pg_type s ON s.oid = ${baseType(sql`r.rngsubtype`)}
      WHERE ${type}.oid IN (r.rngtypid, (to_json(r)->>'rngmultitypid')::oid))`;
}

/** Name and fields of the type of attribute `a`. */
function typeOf(a: Sql, depth: number): Sql {
  const f = identifier(`f${String(depth)}`);
  const fields =
    depth === 0
      ? sql`NULL::json`
      : sql`CASE WHEN coalesce(e.typtype, b.typtype) = 'c' THEN (
          SELECT json_agg(json_build_object('name', ${f}.attname, 'type', t.name, 'fields', t.fields, 'range', t.range) ORDER BY ${f}.attnum)
          FROM pg_catalog.pg_attribute ${f}, LATERAL (${typeOf(f, depth - 1)}) t
          WHERE ${f}.attrelid = coalesce(e.typrelid, b.typrelid) AND ${f}.attnum > 0 AND NOT ${f}.attisdropped) END`;
  return sql`SELECT coalesce('_' || e.typname, b.typname) AS name, ${fields} AS fields,
    coalesce(${rangeOf(sql`e`)}, ${rangeOf(sql`b`)}) AS range
    FROM pg_catalog.pg_type b
    LEFT JOIN pg_catalog.pg_type e ON b.typcategory = 'A' AND e.oid = ${baseType(sql`b.typelem`)}
    WHERE b.oid = ${baseType(sql`${a}.atttypid`)}`;
}

const TYPE_OF_A = typeOf(sql`a`, COMPOSITE_DEPTH);

/** Precision and scale of `numeric(p,s)`, from the type modifier of attribute `a`: the scale has eleven bits and a sign. */
const DECIMAL_OF_A = sql`CASE WHEN a.atttypid = 'numeric'::regtype AND a.atttypmod > 3
  THEN json_build_array((a.atttypmod - 4) >> 16 & 65535, (((a.atttypmod - 4) & 2047) # 1024) - 1024) END`;

/** What a filter needs to know of attribute `a` beside the name of its type. */
const FILTERED_A = sql`SELECT CASE WHEN n.nspname <> 'pg_catalog' THEN n.nspname END AS type_schema,
    CASE WHEN b.typtype = 'e' THEN true END AS is_enum,
    (SELECT true FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic) AS is_nondeterministic
  FROM pg_catalog.pg_type b JOIN pg_catalog.pg_namespace n ON n.oid = b.typnamespace
  WHERE b.oid = ${baseType(sql`a.atttypid`)}`;

/**
 * One row for a relation, none where it does not exist: its id and its columns. `type` is the base type of a domain; a leading `_` means an array of it. `fields` are those of a composite type,
 * down to `COMPOSITE_DEPTH`.
 */
export function describe([schema, name]: Relation): Statement {
  const column = sql`json_strip_nulls(json_build_object('name', a.attname, 'type', t.name, 'fields', t.fields, 'range', t.range, 'decimal', ${DECIMAL_OF_A}, 'moneyScale', CASE t.name WHEN 'money' THEN scale(0::money::numeric) END, 'typeSchema', f.type_schema, 'isEnum', f.is_enum, 'isNondeterministic', f.is_nondeterministic))`;
  const columns = sql`coalesce(json_agg(${column} ORDER BY a.attnum) FILTER (WHERE a.attnum IS NOT NULL), '[]')`;
  const body = sql`SELECT json_build_object('id', c.oid::text, 'columns', ${columns})::text AS relation
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN LATERAL (${TYPE_OF_A}) t ON true
    LEFT JOIN LATERAL (${FILTERED_A}) f ON true
    WHERE n.nspname = ${bind(() => schema)} AND c.relname = ${bind(() => name)}
    GROUP BY c.oid`;
  return statement(plan(body, placeholder), undefined);
}

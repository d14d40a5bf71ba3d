import type { ValueKind } from "./column-types.js";
import { ownValue } from "./own-value.js";

/**
 * How the types of each database filter and sort, as plain data: the engines, the generator and OData read these tables. What renders
 * SQL stands in `<engine>/filter-types.ts`.
 */

/** A type of a database. */
export interface DatabaseType {
  readonly value: ValueKind;
  /** Its other names in a `data_type`, in lower case. */
  readonly aliases?: readonly string[];
  /** The type that a filter's value has in SQL, where it is not the type itself. An index serves the comparison. */
  readonly parameter?: string;
  /** Bits of an integer, which has a sign unless `isUnsigned`. */
  readonly bits?: number;
  readonly isUnsigned?: true;
  /** Type of a range's bounds. */
  readonly bounds?: string;
  /** It has values that responses show as null, such as NaN and infinities: only `null` matches them. */
  readonly hasInfinity?: true;
  /** The database does not sort by it. */
  readonly unordered?: true;
  /**
   * How patterns and `case` read its values: as the text that the database has for them, the default; as a text that is made in SQL, since
   * settings of the session change the database's own; or not at all.
   */
  readonly text?: "made" | "none";
  /** Why no filter compares its values. */
  readonly refusal?: string;
}

const integer = (bits: number, ...aliases: readonly string[]): DatabaseType => ({
  value: "integer",
  bits,
  aliases,
});
const range = (bounds: string, text?: "none"): DatabaseType => ({
  value: "range",
  bounds,
  ...(text && { text }),
});
const other: DatabaseType = { value: "other" };
const unordered: DatabaseType = { value: "other", unordered: true };
const shape: DatabaseType = {
  value: "other",
  unordered: true,
  text: "none",
  refusal: "PostgreSQL compares no shapes, and their text depends on its settings",
};

/** By PostgreSQL's own name. Types that it does not name are `OTHER`; an array or a composite type is what its elements are. */
export const POSTGRES_TYPES: Readonly<Record<string, DatabaseType>> = {
  int2: { ...integer(16, "smallint", "smallserial", "serial2"), parameter: "int8" },
  int4: { ...integer(32, "integer", "int", "serial", "serial4"), parameter: "int8" },
  int8: integer(64, "bigint", "bigserial", "serial8"),
  oid: { ...integer(32), isUnsigned: true },
  numeric: { value: "number", aliases: ["decimal", "dec"], hasInfinity: true },
  float4: { value: "number", aliases: ["real"], hasInfinity: true, text: "made" },
  float8: { value: "number", aliases: ["float", "double precision"], hasInfinity: true, text: "made" },
  money: { value: "number", text: "made" },
  bool: { value: "boolean", aliases: ["boolean"] },
  text: { value: "text" },
  varchar: { value: "text", aliases: ["character varying", "char varying"], parameter: "text" },
  bpchar: { value: "text", aliases: ["char", "character", "nchar"] },
  name: { value: "text", parameter: "text" },
  citext: { value: "text" },
  ltree: { value: "text" },
  uuid: { value: "uuid" },
  bytea: { value: "bytes", text: "made" },
  date: { value: "date", hasInfinity: true, text: "made" },
  time: { value: "time", aliases: ["time without time zone"] },
  timetz: { value: "time", aliases: ["time with time zone"] },
  timestamp: {
    value: "date-time",
    aliases: ["timestamp without time zone"],
    parameter: "timestamptz",
    hasInfinity: true,
    text: "made",
  },
  timestamptz: {
    value: "date-time",
    aliases: ["timestamp with time zone"],
    hasInfinity: true,
    text: "made",
  },
  interval: { value: "interval", text: "made" },
  inet: { value: "address", text: "made" },
  cidr: { value: "address", parameter: "inet" },
  macaddr: { value: "mac" },
  macaddr8: { value: "mac" },
  bit: { value: "bits" },
  varbit: { value: "bits", aliases: ["bit varying"] },
  int4range: range("int4"),
  int8range: range("int8"),
  numrange: range("numeric"),
  daterange: range("date", "none"),
  tsrange: range("timestamp", "none"),
  tstzrange: range("timestamptz", "none"),
  int4multirange: range("int4"),
  int8multirange: range("int8"),
  nummultirange: range("numeric"),
  datemultirange: range("date", "none"),
  tsmultirange: range("timestamp", "none"),
  tstzmultirange: range("timestamptz", "none"),
  jsonb: other,
  tsvector: other,
  tsquery: other,
  pg_lsn: other,
  json: unordered,
  jsonpath: unordered,
  xml: unordered,
  aclitem: unordered,
  pg_snapshot: unordered,
  txid_snapshot: unordered,
  refcursor: unordered,
  point: shape,
  line: shape,
  lseg: shape,
  box: shape,
  path: shape,
  polygon: shape,
  circle: shape,
};

const clickhouseInteger = (bits: number): DatabaseType => ({ value: "integer", bits });
const clickhouseUnsigned = (bits: number): DatabaseType => ({ value: "integer", bits, isUnsigned: true });
const state: DatabaseType = {
  value: "other",
  unordered: true,
  text: "none",
  refusal: "ClickHouse compares no states of aggregates",
};

/** By ClickHouse's name without arguments, of what `Nullable`, `LowCardinality` and `SimpleAggregateFunction` hold. */
export const CLICKHOUSE_TYPES: Readonly<Record<string, DatabaseType>> = {
  ...Object.fromEntries(
    [8, 16, 32, 64, 128, 256].flatMap((bits) => [
      [`Int${String(bits)}`, clickhouseInteger(bits)],
      [`UInt${String(bits)}`, clickhouseUnsigned(bits)],
    ]),
  ),
  Float32: { value: "number", hasInfinity: true },
  Float64: { value: "number", hasInfinity: true },
  BFloat16: { value: "number", hasInfinity: true, parameter: "Float32" },
  Decimal: {
    value: "number",
    aliases: ["decimal32", "decimal64", "decimal128", "decimal256"],
    text: "made",
  },
  Bool: { value: "boolean" },
  UUID: { value: "uuid" },
  IPv4: { value: "address" },
  IPv6: { value: "address" },
  Date: { value: "date" },
  Date32: { value: "date" },
  DateTime: { value: "date-time", aliases: ["datetime32"], text: "made" },
  DateTime64: { value: "date-time", text: "made" },
  Time: { value: "time" },
  Time64: { value: "time" },
  String: { value: "text" },
  FixedString: { value: "text" },
  Enum8: { value: "text", aliases: ["enum"] },
  Enum16: { value: "text" },
  AggregateFunction: state,
  Variant: unordered,
  Dynamic: unordered,
  QBit: unordered,
};

/** Any other type: a filter compares the text that the database has for its values. */
export const OTHER: DatabaseType = other;

export const postgresType = (name: string): DatabaseType => ownValue(POSTGRES_TYPES, name) ?? OTHER;
export const clickhouseType = (name: string): DatabaseType => ownValue(CLICKHOUSE_TYPES, name) ?? OTHER;

const byName = new Map(
  [CLICKHOUSE_TYPES, POSTGRES_TYPES].flatMap((types) =>
    Object.entries(types).flatMap(([name, type]) =>
      [name.toLowerCase(), ...(type.aliases ?? [])].map((each) => [each, type] as const),
    ),
  ),
);

/** The type of a name in a `data_type`, in lower case and without arguments; null for a name that no database of these has. */
export function typeNamed(name: string): DatabaseType | null {
  return byName.get(name) ?? null;
}

import type { SourceType } from "./source-type.js";

/** A type by the numbers in its brackets. */
type ScalarType = (args: readonly number[]) => SourceType;

/** The names of an adapter's types, in lower case. */
export interface TypeNames {
  readonly scalars: Readonly<Record<string, ScalarType>>;
  /** `same`: a wrapper around another type. */
  readonly nested: Readonly<Record<string, "array" | "map" | "record" | "same">>;
  /** What a nested type without a type in its brackets is. */
  readonly untyped: Readonly<Record<string, SourceType>>;
}

const always =
  (type: SourceType): ScalarType =>
  () =>
    type;
const integer = (bits: 8 | 16 | 32 | 64 | 128): ScalarType => always({ kind: "integer", bits });
const unsigned = (bits: 8 | 16 | 32 | 64 | 128): ScalarType =>
  always({ kind: "integer", bits, isUnsigned: true });
const decimal =
  (defaultPrecision: number, defaultScale: number): ScalarType =>
  ([precision, scale]) =>
    precision === undefined
      ? { kind: "decimal", precision: defaultPrecision, scale: defaultScale }
      : { kind: "decimal", precision, scale: scale ?? 0 };
const timestamp =
  (hasZone: boolean, digits: number): ScalarType =>
  ([precision = digits]) => ({ kind: "timestamp", precision, hasZone });
const JSON_TEXT: SourceType = { kind: "json" };

const [TEXT, BYTES, BOOLEAN, DATE, TIME, UUID, JSON_TYPE] = (
  ["text", "bytes", "boolean", "date", "time", "uuid", "json"] as const
).map((kind) => always({ kind })) as [
  ScalarType,
  ScalarType,
  ScalarType,
  ScalarType,
  ScalarType,
  ScalarType,
  ScalarType,
];
const [SINGLE, DOUBLE] = [always({ kind: "float", bits: 32 }), always({ kind: "float", bits: 64 })];

const all = (names: string, type: ScalarType): Record<string, ScalarType> =>
  Object.fromEntries(names.split(", ").map((name) => [name, type]));

/** TypeNames of the SQL standard, which most have. */
const STANDARD: TypeNames["scalars"] = {
  ...all("boolean, bool", BOOLEAN),
  ...all("tinyint", integer(8)),
  ...all("smallint, int2", integer(16)),
  ...all("int, integer, int4", integer(32)),
  ...all("bigint, int8", integer(64)),
  ...all("real, float4", SINGLE),
  ...all("double, double precision, float8", DOUBLE),
  ...all("text, string, char, character, varchar, character varying, nchar, nvarchar", TEXT),
  ...all("binary, varbinary, blob, bytea", BYTES),
  ...all("date", DATE),
  ...all("time, time without time zone", TIME),
  ...all("timestamp, timestamp without time zone", timestamp(false, 6)),
  ...all("timestamptz, timestamp with time zone", timestamp(true, 6)),
  ...all("uuid", UUID),
  ...all("json", JSON_TYPE),
};

const NUMBER_38 = decimal(38, 0);

const SNOWFLAKE: TypeNames = {
  scalars: {
    ...STANDARD,
    ...all("number, decimal, dec, numeric", NUMBER_38),
    // All integer types are `NUMBER(38, 0)`.
    ...all(
      "int, integer, bigint, smallint, tinyint, byteint",
      always({ kind: "decimal", precision: 38, scale: 0 }),
    ),
    ...all("float, float4, float8, double, double precision, real", DOUBLE),
    ...all("time", TIME),
    ...all(
      "timestamp_ntz, timestampntz, timestamp, datetime, timestamp without time zone",
      timestamp(false, 9),
    ),
    ...all("timestamp_ltz, timestampltz, timestamp_tz, timestamptz", timestamp(true, 9)),
    ...all("timestamp with time zone, timestamp with local time zone", timestamp(true, 9)),
    ...all("variant, geography, geometry", JSON_TYPE),
  },
  nested: { array: "array", object: "record", map: "map" },
  untyped: { array: JSON_TEXT, object: JSON_TEXT },
};

const BIGQUERY: TypeNames = {
  scalars: {
    ...STANDARD,
    ...all("int64, int, integer, bigint, smallint, tinyint, byteint", integer(64)),
    ...all("float64, float", DOUBLE),
    ...all("numeric, decimal", decimal(38, 9)),
    ...all("bignumeric, bigdecimal", decimal(76, 38)),
    ...all("bytes", BYTES),
    ...all("datetime", timestamp(false, 6)),
    ...all("timestamp", timestamp(true, 6)),
    ...all("geography, interval", TEXT),
  },
  nested: { array: "array", struct: "record", record: "record" },
  untyped: {},
};

const SPARK: TypeNames = {
  scalars: {
    ...STANDARD,
    ...all("byte, tinyint", integer(8)),
    ...all("short, smallint", integer(16)),
    ...all("long, bigint", integer(64)),
    ...all("float, real", SINGLE),
    ...all("decimal, dec, numeric", decimal(10, 0)),
    ...all("timestamp, timestamp_ltz", timestamp(true, 6)),
    ...all("timestamp_ntz", timestamp(false, 6)),
    ...all("variant", JSON_TYPE),
  },
  nested: { array: "array", map: "map", struct: "record" },
  untyped: {},
};

const DUCKDB: TypeNames = {
  scalars: {
    ...STANDARD,
    ...all("hugeint, int128", integer(128)),
    ...all("uhugeint, uint128", unsigned(128)),
    ...all("ubigint, uint64", unsigned(64)),
    ...all("uinteger, uint32", unsigned(32)),
    ...all("usmallint, uint16", unsigned(16)),
    ...all("utinyint, uint8", unsigned(8)),
    ...all("int64, long", integer(64)),
    ...all("int32, signed", integer(32)),
    ...all("int16, short", integer(16)),
    ...all("float", SINGLE),
    ...all("decimal, numeric", decimal(18, 3)),
    ...all("timestamp_s", timestamp(false, 0)),
    ...all("timestamp_ms", timestamp(false, 3)),
    ...all("timestamp_ns", timestamp(false, 9)),
    ...all("time_ns", TIME),
    ...all("datetime, timestamp_us", timestamp(false, 6)),
    ...all("interval, bit, enum, time with time zone, timetz", TEXT),
  },
  nested: { map: "map", struct: "record", row: "record" },
  untyped: {},
};

const TRINO: TypeNames = {
  scalars: {
    ...STANDARD,
    ...all("decimal", decimal(38, 0)),
    ...all("timestamp", timestamp(false, 3)),
    ...all("timestamp with time zone", timestamp(true, 3)),
    ...all("float", SINGLE),
    ...all("ipaddress, time with time zone", TEXT),
  },
  nested: { array: "array", map: "map", row: "record", struct: "record" },
  untyped: {},
};

const POSTGRES: TypeNames = {
  scalars: {
    ...STANDARD,
    ...all("smallserial, serial2", integer(16)),
    ...all("serial, serial4", integer(32)),
    ...all("bigserial, serial8", integer(64)),
    ...all("float", DOUBLE),
    ...all("money", decimal(19, 2)),
    ...all("jsonb, super", JSON_TYPE),
    ...all("varbyte, binary varying", BYTES),
    ...all("bpchar, citext, name, interval, inet, cidr, macaddr, xml, timetz, time with time zone", TEXT),
    // Without its digits a number of PostgreSQL has any; Redshift's has 18.
    numeric: decimal(0, 0),
    decimal: decimal(0, 0),
  },
  nested: {},
  untyped: {},
};

const REDSHIFT: TypeNames = {
  ...POSTGRES,
  scalars: { ...POSTGRES.scalars, ...all("numeric, decimal", decimal(18, 0)) },
};

const SQL_SERVER: TypeNames = {
  scalars: {
    ...STANDARD,
    ...all("bit", BOOLEAN),
    ...all("tinyint", unsigned(8)),
    ...all("decimal, numeric, dec", decimal(18, 0)),
    ...all("money", decimal(19, 4)),
    ...all("smallmoney", decimal(10, 4)),
    ...all("ntext, xml, sysname", TEXT),
    ...all("image, rowversion, timestamp", BYTES),
    ...all("datetime", timestamp(false, 3)),
    ...all("smalldatetime", timestamp(false, 0)),
    ...all("datetime2", timestamp(false, 7)),
    ...all("datetimeoffset", timestamp(true, 7)),
    ...all("uniqueidentifier", UUID),
    float: ([bits = 53]) => ({ kind: "float", bits: bits <= 24 ? 32 : 64 }),
  },
  nested: {},
  untyped: {},
};

const CLICKHOUSE: TypeNames = {
  scalars: {
    ...STANDARD,
    ...Object.fromEntries(
      [8, 16, 32, 64, 128].flatMap((bits) => [
        [`int${String(bits)}`, integer(bits as 8)],
        [`uint${String(bits)}`, unsigned(bits as 8)],
      ]),
    ),
    ...all("float32, bfloat16", SINGLE),
    ...all("float64, float", DOUBLE),
    ...all("decimal, numeric", decimal(10, 0)),
    ...all("fixedstring, enum, enum8, enum16, ipv4, ipv6", TEXT),
    ...all("date32", DATE),
    ...all("datetime, datetime32", timestamp(true, 0)),
    ...all("datetime64", timestamp(true, 3)),
  },
  nested: { array: "array", map: "map", tuple: "record", nullable: "same", lowcardinality: "same" },
  untyped: {},
};

const ADAPTERS: Readonly<Record<string, TypeNames>> = {
  snowflake: SNOWFLAKE,
  bigquery: BIGQUERY,
  databricks: SPARK,
  spark: SPARK,
  duckdb: DUCKDB,
  trino: TRINO,
  athena: TRINO,
  redshift: REDSHIFT,
  postgres: POSTGRES,
  sqlserver: SQL_SERVER,
  fabric: SQL_SERVER,
  synapse: SQL_SERVER,
  clickhouse: CLICKHOUSE,
};

/** Of another adapter only names of the SQL standard are known. */
const OTHER: TypeNames = { scalars: STANDARD, nested: {}, untyped: {} };

export function namesOf(adapter: string): TypeNames {
  return Object.hasOwn(ADAPTERS, adapter) ? (ADAPTERS[adapter] ?? OTHER) : OTHER;
}

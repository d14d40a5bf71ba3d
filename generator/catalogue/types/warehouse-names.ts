import { ownValue } from "@routewright/runtime/model";
import {
  all,
  always,
  array,
  BOOLEAN,
  BYTES,
  DATE,
  decimal,
  type Dialect,
  DOUBLE,
  JSON_VALUE,
  lastArgument,
  map,
  type NamedConstructors,
  nullableArgument,
  record,
  signed,
  SINGLE,
  TEXT,
  TIME,
  timestamp,
  tuple,
  type TypeConstructor,
  unsigned,
  UUID,
} from "./constructors.js";
import { isKnown } from "./data-type.js";

const dialect = (...names: NamedConstructors): Dialect => ({
  names: new Map([...STANDARD, ...names]),
  isServed: false,
});

/** Names of the SQL standard, which most have. */
const STANDARD: NamedConstructors = [
  ...all("boolean, bool", BOOLEAN),
  ...all("tinyint", signed(8)),
  ...all("smallint, int2", signed(16)),
  ...all("int, integer, int4", signed(32)),
  ...all("bigint, int8", signed(64)),
  ...all("real, float4", SINGLE),
  ...all("double, double precision, float8", DOUBLE),
  ...all("text, string, char, character, varchar, character varying, nchar, nvarchar", TEXT),
  ...all("binary, varbinary, blob, bytea", BYTES),
  ...all("date", DATE),
  ...all("time, time without time zone", TIME),
  ...all("timestamp, timestamp without time zone", timestamp(false, 6)),
  ...all("timestamptz, timestamp with time zone", timestamp(true, 6)),
  ...all("uuid", UUID),
  ...all("json", JSON_VALUE),
];

const NUMBER_38 = { precision: 38, scale: 0 };

/** A nested type without a type in its brackets is JSON. */
const orJson =
  (typed: TypeConstructor): TypeConstructor =>
  (args, read) => {
    const shape = args.length === 0 ? undefined : typed(args, read);
    const isUntyped = shape === undefined ? args.length === 0 : shape.kind === "array" && !isKnown(shape.of);
    return isUntyped ? { kind: "json" } : shape;
  };

const SNOWFLAKE = dialect(
  ...all("number, decimal, dec, numeric", decimal(NUMBER_38)),
  // All integer types are `NUMBER(38, 0)`.
  ...all("int, integer, bigint, smallint, tinyint, byteint", always({ kind: "decimal", ...NUMBER_38 })),
  ...all("float, float4, float8, double, double precision, real", DOUBLE),
  ...all(
    "timestamp_ntz, timestampntz, timestamp, datetime, timestamp without time zone",
    timestamp(false, 9),
  ),
  ...all("timestamp_ltz, timestampltz, timestamp_tz, timestamptz", timestamp(true, 9)),
  ...all("timestamp with time zone, timestamp with local time zone", timestamp(true, 9)),
  ...all("variant, geography, geometry", JSON_VALUE),
  ...all("array", orJson(array)),
  ...all("object", orJson(record)),
  ...all("map", map),
);

const BIGQUERY = dialect(
  ...all("int64, int, integer, bigint, smallint, tinyint, byteint", signed(64)),
  ...all("float64, float", DOUBLE),
  ...all("numeric, decimal", decimal({ precision: 38, scale: 9 })),
  ...all("bignumeric, bigdecimal", decimal({ precision: 76, scale: 38 })),
  ...all("bytes", BYTES),
  ...all("datetime", timestamp(false, 6)),
  ...all("timestamp", timestamp(true, 6)),
  ...all("geography, interval", TEXT),
  ...all("array", array),
  ...all("struct, record", record),
);

const SPARK = dialect(
  ...all("byte, tinyint", signed(8)),
  ...all("short, smallint", signed(16)),
  ...all("long, bigint", signed(64)),
  ...all("float, real", SINGLE),
  ...all("decimal, dec, numeric", decimal({ precision: 10, scale: 0 })),
  ...all("timestamp, timestamp_ltz", timestamp(true, 6)),
  ...all("timestamp_ntz", timestamp(false, 6)),
  ...all("variant", JSON_VALUE),
  ...all("array", array),
  ...all("map", map),
  ...all("struct", record),
);

const DUCKDB = dialect(
  ...all("hugeint, int128", signed(128)),
  ...all("uhugeint, uint128", unsigned(128)),
  ...all("ubigint, uint64", unsigned(64)),
  ...all("uinteger, uint32", unsigned(32)),
  ...all("usmallint, uint16", unsigned(16)),
  ...all("utinyint, uint8", unsigned(8)),
  ...all("int64, long", signed(64)),
  ...all("int32, signed", signed(32)),
  ...all("int16, short", signed(16)),
  ...all("float", SINGLE),
  ...all("decimal, numeric", decimal({ precision: 18, scale: 3 })),
  ...all("timestamp_s", timestamp(false, 0)),
  ...all("timestamp_ms", timestamp(false, 3)),
  ...all("timestamp_ns", timestamp(false, 9)),
  ...all("time_ns", TIME),
  ...all("datetime, timestamp_us", timestamp(false, 6)),
  ...all("interval, bit, enum, time with time zone, timetz", TEXT),
  ...all("map", map),
  ...all("struct, row", record),
);

const TRINO = dialect(
  ...all("decimal", decimal(NUMBER_38)),
  ...all("timestamp", timestamp(false, 3)),
  ...all("timestamp with time zone", timestamp(true, 3)),
  ...all("float", SINGLE),
  ...all("ipaddress, time with time zone", TEXT),
  ...all("array", array),
  ...all("map", map),
  ...all("row, struct", record),
);

const POSTGRES_NAMES = [
  ...all("smallserial, serial2", signed(16)),
  ...all("serial, serial4", signed(32)),
  ...all("bigserial, serial8", signed(64)),
  ...all("float", DOUBLE),
  ...all("money", always({ kind: "decimal", precision: 19, scale: 2 })),
  ...all("jsonb, super", JSON_VALUE),
  ...all("varbyte, binary varying", BYTES),
  ...all("bpchar, citext, name, interval, inet, cidr, macaddr, xml, timetz, time with time zone", TEXT),
  // Without its digits a number of PostgreSQL has any; Redshift's has 18.
  ...all("numeric, decimal", decimal()),
];
const REDSHIFT = dialect(...POSTGRES_NAMES, ...all("numeric, decimal", decimal({ precision: 18, scale: 0 })));

const SQL_SERVER = dialect(
  ...all("bit", BOOLEAN),
  ...all("tinyint", unsigned(8)),
  ...all("decimal, numeric, dec", decimal({ precision: 18, scale: 0 })),
  ...all("money", always({ kind: "decimal", precision: 19, scale: 4 })),
  ...all("smallmoney", always({ kind: "decimal", precision: 10, scale: 4 })),
  ...all("ntext, xml, sysname", TEXT),
  ...all("image, rowversion, timestamp", BYTES),
  ...all("datetime", timestamp(false, 3)),
  ...all("smalldatetime", timestamp(false, 0)),
  ...all("datetime2", timestamp(false, 7)),
  ...all("datetimeoffset", timestamp(true, 7)),
  ...all("uniqueidentifier", UUID),
  ...all("float", ([bits]) => ({ kind: "float", bits: Number(bits ?? 53) <= 24 ? 32 : 64 })),
);

const CLICKHOUSE = dialect(
  ...([8, 16, 32, 64, 128] as const).flatMap((bits) => [
    ...all(`int${String(bits)}`, signed(bits)),
    ...all(`uint${String(bits)}`, unsigned(bits)),
  ]),
  ...all("float32, bfloat16", SINGLE),
  ...all("float64, float", DOUBLE),
  ...all("decimal, numeric", decimal({ precision: 10, scale: 0 })),
  ...all("fixedstring, enum, enum8, enum16, ipv4, ipv6", TEXT),
  ...all("date32", DATE),
  ...all("datetime, datetime32", timestamp(true, 0)),
  ...all("datetime64", timestamp(true, 3)),
  ...all("array", array),
  ...all("map", map),
  ...all("tuple", tuple),
  ...all("nullable", nullableArgument),
  ...all("lowcardinality", lastArgument),
);

const ADAPTERS: Readonly<Record<string, Dialect>> = {
  snowflake: SNOWFLAKE,
  bigquery: BIGQUERY,
  databricks: SPARK,
  spark: SPARK,
  duckdb: DUCKDB,
  trino: TRINO,
  athena: TRINO,
  redshift: REDSHIFT,
  postgres: dialect(...POSTGRES_NAMES),
  sqlserver: SQL_SERVER,
  fabric: SQL_SERVER,
  synapse: SQL_SERVER,
  clickhouse: CLICKHOUSE,
};

/** Of another adapter only names of the SQL standard are known. */
const OTHER = dialect();

export function dialectOf(adapter: string): Dialect {
  return ownValue(ADAPTERS, adapter) ?? OTHER;
}

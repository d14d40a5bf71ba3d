import { ownValue } from "@routewright/runtime/model";
import { all, type Dialect, type NamedConstructors, type TypeConstructor } from "./constructors.js";
import { isKnown } from "./data-type.js";
import { INTEGERS, SERIALS, STANDARD } from "./served-names.js";
import * as is from "./constructors.js";

/** The names of an adapter's types, beside those that most have. */
const dialect = (...names: NamedConstructors): Dialect => ({
  names: new Map([
    ...STANDARD,
    ...all("nvarchar", is.TEXT),
    ...all("binary, varbinary, blob", is.BYTES),
    ...names,
  ]),
  isServed: false,
});

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
  ...all("number, decimal, dec, numeric", is.decimal(NUMBER_38)),
  // All integer types are `NUMBER(38, 0)`.
  ...all("int, integer, bigint, smallint, tinyint, byteint", is.always({ kind: "decimal", ...NUMBER_38 })),
  ...all("float, float4, float8, double, double precision, real", is.DOUBLE),
  ...all(
    "timestamp_ntz, timestampntz, timestamp, datetime, timestamp without time zone",
    is.timestamp(false, 9),
  ),
  ...all("timestamp_ltz, timestampltz, timestamp_tz, timestamptz", is.timestamp(true, 9)),
  ...all("timestamp with time zone, timestamp with local time zone", is.timestamp(true, 9)),
  ...all("variant, geography, geometry", is.JSON_VALUE),
  ...all("array", orJson(is.array)),
  ...all("object", orJson(is.record)),
  ...all("map", is.map),
);

const BIGQUERY = dialect(
  ...all("int64, int, integer, bigint, smallint, tinyint, byteint", is.signed(64)),
  ...all("float64, float", is.DOUBLE),
  ...all("numeric, decimal", is.decimal({ precision: 38, scale: 9 })),
  ...all("bignumeric, bigdecimal", is.decimal({ precision: 76, scale: 38 })),
  ...all("bytes", is.BYTES),
  ...all("datetime", is.timestamp(false, 6)),
  ...all("timestamp", is.timestamp(true, 6)),
  ...all("geography, interval", is.TEXT),
  ...all("array", is.array),
  ...all("struct, record", is.record),
);

const SPARK = dialect(
  ...all("byte, tinyint", is.signed(8)),
  ...all("short, smallint", is.signed(16)),
  ...all("long, bigint", is.signed(64)),
  ...all("float, real", is.SINGLE),
  ...all("decimal, dec, numeric", is.decimal({ precision: 10, scale: 0 })),
  ...all("timestamp, timestamp_ltz", is.timestamp(true, 6)),
  ...all("timestamp_ntz", is.timestamp(false, 6)),
  ...all("variant", is.JSON_VALUE),
  ...all("array", is.array),
  ...all("map", is.map),
  ...all("struct", is.record),
);

const DUCKDB = dialect(
  ...all("hugeint, int128", is.signed(128)),
  ...all("uhugeint, uint128", is.unsigned(128)),
  ...all("ubigint, uint64", is.unsigned(64)),
  ...all("uinteger, uint32", is.unsigned(32)),
  ...all("usmallint, uint16", is.unsigned(16)),
  ...all("utinyint, uint8", is.unsigned(8)),
  ...all("int64, long", is.signed(64)),
  ...all("int32, signed", is.signed(32)),
  ...all("int16, short", is.signed(16)),
  ...all("float", is.SINGLE),
  ...all("decimal, numeric", is.decimal({ precision: 18, scale: 3 })),
  ...all("timestamp_s", is.timestamp(false, 0)),
  ...all("timestamp_ms", is.timestamp(false, 3)),
  ...all("timestamp_ns", is.timestamp(false, 9)),
  ...all("time_ns", is.TIME),
  ...all("datetime, timestamp_us", is.timestamp(false, 6)),
  ...all("interval, bit, enum, time with time zone, timetz", is.TEXT),
  ...all("map", is.map),
  ...all("struct, row", is.record),
);

const TRINO = dialect(
  ...all("decimal", is.decimal(NUMBER_38)),
  ...all("timestamp", is.timestamp(false, 3)),
  ...all("timestamp with time zone", is.timestamp(true, 3)),
  ...all("float", is.SINGLE),
  ...all("ipaddress, time with time zone", is.TEXT),
  ...all("array", is.array),
  ...all("map", is.map),
  ...all("row, struct", is.record),
);

const POSTGRES_NAMES = [
  ...SERIALS,
  ...all("float", is.DOUBLE),
  ...all("money", is.always({ kind: "decimal", precision: 19, scale: 2 })),
  ...all("jsonb, super", is.JSON_VALUE),
  ...all("varbyte, binary varying", is.BYTES),
  ...all("bpchar, citext, name, interval, inet, cidr, macaddr, xml, timetz, time with time zone", is.TEXT),
  // Without its digits a number of PostgreSQL has any; Redshift's has 18.
  ...all("numeric, decimal", is.decimal()),
];
const REDSHIFT = dialect(
  ...POSTGRES_NAMES,
  ...all("numeric, decimal", is.decimal({ precision: 18, scale: 0 })),
);

const SQL_SERVER = dialect(
  ...all("bit", is.BOOLEAN),
  ...all("tinyint", is.unsigned(8)),
  ...all("decimal, numeric, dec", is.decimal({ precision: 18, scale: 0 })),
  ...all("money", is.always({ kind: "decimal", precision: 19, scale: 4 })),
  ...all("smallmoney", is.always({ kind: "decimal", precision: 10, scale: 4 })),
  ...all("ntext, xml, sysname", is.TEXT),
  ...all("image, rowversion, timestamp", is.BYTES),
  ...all("datetime", is.timestamp(false, 3)),
  ...all("smalldatetime", is.timestamp(false, 0)),
  ...all("datetime2", is.timestamp(false, 7)),
  ...all("datetimeoffset", is.timestamp(true, 7)),
  ...all("uniqueidentifier", is.UUID),
  ...all("float", ([bits]) => ({ kind: "float", bits: Number(bits ?? 53) <= 24 ? 32 : 64 })),
);

const CLICKHOUSE = dialect(
  ...INTEGERS.filter(([name]) => !name.endsWith("256")),
  ...all("float32, bfloat16", is.SINGLE),
  ...all("float64, float", is.DOUBLE),
  ...all("decimal, numeric", is.decimal({ precision: 10, scale: 0 })),
  ...all("fixedstring, enum, enum8, enum16, ipv4, ipv6", is.TEXT),
  ...all("date32", is.DATE),
  ...all("datetime, datetime32", is.timestamp(true, 0)),
  ...all("datetime64", is.timestamp(true, 3)),
  ...all("array", is.array),
  ...all("map", is.map),
  ...all("tuple", is.tuple),
  ...all("nullable", is.nullableArgument),
  ...all("lowcardinality", is.lastArgument),
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

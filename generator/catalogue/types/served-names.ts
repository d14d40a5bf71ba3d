import {
  all,
  always,
  ANY_DECIMAL,
  array,
  BOOLEAN,
  BYTES,
  DATE,
  decimal,
  decimalOfPrecision,
  type Dialect,
  DOUBLE,
  enumeration,
  JSON_VALUE,
  lastArgument,
  map,
  nested,
  nullableArgument,
  signed,
  SINGLE,
  sizedText,
  TEXT,
  TIME,
  timestamp,
  tuple,
  unsigned,
  UUID,
} from "./constructors.js";
import { nullable, typeFrom } from "./data-type.js";

/**
 * Names that ClickHouse (some as SQL aliases) and PostgreSQL share. Where they differ, the wider type is used: `float` is
 * single in ClickHouse and double in PostgreSQL, `numeric` any number in PostgreSQL and `Decimal(10, 0)` in ClickHouse.
 */
const BOTH = [
  ...all("bool, boolean", BOOLEAN),
  ...all("smallint, int2", signed(16)),
  ...all("integer, int, int4", signed(32)),
  ...all("bigint", signed(64)),
  ...all("tinyint", signed(8)),
  ...all("tinyint unsigned", unsigned(8)),
  ...all("smallint unsigned", unsigned(16)),
  ...all("integer unsigned, int unsigned", unsigned(32)),
  ...all("bigint unsigned", unsigned(64)),
  ...all("numeric, decimal, dec", decimal()),
  ...all("float, double, double precision", DOUBLE),
  ...all("real", SINGLE),
  ...all("text, varchar, character varying, char varying, char, character, nchar", sizedText),
  ...all("national character, national character varying", sizedText),
  ...all("uuid", UUID),
  ...all("date", DATE),
  ...all("timestamp", timestamp(false, 6)),
  ...all("time", TIME),
  ...all("json", JSON_VALUE),
];

/**
 * ClickHouse's own names, with the form of their values in its JSON formats. Omitted, hence unknown: states
 * (`AggregateFunction`), types known only per row (`Variant`, `Dynamic`), `Nothing`, geometry.
 */
const CLICKHOUSE = [
  ...([16, 32, 64, 128, 256] as const).flatMap((bits) => all(`int${String(bits)}`, signed(bits))),
  ...([8, 16, 32, 64, 128, 256] as const).flatMap((bits) => all(`uint${String(bits)}`, unsigned(bits))),
  ...all("bfloat16, float32", SINGLE),
  ...all("float64", DOUBLE),
  ...all("decimal32", decimalOfPrecision(9)),
  ...all("decimal64", decimalOfPrecision(18)),
  ...all("decimal128", decimalOfPrecision(38)),
  ...all("decimal256", decimalOfPrecision(76)),
  ...all("string", TEXT),
  ...all("fixedstring", sizedText),
  ...all("ipv4", always({ kind: "text", format: "ipv4" })),
  ...all("ipv6", always({ kind: "text", format: "ipv6" })),
  ...all("date32", DATE),
  ...all("datetime, datetime32", timestamp(true, 0)),
  ...all("datetime64", timestamp(true, 3)),
  ...all("time64", TIME),
  ...all("enum, enum8, enum16", enumeration),
  ...all("array", array),
  ...all("map", map),
  ...all("tuple", tuple),
  ...all("nested", nested),
  ...all("nullable", nullableArgument),
  ...all("lowcardinality, simpleaggregatefunction", lastArgument),
  ...all("object", JSON_VALUE),
];

const INTERVAL_FIELDS = ["year", "month", "day", "hour", "minute", "second"];

/** `interval`, `interval day`, `interval day to second`: the fields do not change the row. */
const INTERVALS = ["", ...INTERVAL_FIELDS, ...INTERVAL_FIELDS.flatMap(spansFrom)].map((fields) =>
  `interval ${fields}`.trimEnd(),
);

function spansFrom(field: string, index: number): readonly string[] {
  return INTERVAL_FIELDS.slice(index + 1).map((end) => `${field} to ${end}`);
}

const NULLABLE_TEXT = nullable(typeFrom({ kind: "text" }));

/**
 * PostgreSQL's own names, with the form of their values in responses, where everything but numbers, booleans and JSON is a
 * string: intervals, ranges, oids. Omitted, hence unknown: `point`, which has another form in ClickHouse, and PostGIS,
 * whose JSON depends on its version.
 */
const POSTGRES = [
  ...all("smallserial, serial2", signed(16)),
  ...all("serial, serial4", signed(32)),
  ...all("int8, bigserial, serial8", signed(64)),
  ...all("float4", SINGLE),
  ...all("float8", DOUBLE),
  // Its digits follow the database's locale.
  ...all("money", ANY_DECIMAL),
  ...all("bpchar", sizedText),
  ...all("timestamptz, timestamp with time zone", timestamp(true, 6)),
  ...all("timestamp without time zone", timestamp(false, 6)),
  ...all("jsonb", JSON_VALUE),
  ...all("hstore", always({ kind: "map", key: NULLABLE_TEXT, value: NULLABLE_TEXT })),
  ...all("bytea", BYTES),
  ...all("citext, name, xml, oid, ltree, jsonpath", TEXT),
  ...all("inet, cidr, macaddr, macaddr8, tsvector, tsquery", TEXT),
  ...all("bit, varbit, bit varying", TEXT),
  ...all("timetz, time with time zone, time without time zone", TIME),
  ...all(INTERVALS.join(", "), TEXT),
  ...all("int4range, int8range, numrange, daterange, tsrange, tstzrange", TEXT),
  ...all("int4multirange, int8multirange, nummultirange", TEXT),
  ...all("datemultirange, tsmultirange, tstzmultirange", TEXT),
];

/** The engines that serve: the text of a type in a project does not say which. */
export const SERVED: Dialect = {
  names: new Map([...BOTH, ...CLICKHOUSE, ...POSTGRES]),
  // PostgreSQL's `int8`, in any letter case, has 8 bytes; ClickHouse's `Int8`, which is case-sensitive, has 8 bits.
  exactCase: new Map([["Int8", signed(8)]]),
  isServed: true,
};

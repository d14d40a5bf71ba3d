import { all, type Dialect, type NamedConstructors } from "./constructors.js";
import { nullable, typeFrom } from "./data-type.js";
import * as is from "./constructors.js";

/** Names of the SQL standard, which most databases have. */
export const STANDARD: NamedConstructors = [
  ...all("boolean, bool", is.BOOLEAN),
  ...all("tinyint", is.signed(8)),
  ...all("smallint, int2", is.signed(16)),
  ...all("int, integer, int4", is.signed(32)),
  ...all("bigint, int8", is.signed(64)),
  ...all("real, float4", is.SINGLE),
  ...all("double, double precision, float8", is.DOUBLE),
  ...all("text, string, char, character, varchar, character varying, nchar", is.TEXT),
  ...all("bytea", is.BYTES),
  ...all("date", is.DATE),
  ...all("time, time without time zone", is.TIME),
  ...all("timestamp, timestamp without time zone", is.timestamp(false, 6)),
  ...all("timestamptz, timestamp with time zone", is.timestamp(true, 6)),
  ...all("uuid", is.UUID),
  ...all("json", is.JSON_VALUE),
];

/**
 * Names that ClickHouse (some as SQL aliases) and PostgreSQL share. Where they differ, the wider type is used: `float` is
 * single in ClickHouse and double in PostgreSQL, `numeric` any number in PostgreSQL and `Decimal(10, 0)` in ClickHouse.
 */
const BOTH = [
  ...all("tinyint unsigned", is.unsigned(8)),
  ...all("smallint unsigned", is.unsigned(16)),
  ...all("integer unsigned, int unsigned", is.unsigned(32)),
  ...all("bigint unsigned", is.unsigned(64)),
  ...all("numeric, decimal, dec", is.decimal()),
  ...all("float", is.DOUBLE),
  ...all("text, varchar, character varying, char varying, char, character, nchar", is.sizedText),
  ...all("national character, national character varying", is.sizedText),
];

/** ClickHouse's. */
export const INTEGERS: NamedConstructors = ([8, 16, 32, 64, 128, 256] as const).flatMap((bits) => [
  ...all(`int${String(bits)}`, is.signed(bits)),
  ...all(`uint${String(bits)}`, is.unsigned(bits)),
]);

/**
 * ClickHouse's own names, with the form of their values in its JSON formats. Omitted, hence unknown: states
 * (`AggregateFunction`), types known only per row (`Variant`, `Dynamic`), `Nothing`, geometry.
 */
const CLICKHOUSE = [
  ...INTEGERS,
  ...all("bfloat16, float32", is.SINGLE),
  ...all("float64", is.DOUBLE),
  ...all("decimal32", is.decimalOfPrecision(9)),
  ...all("decimal64", is.decimalOfPrecision(18)),
  ...all("decimal128", is.decimalOfPrecision(38)),
  ...all("decimal256", is.decimalOfPrecision(76)),
  ...all("fixedstring", is.sizedText),
  ...all("ipv4", is.always({ kind: "text", format: "ipv4" })),
  ...all("ipv6", is.always({ kind: "text", format: "ipv6" })),
  ...all("date32", is.DATE),
  ...all("datetime, datetime32", is.timestamp(true, 0)),
  ...all("datetime64", is.timestamp(true, 3)),
  ...all("time64", is.TIME),
  ...all("enum, enum8, enum16", is.enumeration),
  ...all("array", is.array),
  ...all("map", is.map),
  ...all("tuple", is.tuple),
  ...all("nested", is.nested),
  ...all("nullable", is.nullableArgument),
  ...all("lowcardinality, simpleaggregatefunction", is.lastArgument),
  ...all("object", is.JSON_VALUE),
];

const INTERVAL_FIELDS = ["year", "month", "day", "hour", "minute", "second"];

/** `interval`, `interval day`, `interval day to second`: the fields do not change the row. */
const INTERVALS = ["", ...INTERVAL_FIELDS, ...INTERVAL_FIELDS.flatMap(spansFrom)].map((fields) =>
  `interval ${fields}`.trimEnd(),
);

function spansFrom(field: string, index: number): readonly string[] {
  return INTERVAL_FIELDS.slice(index + 1).map((end) => `${field} to ${end}`);
}

/** PostgreSQL's integers with a sequence. */
export const SERIALS: NamedConstructors = [
  ...all("smallserial, serial2", is.signed(16)),
  ...all("serial, serial4", is.signed(32)),
  ...all("bigserial, serial8", is.signed(64)),
];

const NULLABLE_TEXT = nullable(typeFrom({ kind: "text" }));

/**
 * PostgreSQL's own names, with the form of their values in responses, where everything but numbers, booleans and JSON is a
 * string: intervals, ranges, oids. Omitted, hence unknown: `point`, which has another form in ClickHouse, and PostGIS,
 * whose JSON depends on its version.
 */
const POSTGRES = [
  ...SERIALS,
  ...all("int8", is.signed(64)),
  // Its digits follow the database's locale.
  ...all("money", is.ANY_DECIMAL),
  ...all("bpchar", is.sizedText),
  ...all("jsonb", is.JSON_VALUE),
  ...all("hstore", is.always({ kind: "map", key: NULLABLE_TEXT, value: NULLABLE_TEXT })),
  ...all("citext, name, xml, oid, ltree, jsonpath", is.TEXT),
  ...all("inet, cidr, macaddr, macaddr8, tsvector, tsquery", is.TEXT),
  ...all("bit, varbit, bit varying", is.TEXT),
  ...all("timetz, time with time zone", is.TIME),
  ...all(INTERVALS.join(", "), is.TEXT),
  ...all("int4range, int8range, numrange, daterange, tsrange, tstzrange", is.TEXT),
  ...all("int4multirange, int8multirange, nummultirange", is.TEXT),
  ...all("datemultirange, tsmultirange, tstzmultirange", is.TEXT),
];

/** The engines that serve: the text of a type in a project does not say which. */
export const SERVED: Dialect = {
  names: new Map([...STANDARD, ...BOTH, ...CLICKHOUSE, ...POSTGRES]),
  // PostgreSQL's `int8`, in any letter case, has 8 bytes; ClickHouse's `Int8`, which is case-sensitive, has 8 bits.
  exactCase: new Map([["Int8", is.signed(8)]]),
  isServed: true,
};

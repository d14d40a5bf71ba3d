import {
  aliases,
  decimal,
  constant,
  type TypeNames,
  signed,
  sizedString,
  unsigned,
  DATE_TIME,
  DOUBLE,
  SINGLE,
  STRING,
  array,
  enumeration,
  map,
  nested,
  tuple,
  decimalOfPrecision,
  type TypeConstructor,
  readAt,
} from "./type-constructors.js";
import { nullable } from "./json-type.js";
/**
 * Names that ClickHouse (some as SQL aliases) and PostgreSQL share. Where they differ, the wider type is used: `float` is
 * single in ClickHouse and double in PostgreSQL.
 */
export const BOTH: TypeNames = [
  ...aliases(["bool", "boolean"], constant({ kind: "boolean", nullable: false })),
  ...aliases(["smallint", "int2"], constant(signed(16))),
  ...aliases(["integer", "int", "int4"], constant(signed(32))),
  ["bigint", constant(signed(64))],
  ["tinyint", constant(signed(8))],
  ["tinyint unsigned", constant(unsigned(8))],
  ["smallint unsigned", constant(unsigned(16))],
  ...aliases(["integer unsigned", "int unsigned"], constant(unsigned(32))),
  ["bigint unsigned", constant(unsigned(64))],
  ...aliases(["numeric", "decimal", "dec"], decimal),
  ...aliases(["float", "double", "double precision"], constant(DOUBLE)),
  ["real", constant(SINGLE)],
  ...aliases(["text", "varchar", "character varying", "char varying"], sizedString),
  ...aliases(["char", "character", "nchar", "national character", "national character varying"], sizedString),
  ["uuid", constant({ kind: "string", format: "uuid", nullable: false })],
  ["date", constant({ kind: "date", nullable: false })],
  ["timestamp", constant(DATE_TIME)],
  ["time", constant(STRING)],
  ["json", constant({ kind: "json" })],
];

/** PostgreSQL's `int8`, in any letter case, has 8 bytes; ClickHouse's `Int8`, which is case-sensitive, has 8 bits. */
export const CLICKHOUSE_EXACT_CASE: TypeNames = [["Int8", constant(signed(8))]];

/** The aggregated value has the type of the last argument: `SimpleAggregateFunction(sum, UInt64)`. */
const lastArgument: TypeConstructor = (args, read) => readAt(args, -1, read);

/**
 * ClickHouse's own names, with the form of their values in its JSON formats. Omitted, hence unknown: states
 * (`AggregateFunction`), types known only per row (`Variant`, `Dynamic`), `Nothing`, geometry.
 */
export const CLICKHOUSE: TypeNames = [
  ...[16, 32, 64, 128, 256].map((bits): TypeNames[number] => [`int${bits}`, constant(signed(bits))]),
  ...[8, 16, 32, 64, 128, 256].map((bits): TypeNames[number] => [`uint${bits}`, constant(unsigned(bits))]),
  ...aliases(["bfloat16", "float32"], constant(SINGLE)),
  ["float64", constant(DOUBLE)],
  ["decimal32", decimalOfPrecision(9)],
  ["decimal64", decimalOfPrecision(18)],
  ["decimal128", decimalOfPrecision(38)],
  ["decimal256", decimalOfPrecision(76)],
  ["string", constant(STRING)],
  ["fixedstring", sizedString],
  ["ipv4", constant({ kind: "string", format: "ipv4", nullable: false })],
  ["ipv6", constant({ kind: "string", format: "ipv6", nullable: false })],
  ["date32", constant({ kind: "date", nullable: false })],
  ...aliases(["datetime", "datetime32", "datetime64"], constant(DATE_TIME)),
  ["time64", constant(STRING)],
  ...aliases(["enum", "enum8", "enum16"], enumeration),
  ["array", array],
  ["map", map],
  ["tuple", tuple],
  ["nested", nested],
  ["nullable", (args, read) => nullable(readAt(args, 0, read))],
  ...aliases(["lowcardinality", "simpleaggregatefunction"], lastArgument),
  ["object", constant({ kind: "json" })],
];

const INTERVAL_FIELDS = ["year", "month", "day", "hour", "minute", "second"];

/** `interval`, `interval day`, `interval day to second`: the fields do not change the row. */
const INTERVALS = ["", ...INTERVAL_FIELDS, ...INTERVAL_FIELDS.flatMap(spansFrom)].map((fields) =>
  `interval ${fields}`.trimEnd(),
);

/**
 * PostgreSQL's own names, with the form of their values in `to_json`, where everything but numbers, booleans and JSON is a
 * string: money, intervals, ranges, oids. Omitted, hence unknown: `point`, which has another form in ClickHouse, and PostGIS,
 * whose JSON depends on its version.
 */
export const POSTGRES: TypeNames = [
  ...aliases(["smallserial", "serial2"], constant(signed(16))),
  ...aliases(["serial", "serial4"], constant(signed(32))),
  ...aliases(["int8", "bigserial", "serial8"], constant(signed(64))),
  ["float4", constant(SINGLE)],
  ["float8", constant(DOUBLE)],
  ["bpchar", sizedString],
  ...aliases(["timestamptz", "timestamp with time zone", "timestamp without time zone"], constant(DATE_TIME)),
  ["jsonb", constant({ kind: "json" })],
  ["hstore", constant({ kind: "map", value: nullable(STRING), nullable: false })],
  ...aliases(["citext", "name", "bytea", "money", "xml", "oid", "ltree", "jsonpath"], constant(STRING)),
  ...aliases(["inet", "cidr", "macaddr", "macaddr8", "tsvector", "tsquery"], constant(STRING)),
  ...aliases(["bit", "varbit", "bit varying"], constant(STRING)),
  ...aliases(["timetz", "time with time zone", "time without time zone", ...INTERVALS], constant(STRING)),
  ...aliases(["int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange"], constant(STRING)),
  ...aliases(["int4multirange", "int8multirange", "nummultirange"], constant(STRING)),
  ...aliases(["datemultirange", "tsmultirange", "tstzmultirange"], constant(STRING)),
];

function spansFrom(field: string, index: number): readonly string[] {
  return INTERVAL_FIELDS.slice(index + 1).map((end) => `${field} to ${end}`);
}

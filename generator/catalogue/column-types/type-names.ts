import {
  aliases,
  decimal,
  always,
  type NamedConstructors,
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
  parseArgument,
} from "./type-constructors.js";
import { nullable } from "./json-type.js";

/**
 * Names that ClickHouse (some as SQL aliases) and PostgreSQL share. Where they differ, the wider type is used: `float` is
 * single in ClickHouse and double in PostgreSQL.
 */
export const BOTH: NamedConstructors = [
  ...aliases(["bool", "boolean"], always({ kind: "boolean", nullable: false })),
  ...aliases(["smallint", "int2"], always(signed(16))),
  ...aliases(["integer", "int", "int4"], always(signed(32))),
  ["bigint", always(signed(64))],
  ["tinyint", always(signed(8))],
  ["tinyint unsigned", always(unsigned(8))],
  ["smallint unsigned", always(unsigned(16))],
  ...aliases(["integer unsigned", "int unsigned"], always(unsigned(32))),
  ["bigint unsigned", always(unsigned(64))],
  ...aliases(["numeric", "decimal", "dec"], decimal),
  ...aliases(["float", "double", "double precision"], always(DOUBLE)),
  ["real", always(SINGLE)],
  ...aliases(["text", "varchar", "character varying", "char varying"], sizedString),
  ...aliases(["char", "character", "nchar", "national character", "national character varying"], sizedString),
  ["uuid", always({ kind: "string", format: "uuid", nullable: false })],
  ["date", always({ kind: "date", nullable: false })],
  ["timestamp", always(DATE_TIME)],
  ["time", always(STRING)],
  ["json", always({ kind: "json" })],
];

/** PostgreSQL's `int8`, in any letter case, has 8 bytes; ClickHouse's `Int8`, which is case-sensitive, has 8 bits. */
export const CLICKHOUSE_EXACT_CASE: NamedConstructors = [["Int8", always(signed(8))]];

/** The aggregated value has the type of the last argument: `SimpleAggregateFunction(sum, UInt64)`. */
const lastArgument: TypeConstructor = (args, parseType) => parseArgument(args, -1, parseType);

/**
 * ClickHouse's own names, with the form of their values in its JSON formats. Omitted, hence unknown: states
 * (`AggregateFunction`), types known only per row (`Variant`, `Dynamic`), `Nothing`, geometry.
 */
export const CLICKHOUSE: NamedConstructors = [
  ...[16, 32, 64, 128, 256].map((bits): NamedConstructors[number] => [`int${bits}`, always(signed(bits))]),
  ...[8, 16, 32, 64, 128, 256].map((bits): NamedConstructors[number] => [
    `uint${bits}`,
    always(unsigned(bits)),
  ]),
  ...aliases(["bfloat16", "float32"], always(SINGLE)),
  ["float64", always(DOUBLE)],
  ["decimal32", decimalOfPrecision(9)],
  ["decimal64", decimalOfPrecision(18)],
  ["decimal128", decimalOfPrecision(38)],
  ["decimal256", decimalOfPrecision(76)],
  ["string", always(STRING)],
  ["fixedstring", sizedString],
  ["ipv4", always({ kind: "string", format: "ipv4", nullable: false })],
  ["ipv6", always({ kind: "string", format: "ipv6", nullable: false })],
  ["date32", always({ kind: "date", nullable: false })],
  ...aliases(["datetime", "datetime32", "datetime64"], always(DATE_TIME)),
  ["time64", always(STRING)],
  ...aliases(["enum", "enum8", "enum16"], enumeration),
  ["array", array],
  ["map", map],
  ["tuple", tuple],
  ["nested", nested],
  ["nullable", (args, parseType) => nullable(parseArgument(args, 0, parseType))],
  ...aliases(["lowcardinality", "simpleaggregatefunction"], lastArgument),
  ["object", always({ kind: "json" })],
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
export const POSTGRES: NamedConstructors = [
  ...aliases(["smallserial", "serial2"], always(signed(16))),
  ...aliases(["serial", "serial4"], always(signed(32))),
  ...aliases(["int8", "bigserial", "serial8"], always(signed(64))),
  ["float4", always(SINGLE)],
  ["float8", always(DOUBLE)],
  ["bpchar", sizedString],
  ...aliases(["timestamptz", "timestamp with time zone", "timestamp without time zone"], always(DATE_TIME)),
  ["jsonb", always({ kind: "json" })],
  ["hstore", always({ kind: "map", value: nullable(STRING), nullable: false })],
  ...aliases(["citext", "name", "bytea", "money", "xml", "oid", "ltree", "jsonpath"], always(STRING)),
  ...aliases(["inet", "cidr", "macaddr", "macaddr8", "tsvector", "tsquery"], always(STRING)),
  ...aliases(["bit", "varbit", "bit varying"], always(STRING)),
  ...aliases(["timetz", "time with time zone", "time without time zone", ...INTERVALS], always(STRING)),
  ...aliases(["int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange"], always(STRING)),
  ...aliases(["int4multirange", "int8multirange", "nummultirange"], always(STRING)),
  ...aliases(["datemultirange", "tsmultirange", "tstzmultirange"], always(STRING)),
];

function spansFrom(field: string, index: number): readonly string[] {
  return INTERVAL_FIELDS.slice(index + 1).map((end) => `${field} to ${end}`);
}

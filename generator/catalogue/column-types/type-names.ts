import { fieldTextOf, unquoted } from "@routewright/runtime/model";
import { type ColumnType, type Field, type IntegerType, nullable, UNKNOWN } from "./json-type.js";

/** Builds a type from the arguments in parentheses after its name; undefined if they are invalid. */
export type TypeConstructor = (args: readonly string[], parseType: ParseType) => ColumnType | undefined;

/** Parses an argument that is itself a type. */
type ParseType = (text: string) => ColumnType;

/** Constructors by type name, in lower case. */
type NamedConstructors = readonly (readonly [name: string, typeConstructor: TypeConstructor])[];

/** This type with any arguments: they, such as a precision or a time zone, do not change the form of its values in rows. */
function always(type: ColumnType): TypeConstructor {
  return () => type;
}

function aliases(names: readonly string[], typeConstructor: TypeConstructor): NamedConstructors {
  return names.map((name) => [name, typeConstructor]);
}

const STRING: ColumnType = { kind: "string", nullable: false };
const DATE_TIME: ColumnType = { kind: "dateTime", nullable: false };
const DOUBLE: ColumnType = { kind: "float", bits: 64, nullable: false };
const SINGLE: ColumnType = { kind: "float", bits: 32, nullable: false };

function signed(bits: number): IntegerType {
  const half = 2n ** BigInt(bits - 1);
  return integer(-half, half - 1n);
}

function unsigned(bits: number): IntegerType {
  return integer(0n, 2n ** BigInt(bits) - 1n);
}

/** `varchar(n)`, `FixedString(n)`: n bytes never hold more than n characters. */
const sizedString: TypeConstructor = (args) => {
  if (args.length === 0) return STRING;
  const [maxLength] = numbersOf(args) ?? [];
  return maxLength !== undefined && maxLength > 0 && Number.isSafeInteger(maxLength)
    ? { kind: "string", maxLength, nullable: false }
    : undefined;
};

/**
 * `Decimal(P, S)`, `numeric(p, s)`. Without S the scale is 0 in both engines. Without arguments a column holds any number
 * in PostgreSQL and `Decimal(10, 0)` in ClickHouse: the wider of the two is used.
 */
const decimal: TypeConstructor = (args) => {
  if (args.length === 0) return { kind: "decimal", nullable: false };
  const [precision = 0, scale = 0] = numbersOf(args) ?? [];
  return fixedPoint(precision, scale);
};

/** `Decimal64(S)` and the like: the number in the name decides the precision. */
function decimalOfPrecision(precision: number): TypeConstructor {
  return (args) => {
    if (args.length === 0) return { kind: "decimal", nullable: false };
    const scale = numbersOf(args)?.[0];
    return scale === undefined ? undefined : fixedPoint(precision, scale);
  };
}

/** PostgreSQL's limit; ClickHouse's is 76. */
const MAX_DIGITS = 1000;

/** An integer if the scale is not positive; a negative one (PostgreSQL 15) rounds to tens, hundreds and so on. */
function fixedPoint(precision: number, scale: number): ColumnType | undefined {
  if (precision < 1 || precision > MAX_DIGITS || Math.abs(scale) > MAX_DIGITS) return undefined;
  if (scale > 0) return { kind: "decimal", precision, scale, nullable: false };
  const max = (10n ** BigInt(precision) - 1n) * 10n ** BigInt(-scale);
  return integer(-max, max);
}

function integer(min: bigint, max: bigint): IntegerType {
  return { kind: "integer", min: min.toString(), max: max.toString(), nullable: false };
}

/** The arguments as numbers, or undefined if any is something else. */
function numbersOf(args: readonly string[]): readonly number[] | undefined {
  return args.every((arg) => /^[+-]?\d+$/.test(arg)) ? args.map(Number) : undefined;
}

function parseArgument(args: readonly string[], index: number, parseType: ParseType): ColumnType {
  const text = args.at(index);
  return text === undefined ? UNKNOWN : parseType(text);
}

const array: TypeConstructor = (args, parseType) => ({
  kind: "array",
  of: parseArgument(args, 0, parseType),
  nullable: false,
});

/** `Map(K, V)`: a JSON object, whose keys are the texts of the keys of any K. */
const map: TypeConstructor = (args, parseType) => ({
  kind: "map",
  value: parseArgument(args, 1, parseType),
  nullable: false,
});

/** `Tuple(T, …)` is a JSON array, `Tuple(name T, …)` an object; names for some elements only are invalid. */
const tuple: TypeConstructor = (args, parseType) => {
  if (args.some((arg) => fieldTextOf(arg) !== null)) return recordOf(args, parseType);
  return args.length === 0 ? undefined : { kind: "tuple", of: args.map(parseType), nullable: false };
};

/** `Nested(name T, …)`: an array of objects. */
const nested: TypeConstructor = (args, parseType) => {
  const record = recordOf(args, parseType);
  return record && { kind: "array", of: record, nullable: false };
};

/** `Enum8('a' = 1, …)`: the row shows the string. Without a list of members it may be any string. */
const enumeration: TypeConstructor = (args) => {
  const members = args.map(memberOf);
  if (!members.every((member) => member !== undefined)) return undefined;
  const values = [...new Set(members.map(({ text }) => text))];
  if (values.length === 0) return STRING;
  const order = [...new Set(members.toSorted((a, b) => a.number - b.number).map(({ text }) => text))];
  const isSorted = order.every((text, i) => text === values[i]);
  return { kind: "enum", values, ...(!isSorted && { order }), nullable: false };
};

const MEMBER = /^('(?:\\.|''|[^'\\])*')\s*(?:=\s*([+-]?\d+))?$/su;

/** The string of `'a' = 1` or `'a'`. Without a number it keeps its place. */
function memberOf(arg: string): { readonly text: string; readonly number: number } | undefined {
  const [, quoted, number = "0"] = MEMBER.exec(arg) ?? [];
  return quoted === undefined ? undefined : { text: unquoted(quoted), number: Number(number) };
}

/** Two words at the start are a name and a type, not a type of two words: ClickHouse reads them in the same way. */
function recordOf(args: readonly string[], parseType: ParseType): ColumnType | undefined {
  const fields = args.map((arg): Field | undefined => {
    const [name, text] = fieldTextOf(arg) ?? [];
    return name === undefined || text === undefined ? undefined : { name, type: parseType(text) };
  });
  if (fields.length === 0 || !fields.every((field) => field !== undefined)) return undefined;
  const isDistinct = new Set(fields.map((field) => field.name)).size === fields.length;
  return isDistinct ? { kind: "record", fields, nullable: false } : undefined;
}

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
 * PostgreSQL's own names, with the form of their values in responses, where everything but numbers, booleans and JSON is a
 * string: intervals, ranges, oids. Omitted, hence unknown: `point`, which has another form in ClickHouse, and PostGIS,
 * whose JSON depends on its version.
 */
export const POSTGRES: NamedConstructors = [
  ...aliases(["smallserial", "serial2"], always(signed(16))),
  ...aliases(["serial", "serial4"], always(signed(32))),
  ...aliases(["int8", "bigserial", "serial8"], always(signed(64))),
  ["float4", always(SINGLE)],
  ["float8", always(DOUBLE)],
  // Its digits follow the database's locale.
  ["money", always({ kind: "decimal", nullable: false })],
  ["bpchar", sizedString],
  ...aliases(["timestamptz", "timestamp with time zone", "timestamp without time zone"], always(DATE_TIME)),
  ["jsonb", always({ kind: "json" })],
  ["hstore", always({ kind: "map", value: nullable(STRING), nullable: false })],
  ...aliases(["citext", "name", "bytea", "xml", "oid", "ltree", "jsonpath"], always(STRING)),
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

import { nullable } from "../kinds.js";
import { array, enumeration, map, nested, tuple } from "./composite.js";
import { all, decimalOfPrecision, is, type Meaning, type Names, readAt, signed } from "./meaning.js";
import { DATE_TIME, DOUBLE, SINGLE, sizedString, STRING, unsigned } from "./meaning.js";

/** In PostgreSQL, where case says nothing, `int8` has 8 bytes; in ClickHouse, where it does, `Int8` has 8 bits. */
export const CLICKHOUSE_EXACT_CASE: Names = [["Int8", is(signed(8))]];

/** The aggregated value has the type of the last argument: `SimpleAggregateFunction(sum, UInt64)`. */
const lastArgument: Meaning = (args, read) => readAt(args, -1, read);

/**
 * ClickHouse's own names, with the shape its JSON formats give their values. Left out, hence unknown: states
 * (`AggregateFunction`), types known only per row (`Variant`, `Dynamic`), `Nothing`, geometry.
 */
export const CLICKHOUSE: Names = [
  ...[16, 32, 64, 128, 256].map((bits): Names[number] => [`int${bits}`, is(signed(bits))]),
  ...[8, 16, 32, 64, 128, 256].map((bits): Names[number] => [`uint${bits}`, is(unsigned(bits))]),
  ...all(["bfloat16", "float32"], is(SINGLE)),
  ["float64", is(DOUBLE)],
  ["decimal32", decimalOfPrecision(9)],
  ["decimal64", decimalOfPrecision(18)],
  ["decimal128", decimalOfPrecision(38)],
  ["decimal256", decimalOfPrecision(76)],
  ["string", is(STRING)],
  ["fixedstring", sizedString],
  ["ipv4", is({ kind: "string", format: "ipv4", nullable: false })],
  ["ipv6", is({ kind: "string", format: "ipv6", nullable: false })],
  ["date32", is({ kind: "date", nullable: false })],
  ...all(["datetime", "datetime32", "datetime64"], is(DATE_TIME)),
  ["time64", is(STRING)],
  ...all(["enum", "enum8", "enum16"], enumeration),
  ["array", array],
  ["map", map],
  ["tuple", tuple],
  ["nested", nested],
  ["nullable", (args, read) => nullable(readAt(args, 0, read))],
  ...all(["lowcardinality", "simpleaggregatefunction"], lastArgument),
  ["object", is({ kind: "json" })],
];

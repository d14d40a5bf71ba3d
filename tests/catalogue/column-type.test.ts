import { describe, expect, it } from "vitest";
import {
  isZoneless,
  MAX_TYPE_TEXT,
  nullable,
  parseColumnType,
} from "../../generator/catalogue/column-types/column-type.js";
import {
  array,
  dateTime,
  decimal,
  double,
  json,
  reads,
  signed,
  sized,
  string,
  unknown,
  unsigned,
} from "./column-types.js";

reads("reads a type however it is spelled", [
  ["  uint64\t", unsigned(64n)],
  ["LOWCARDINALITY( NULLABLE ( STRING ) )", nullable(string)],
  ["DateTime64( 3 ,'UTC' )", dateTime],
  ["DOUBLE   PRECISION", double],
  ["Character\nVarying ( 10 )", sized(10)],
  ['"text"', string],
  ["`String`", string],
  ['pg_catalog."numeric"(10,2)', decimal(10, 2)],
  ["pg_catalog.int4[]", array(nullable(signed(32n)))],
]);

reads("reads int8 as PostgreSQL's bigint and only Int8 as ClickHouse's byte", [
  ["Int8", signed(8n)],
  ["int8", signed(64n)],
  ["INT8", signed(64n)],
  ["UINT8", unsigned(8n)],
]);

reads("leaves unknown what is not a type", [
  ["", unknown],
  [" ", unknown],
  ["wibble", unknown],
  ["text; drop table users", unknown],
  ["Nullable", unknown],
  ["Nullable(String", unknown],
  ["String)", unknown],
  ["Array(String]", unknown],
  ["String, String", unknown],
  ["(String)", unknown],
  ["varchar(10)(20)", unknown],
  ["varchar(0)", unknown],
  ["varchar('10')", unknown],
  ["Decimal(0)", unknown],
  ["Decimal('38')", unknown],
  ["Decimal32('4')", unknown],
  ["numeric(5000,0)", unknown],
  ["numeric(99999999999999999999999,0)", unknown],
  ["Enum8('a", unknown],
  ["String\u0000", unknown],
  ["Str\u001bing", unknown],
  ["__proto__", unknown],
  ["constructor", unknown],
]);

describe("a type that is not given", () => {
  it("is unknown", () => {
    expect(parseColumnType(undefined)).toEqual(unknown);
  });
});

describe("nesting and length", () => {
  const nested = (depth: number) => "Array(".repeat(depth) + "String" + ")".repeat(depth);

  it("is read down to 32 levels", () => {
    expect(parseColumnType(nested(32)).kind).toBe("array");
    expect(parseColumnType(nested(33))).toEqual(unknown);
    expect(parseColumnType(nested(9_000))).toEqual(unknown);
  });

  it.each([
    "(",
    "[",
    "Array(",
    "Tuple(a ",
    "Nullable(",
    "[]",
    "text[] ",
    "'",
    "\\",
    "'\\",
    "''",
    ",",
    "_",
    "int ",
  ])("repeated %j up to the limit is unknown", (piece) => {
    const full = piece.repeat(Math.floor(MAX_TYPE_TEXT / piece.length));
    expect(parseColumnType(full)).toEqual(unknown);
    expect(parseColumnType(nested(10_000))).toEqual(unknown);
  });

  it("reads an enum of thousands of members, and nothing longer than the limit", () => {
    const members = Array.from({ length: 3000 }, (_, index) => `'member_${index}' = ${index}`);
    expect(parseColumnType(`Enum16(${members.join(", ")})`)).toMatchObject({ kind: "enum", nullable: false });
    expect(parseColumnType("String".padEnd(MAX_TYPE_TEXT))).toEqual(string);
    expect(parseColumnType("String".padEnd(MAX_TYPE_TEXT + 1))).toEqual(unknown);
  });

  it("a tuple of named tuples is read once per level", () => {
    const text = "Tuple(tuple ".repeat(32) + "String" + ")".repeat(32);
    expect(parseColumnType(text)).toMatchObject({ kind: "record", fields: [{ name: "tuple" }] });
  });
});

describe("nullable", () => {
  it("allows null in any type once", () => {
    expect(nullable(string)).toEqual({ kind: "string", nullable: true });
    expect(nullable(nullable(string))).toEqual(nullable(string));
  });

  it("changes neither json nor unknown, which hold null already", () => {
    expect(nullable(json)).toBe(json);
    expect(nullable(unknown)).toBe(unknown);
  });
});

it("only a timestamp of PostgreSQL has no zone, not a field of that name", () => {
  const types = ["timestamp", "timestamp(3) without time zone null", "pg_catalog.timestamp[]"];
  expect(types.filter(isZoneless)).toEqual(types);
  const others = [
    "timestamptz",
    "timestamp with time zone",
    "DateTime",
    "Tuple(at Date, timestamp DateTime)",
  ];
  expect(others.filter(isZoneless)).toEqual([]);
});

it("a column type is plain data, also as JSON", () => {
  const type = parseColumnType("Tuple(a UInt256, b Nullable(Decimal(10, 2)), c Enum8('x' = 1))");
  expect(JSON.parse(JSON.stringify(type))).toEqual(type);
});

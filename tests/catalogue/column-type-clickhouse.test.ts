import { describe, expect, it } from "vitest";
import {
  type ColumnType,
  nullable,
  parseColumnType,
} from "../../generator/catalogue/column-types/column-type.js";

const integer = (min: bigint, max: bigint): ColumnType => ({
  kind: "integer",
  min: `${min}`,
  max: `${max}`,
  nullable: false,
});
const signed = (bits: bigint) => integer(-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n);
const unsigned = (bits: bigint) => integer(0n, 2n ** bits - 1n);
const digits = (count: bigint) => integer(1n - 10n ** count, 10n ** count - 1n);
const decimal = (precision: number, scale: number): ColumnType => ({
  kind: "decimal",
  precision,
  scale,
  nullable: false,
});
const array = (of: ColumnType): ColumnType => ({ kind: "array", of, nullable: false });
const map = (value: ColumnType): ColumnType => ({ kind: "map", value, nullable: false });
const tuple = (...of: ColumnType[]): ColumnType => ({ kind: "tuple", of, nullable: false });
const record = (fields: Record<string, ColumnType>): ColumnType => ({
  kind: "record",
  fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
  nullable: false,
});
const enumeration = (...values: string[]): ColumnType => ({ kind: "enum", values, nullable: false });
const sized = (maxLength: number): ColumnType => ({ kind: "string", maxLength, nullable: false });
const formatted = (format: "uuid" | "ipv4" | "ipv6"): ColumnType => ({
  kind: "string",
  format,
  nullable: false,
});
const string: ColumnType = { kind: "string", nullable: false };
const double: ColumnType = { kind: "float", bits: 64, nullable: false };
const single: ColumnType = { kind: "float", bits: 32, nullable: false };
const boolean: ColumnType = { kind: "boolean", nullable: false };
const date: ColumnType = { kind: "date", nullable: false };
const dateTime: ColumnType = { kind: "dateTime", nullable: false };
const openDecimal: ColumnType = { kind: "decimal", nullable: false };
const json: ColumnType = { kind: "json" };
const unknown: ColumnType = { kind: "unknown" };

type Cases = readonly (readonly [text: string, type: ColumnType])[];

function reads(behaviour: string, cases: Cases): void {
  describe(behaviour, () => {
    it.each(cases)("%s", (text, type) => {
      expect(parseColumnType(text)).toEqual(type);
    });
  });
}

reads("reads the types that ClickHouse catalogues hold", [
  ["String", string],
  ["UInt64", unsigned(64n)],
  ["Float64", double],
  ["Date", date],
  ["DateTime", dateTime],
  ["Nullable(String)", nullable(string)],
  ["Nullable(Float64)", nullable(double)],
  ["DateTime64", dateTime],
  ["UInt8", unsigned(8n)],
  ["Map(String, String)", map(string)],
  ["UInt32", unsigned(32n)],
  ["DateTime64(0, 'UTC')", dateTime],
  ["LowCardinality(String)", string],
  ["UInt256", unsigned(256n)],
  ["Int256", signed(256n)],
  ["Nullable(UInt256)", nullable(unsigned(256n))],
  ["JSON", json],
  ["Int64", signed(64n)],
  ["Array(String)", array(string)],
  ["Nullable(UInt64)", nullable(unsigned(64n))],
  ["Nullable(Int32)", nullable(signed(32n))],
  ["Bool", boolean],
  ["Nullable(DateTime)", nullable(dateTime)],
  ["Int32", signed(32n)],
  ["Nullable(Date)", nullable(date)],
  ["Nullable(UInt32)", nullable(unsigned(32n))],
  ["Nullable(Int256)", nullable(signed(256n))],
  ["AggregateFunction(groupBitmap, UInt64)", unknown],
  ["Map(String, Nullable(String))", map(nullable(string))],
  ["Nullable(UInt8)", nullable(unsigned(8n))],
  ["Nullable(Int64)", nullable(signed(64n))],
  ["Nullable(DateTime64)", nullable(dateTime)],
  ["Array(UInt64)", array(unsigned(64n))],
  ["Nullable(Bool)", nullable(boolean)],
  ["UInt16", unsigned(16n)],
  ["Array(Float64)", array(nullable(double))],
  ["Tuple(String, DateTime64(0, 'UTC'))", tuple(string, dateTime)],
  ["UUID", formatted("uuid")],
  ["LowCardinality(Nullable(String))", nullable(string)],
  ["Array(LowCardinality(String))", array(string)],
  ["Nullable(DateTime64(0, 'UTC'))", nullable(dateTime)],
]);

reads("reads ClickHouse's other types", [
  ["Int8", signed(8n)],
  ["Int16", signed(16n)],
  ["Int128", signed(128n)],
  ["UInt128", unsigned(128n)],
  ["Float32", single],
  ["BFloat16", single],
  ["Decimal(38, 18)", decimal(38, 18)],
  ["Decimal32(4)", decimal(9, 4)],
  ["Decimal64(4)", decimal(18, 4)],
  ["Decimal128(10)", decimal(38, 10)],
  ["Decimal256(18)", decimal(76, 18)],
  ["Decimal256(0)", digits(76n)],
  ["Decimal64", openDecimal],
  ["FixedString(42)", sized(42)],
  ["IPv4", formatted("ipv4")],
  ["IPv6", formatted("ipv6")],
  ["Date32", date],
  ["DateTime('Europe/Zurich')", dateTime],
  ["DateTime64(9)", dateTime],
  ["Time64(3)", string],
  ["SimpleAggregateFunction(sum, UInt64)", unsigned(64n)],
  ["SimpleAggregateFunction(anyLast, Nullable(Float64))", nullable(double)],
  ["Object('json')", json],
  ["JSON(max_dynamic_paths = 8, a.b UInt32, SKIP REGEXP 'x')", json],
  ["Variant(String, UInt64)", unknown],
  ["Dynamic", unknown],
  ["Nothing", unknown],
  ["Point", unknown],
  ["Array(Array(Nullable(Int32)))", array(array(nullable(signed(32n))))],
  ["Array(AggregateFunction(sum, UInt64))", array(unknown)],
  ["Map(UInt64, Array(Date))", map(array(date))],
]);

reads("reads named tuples as records", [
  [
    "Tuple(symbol String, amount Nullable(UInt256))",
    record({ symbol: string, amount: nullable(unsigned(256n)) }),
  ],
  ["Tuple(date Date, timestamp DateTime)", record({ date, timestamp: dateTime })],
  ['Tuple(`a b` String, "c""d" UInt8)', record({ "a b": string, 'c"d': unsigned(8n) })],
  ["Tuple(tags Array(String), count INT UNSIGNED)", record({ tags: array(string), count: unsigned(32n) })],
  ["Nested(id UInt32, label String)", array(record({ id: unsigned(32n), label: string }))],
  ["Tuple(String, Tuple(a Bool))", tuple(string, record({ a: boolean }))],
  ["Tuple(a String, UInt8)", unknown],
  ["Tuple(a String, a UInt8)", unknown],
  ["Tuple()", unknown],
  ["Nested(UInt8)", unknown],
]);

reads("reads the members of an enum", [
  ["Enum8('a' = 1, 'b' = -2)", enumeration("a", "b")],
  ["Enum16('one' = 1000)", enumeration("one")],
  ["Enum('x', 'y')", enumeration("x", "y")],
  ["Enum8('same' = 1, 'same' = 2)", enumeration("same")],
  [
    String.raw`Enum8('it\'s' = 1, 'it''s two' = 2, '\\' = 3, '\n' = 4, '\x41' = 5, '\q' = 6)`,
    enumeration("it's", "it's two", "\\", "\n", "A", "\\q"),
  ],
  ["Enum8(', ) = (' = 1)", enumeration(", ) = (")],
  ["Nullable(Enum8('a' = 1))", nullable(enumeration("a"))],
  ["Enum8", string],
  ["Enum8(a = 1)", unknown],
  ["Enum8('a' = 'b')", unknown],
  ["Enum8('a' . 1)", unknown],
]);

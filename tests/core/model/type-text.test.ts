/** Types as databases write them, taken apart by one reader. */
import { expect, it } from "vitest";
import { fieldTextOf, typeTextOf, unquoted } from "../../../runtime/core/model/type-text.js";

const bare = { args: [], isAngled: false, dimensions: 0, isNull: false };

it.each([
  ["Decimal(38, 18)", { name: "Decimal", args: ["38", "18"] }],
  ["timestamp ( 3 )  with time\tzone", { name: "timestamp with time zone", args: ["3"] }],
  ["numeric(10,2)[][3]", { name: "numeric", args: ["10", "2"], dimensions: 2 }],
  ["varchar(10) ARRAY", { name: "varchar", args: ["10"], dimensions: 1 }],
  ["text array [4]", { name: "text", dimensions: 1 }],
  ["Array(String)", { name: "Array", args: ["String"] }],
  [
    "ARRAY<STRUCT<a INT64, b ARRAY<STRING>>>",
    { name: "ARRAY", args: ["STRUCT<a INT64, b ARRAY<STRING>>"], isAngled: true },
  ],
  [`Enum8('it\\'s, (a)' = 1, 'b''c' = -2)`, { name: "Enum8", args: [`'it\\'s, (a)' = 1`, `'b''c' = -2`] }],
  [
    'Tuple(`a)` Int8, "b,c" Map(String, Int8))',
    { name: "Tuple", args: ["`a)` Int8", '"b,c" Map(String, Int8)'] },
  ],
  [`pg_catalog."int4" null`, { name: "int4", isNull: true }],
  ['"Sales"."order status" NOT NULL', { name: "Sales.order status" }],
  ["Nothing()", { name: "Nothing" }],
  ["Tuple(,)", { name: "Tuple", args: ["", ""] }],
])("%s", (text, parts) => {
  expect(typeTextOf(text)).toEqual({ ...bare, ...parts });
});

it.each(["", "  ", "(a)", "int(", "int)", "int(>", "int[a]", "int[1](2)", "a(b)(c)", "'a' = 1", "a, b", "é"])(
  "%j is no type",
  (text) => {
    expect(typeTextOf(text)).toBeNull();
  },
);

it("types are read to 32 brackets deep", () => {
  const nested = (depth: number): string => `${"Array(".repeat(depth)}Int8${")".repeat(depth)}`;
  expect(typeTextOf(nested(32))?.args).toEqual([nested(31)]);
  expect(typeTextOf(nested(33))).toBeNull();
});

it.each([
  ["a INT64", ["a", "INT64"]],
  ["a: array<int>", ["a", "array<int>"]],
  ['"a ""b""" VARCHAR(3)', ['a "b"', "VARCHAR(3)"]],
  ["`a\\`b` Nullable(Int8)", ["a`b", "Nullable(Int8)"]],
  ["Int8", null],
  ["Array(Int8)", null],
  ["Array (Int8)", null],
])("the field %s", (text, field) => {
  expect(fieldTextOf(text)).toEqual(field);
});

it("a quoted text loses its quotes and ClickHouse's escapes", () => {
  expect([`'a\\'b'`, `'a''b'`, `"a""b"`, "'\\t\\0\\x41\\q'"].map(unquoted)).toEqual([
    "a'b",
    "a'b",
    'a"b',
    "\t\0A\\q",
  ]);
});

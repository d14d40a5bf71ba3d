/** How pages show values: texts lose no digit, and labels differ where values do. */
import { describe, expect, it } from "vitest";
import {
  byNumber,
  count,
  ExactNumber,
  formatted,
  isIdentifier,
  isNumberType,
  keepDigits,
  labelsOf,
  shortened,
  shortNumber,
  splitList,
  textOf,
  typeInWords,
  withoutMiddle,
  withSeparators,
} from "../../../runtime/pages/explorer/values.js";

describe("a number keeps its digits", () => {
  it.each([
    [1.1, "1.10", new ExactNumber("1.10")],
    [2 ** 53, "9007199254740993", new ExactNumber("9007199254740993")],
    [5, "5.0", 5],
    [5, undefined, 5],
    ["a", '"a"', "a"],
  ])("%j of the text %s", (value, source, kept) => {
    expect(keepDigits("", value, source === undefined ? undefined : { source })).toEqual(kept);
  });

  it("in texts", () => {
    const exact = new ExactNumber("9007199254740993");
    expect([textOf(exact), textOf("a"), textOf(1), textOf(null)]).toEqual([exact.text, "a", "1", "null"]);
    expect(String(exact)).toBe(exact.text);
  });
});

it("in JSON, a number with more digits than a number of JavaScript holds is the nearest of these", () => {
  const exact = new ExactNumber("9007199254740993");
  expect(JSON.stringify({ exact })).toBe('{"exact":9007199254740992}');
});

it("a JSON text gets line breaks and indents, and its values stay", () => {
  const text = '{"a": [1.10,{"b":"x, {y}"}], "c":[ ], "d":{}}';
  const lines = ["{", '  "a": [', "    1.10,", "    {", '      "b": "x, {y}"', "    }", "  ],"];
  expect(formatted(text)).toBe([...lines, '  "c": [ ],', '  "d": {}', "}"].join("\n"));
});

it("numbers are in order where JavaScript rounds them to one, by their digits", () => {
  const ordered = ["-2e40", "-9007199254740993.1", "-9007199254740993", "-0.5", "0", "0.10", "0.2"].concat([
    "9",
    "10",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.05",
    "9007199254740993.5",
    "1e40",
  ]);
  expect(ordered.toReversed().sort(byNumber)).toEqual(ordered);
  expect([byNumber("1.0", "1"), byNumber("NaN", "1"), byNumber("Infinity", "Infinity")]).toEqual([0, 0, 0]);
});

it("thousands stand apart, and every digit stays", () => {
  const texts = ["12345678901234567890.10", "-1234", "999", "1e25", "NaN"].map(withSeparators);
  expect(texts).toEqual(["12,345,678,901,234,567,890.10", "-1,234", "999", "1e25", "NaN"]);
});

it("a text without its middle has whole characters", () => {
  expect(withoutMiddle("0x1234567890abcdef", 4, 3)).toBe("0x12…def");
  expect(withoutMiddle(`a${"😀".repeat(9)}`, 3, 2)).toBe("a😀😀…😀😀");
  expect(withoutMiddle(`${"😀".repeat(9)}z`, 3, 2)).toBe("😀😀😀…😀z");
});

it.each([
  ["numeric(38,9) null", true],
  ["LowCardinality(Nullable(UInt256))", true],
  ["double precision", true],
  ["Decimal64(2)", true],
  ["bigint", true],
  ["int4", true],
  ["interval", false],
  ["int4range", false],
  ["point", false],
  ["text", false],
  [null, false],
])("the type %s is one of numbers: %s", (type, expected) => {
  expect(isNumberType(type)).toBe(expected);
});

describe("a column of numbers names something", () => {
  const rows = (values: readonly unknown[]) => values.map((a) => ({ a }));
  const counted = Array.from({ length: 10 }, (_, i) => i + 5);
  it.each<[string, string, readonly unknown[], boolean]>([
    ["by its name", "user_id", [], true],
    ["not by a part of its name", "paid", [], false],
    ["as whole numbers without a gap, in any order", "a", counted.toReversed(), true],
    ["not with a gap", "a", [...counted.slice(1), 100], false],
    ["not with a fraction", "a", [...counted, 15.5], false],
    ["not where one is twice", "a", [...counted, 5], false],
    ["not where they are few", "a", counted.slice(1), false],
    ["not where some are missing", "a", [...counted, undefined], false],
  ])("%s", (_, name, values, expected) => {
    expect(isIdentifier(name, rows(values))).toBe(expected);
  });
});

describe("in few characters", () => {
  it("a number has one common unit up to trillions", () => {
    const short = [5_800_000, 999e12, 1e15, -2e15].map((value) => shortNumber(value, {}));
    expect(short).toEqual(["5.8M", "999T", "1E15", "-2E15"]);
  });

  it("labels of an axis have as many digits as tell them apart", () => {
    expect(labelsOf([0, 1000, 2000])).toEqual(["0", "1K", "2K"]);
    expect(labelsOf([0.001, 0.002])).toEqual(["0.001", "0.002"]);
    expect(labelsOf([1, 1 + 1e-12])).toEqual(["1", "1"]);
  });

  it("a long text loses its end, a long name its middle", () => {
    expect(shortened("fourteen chars")).toBe("fourteen chars");
    expect(shortened("more than 14 characters")).toBe("more than 14 …");
    expect(shortened("0x1234567890abcdef")).toBe("0x1234…cdef");
  });

  it("a count has its noun", () => {
    expect([count(1, "row"), count(0, "row"), count(2000, "row")]).toEqual(["1 row", "0 rows", "2,000 rows"]);
  });
});

it("a list has the values between commas, without blanks and empty ones", () => {
  expect(splitList(" a, b c,,d ,")).toEqual(["a", "b c", "d"]);
});

it.each([
  [null, "not declared"],
  ["bigint", "whole number"],
  ["interval", "interval"],
  ["numeric(38,9) null", "number, may be null"],
  ["Nullable(DateTime64(3))", "date and time, may be null"],
  ["LowCardinality(Nullable(String))", "text, may be null"],
  ["LowCardinality(String)", "text"],
  ["timestamp with time zone", "date and time"],
  ["date", "date"],
  ["time", "time"],
  ["text[]", "list of text"],
  ["Array(UInt8)", "list of whole number"],
  ["inet", "inet"],
])("the type %s is %s", (type, words) => {
  expect(typeInWords(type)).toBe(words);
});

import { describe, expect, it } from "vitest";
import { parseColumnType, typeScriptOf } from "../../generator/catalogue/column-types/column-type.js";

const typeScript = (text: string | undefined): string => typeScriptOf(parseColumnType(text));
const enumOf = (members: readonly string[]): string =>
  `Enum16(${members.map((member) => `'${member}'`).join(", ")})`;
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `m${index}`);

describe("the TypeScript type of a column", () => {
  it.each<[text: string, type: string]>([
    ["UInt256", "number"],
    ["numeric(10,2)", "number"],
    ["Float64", "number"],
    ["Nullable(String)", "string | null"],
    ["uuid", "string"],
    ["Nullable(Date)", "string | null"],
    ["timestamptz", "string"],
    ["boolean", "boolean"],
    ["Array(Nullable(UInt64))", "(number | null)[]"],
    ["Nullable(Array(String))", "string[] | null"],
    ["int[][]", "(number | null)[][]"],
    ["Map(String, UInt64)", "Record<string, number>"],
    ["Map(String, Nullable(String))", "Record<string, string | null>"],
    ["Tuple(String, Nullable(Date))", "[string, string | null]"],
    ["Nested(id UInt32, `a b` Bool)", '{ id: number; "a b": boolean }[]'],
    ["Enum8('a' = 1, 'b' = 2)", '"a" | "b"'],
    ["Array(Enum8('a' = 1, 'b' = 2))", '("a" | "b")[]'],
    ["Array(Enum8('a' = 1))", '"a"[]'],
    ["Nullable(Enum8('a' = 1))", '"a" | null'],
    ["jsonb", "unknown"],
    ["Nullable(JSON)", "unknown"],
    ["Array(JSON)", "unknown[]"],
    ["wibble", "unknown"],
  ])("of %s is %s", (text, type) => {
    expect(typeScript(text)).toBe(type);
  });

  it("is unknown where no type is given", () => {
    expect(typeScript(undefined)).toBe("unknown");
  });

  it("spells out a dozen short enum members, and calls more or longer ones a string", () => {
    expect(typeScript(enumOf(numbered(12)))).toBe(
      numbered(12)
        .map((member) => `"${member}"`)
        .join(" | "),
    );
    expect(typeScript(enumOf(numbered(13)))).toBe("string");
    expect(typeScript(enumOf(["x".repeat(99)]))).toBe("string");
    expect(typeScript(`Array(${enumOf(numbered(13))})`)).toBe("string[]");
  });

  it("keeps quotes, line breaks and characters a reviewer cannot see inside the literal", () => {
    expect(typeScript(`Enum8('"; \\n')`)).toBe(String.raw`"\"; \n"`);
    expect(typeScript("Enum8('\u2028\u2029\u202e\u0085\u{e0041}')")).toBe(
      String.raw`"\u2028\u2029\u202e\u0085\udb40\udc41"`,
    );
    expect(typeScript('Tuple(`a": never } //` String)')).toBe(String.raw`{ "a\": never } //": string }`);
  });
});

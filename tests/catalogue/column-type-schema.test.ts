import { describe, expect, it } from "vitest";
import {
  type JsonSchema,
  jsonSchemaOf,
  parseColumnType,
} from "../../generator/catalogue/column-types/column-type.js";

const schemaOf = (text: string | undefined): JsonSchema => jsonSchemaOf(parseColumnType(text));

describe("the JSON Schema of a column", () => {
  it.each<[text: string, json: string]>([
    ["UInt8", '{"type":"integer","format":"uint8","minimum":0,"maximum":255}'],
    ["Int32", '{"type":"integer","format":"int32","minimum":-2147483648,"maximum":2147483647}'],
    ["Int64", '{"type":"integer","format":"int64"}'],
    ["UInt64", '{"type":"integer","format":"uint64","minimum":0}'],
    ["UInt256", '{"type":"integer","minimum":0}'],
    ["Int256", '{"type":"integer"}'],
    ["numeric(15,0)", '{"type":"integer","minimum":-999999999999999,"maximum":999999999999999}'],
    ["numeric(20,0)", '{"type":"integer"}'],
    ["Decimal(38, 18)", '{"type":"number"}'],
    ["Float32", '{"type":"number","format":"float"}'],
    ["Nullable(Float64)", '{"type":["number","null"],"format":"double"}'],
    ["String", '{"type":"string"}'],
    ["varchar(10)", '{"type":"string","maxLength":10}'],
    ["Nullable(UUID)", '{"type":["string","null"],"format":"uuid"}'],
    ["IPv6", '{"type":"string","format":"ipv6"}'],
    ["Bool", '{"type":"boolean"}'],
    ["Date", '{"type":"string","format":"date"}'],
    ["timestamptz", '{"type":"string","format":"date-time"}'],
    ["Enum8('a' = 1, 'b' = 2)", '{"type":"string","enum":["a","b"]}'],
    ["Nullable(Enum8('a' = 1))", '{"type":["string","null"],"enum":["a",null]}'],
    ["text[]", '{"type":"array","items":{"type":["string","null"]}}'],
    ["Map(String, Nullable(String))", '{"type":"object","additionalProperties":{"type":["string","null"]}}'],
    [
      "Tuple(String, Date)",
      '{"type":"array","prefixItems":[{"type":"string"},{"type":"string","format":"date"}],"items":false,"minItems":2}',
    ],
    [
      "Tuple(b Bool, a JSON)",
      '{"type":"object","properties":{"b":{"type":"boolean"},"a":{}},"required":["b","a"]}',
    ],
    ["jsonb", "{}"],
    ["wibble", "{}"],
    ["Array(wibble)", '{"type":"array","items":{}}'],
  ])("of %s has its keys in a fixed order, type first", (text, json) => {
    expect(JSON.stringify(schemaOf(text))).toBe(json);
  });

  it("accepts anything where no type is given", () => {
    expect(schemaOf(undefined)).toEqual({});
  });

  it("never bounds an integer by a number that JavaScript rounds", () => {
    expect(schemaOf("numeric(16,0)")).toEqual({ type: "integer" });
  });

  it("has a field named __proto__ as a property of its own", () => {
    const schema = schemaOf("Tuple(__proto__ String, a UInt8)");
    expect(Object.keys(schema.properties ?? {})).toEqual(["__proto__", "a"]);
    expect(JSON.stringify(schema)).toContain('"__proto__":{"type":"string"}');
  });
});

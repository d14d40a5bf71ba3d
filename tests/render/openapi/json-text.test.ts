import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonText } from "../../../generator/render/openapi/json-text.js";

describe("jsonText", () => {
  it("prints ordinary values as JSON.stringify does with two spaces", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(jsonText(value as never)).toBe(JSON.stringify(value, null, 2));
      }),
    );
  });

  it("keeps the order of a Map whose keys look like integers", () => {
    const text = jsonText(
      new Map([
        ["b", 1],
        ["2024", 2],
        ["1", 3],
        ["a", 4],
      ]),
    );
    expect([...text.matchAll(/"(\w+)":/g)].map(([, key]) => key)).toEqual(["b", "2024", "1", "a"]);
  });

  it("prints __proto__ in a Map as a member like any other", () => {
    const parsed: unknown = JSON.parse(
      jsonText(
        new Map([
          ["__proto__", 1],
          ["constructor", 2],
        ]),
      ),
    );
    expect(Object.entries(parsed as object)).toEqual([
      ["__proto__", 1],
      ["constructor", 2],
    ]);
  });

  it("prints every text so that it is read back as it was", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (key, value) => {
        expect(JSON.parse(jsonText(new Map([[key, [value]]])))).toEqual(Object.fromEntries([[key, [value]]]));
      }),
    );
  });

  it("escapes characters that hide or turn the text around them", () => {
    const hidden = "\u202e \u2066 \u200b \u0000 \u007f \u009b \u2028 \ufeff \u{e0041}";
    expect(jsonText(hidden)).toBe(
      String.raw`"\u202e \u2066 \u200b \u0000 \u007f \u009b \u2028 \ufeff \udb40\udc41"`,
    );
    expect(JSON.parse(jsonText(hidden))).toBe(hidden);
  });

  it("leaves letters of all scripts readable", () => {
    expect(jsonText("Größe 大小 مقدار 🌉")).toBe('"Größe 大小 مقدار 🌉"');
  });

  it("escapes a surrogate that has no partner", () => {
    expect(jsonText("\ud800")).toBe(String.raw`"\ud800"`);
  });
});

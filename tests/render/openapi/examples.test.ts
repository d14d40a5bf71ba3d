import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COMPILED_ONCE } from "../../support/compiled-once.js";
import { catalogueOf } from "../../../generator/catalogue/build.js";
import { exampleOf } from "../../../generator/catalogue/types/example.js";
import { jsonSchemaOf } from "../../../generator/catalogue/types/json-schema.js";
import { dataTypeOf } from "../../../generator/catalogue/types/read-type.js";
import { openApiOf } from "../../../generator/render/openapi/document.js";
import { readFileSync } from "node:fs";
import { parseManifest } from "../../../generator/manifest/manifest.js";
import { manifestOf } from "../../support/manifest.js";

const ajv = new Ajv2020({ ...COMPILED_ONCE, strict: false, allErrors: true });
addFormats.default(ajv);

/** The examples of a model's columns in its OpenAPI document, and warnings about it. */
function examplesOf(columns: Record<string, { type: string; meta?: object }>, routewright: object = {}) {
  const types = Object.fromEntries(Object.entries(columns).map(([name, { type }]) => [name, type]));
  const manifest = manifestOf([{ name: "orders", columns: types, routewright }]) as {
    nodes: Record<string, { columns: Record<string, object> }>;
  };
  const declared = manifest.nodes["model.test.orders"]!.columns;
  for (const [name, { meta }] of Object.entries(columns))
    declared[name] = { ...declared[name], config: { meta } };
  const reading = parseManifest(JSON.stringify(manifest), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const catalogue = catalogueOf(reading.value);
  const { schemas } = openApiOf(catalogue).components as unknown as {
    schemas: Map<string, Map<string, Map<string, { examples: readonly unknown[] }>>>;
  };
  const [row] = [...schemas.values()];
  const found = [...(row?.get("properties") ?? [])].map(([name, { examples }]) => [name, examples[0]]);
  return {
    examples: Object.fromEntries(found) as object,
    warnings: catalogue.warnings.map(({ message }) => message),
  };
}

describe("the example of a column", () => {
  it("is believable, by name and type", () => {
    const { examples } = examplesOf({
      country: { type: "text" },
      customer_email: { type: "text" },
      order_id: { type: "uuid" },
      amount_usd: { type: "numeric(20,2)" },
      orders: { type: "integer" },
      day: { type: "date" },
      paid: { type: "boolean" },
      tags: { type: "text[]" },
      action_type: { type: "text" },
      share: { type: "double precision" },
      code: { type: "varchar(3)" },
      big: { type: "numeric(38,0)" },
    });
    expect(examples).toEqual({
      country: "DE",
      customer_email: "ada@example.com",
      order_id: "3f2b8c1e-9d4a-4c6b-8f1e-2a7d5b9c0e41",
      amount_usd: 1250.75,
      orders: 42,
      day: "2026-01-15",
      paid: true,
      tags: ["Example tags"],
      action_type: "Example action type",
      share: 0.25,
      code: "a1b",
      big: 42,
    });
  });

  it("is the project's own where there is one, but of a private column", () => {
    const own = (value: unknown, more: object = {}) => ({ ...more, routewright: { example: value } });
    const { examples, warnings } = examplesOf({
      country: { type: "text", meta: own("AT") },
      orders: { type: "integer", meta: own("many") },
      name: { type: "text", meta: own("Grace Hopper", { pii: true }) },
    });
    expect(examples).toEqual({ country: "AT", orders: 42, name: "Example name" });
    expect(warnings).toEqual(['"many" is no value of the type "integer".']);
  });

  it("is a string where wide numbers are", () => {
    expect(examplesOf({ huge: { type: "numeric(38,0)" } }, { numbers: "string" }).examples).toEqual({
      huge: "42",
    });
  });

  it("is valid for every type, name and range, and always the same", () => {
    const types = readFileSync("tests/catalogue/column-types.jsonl", "utf8").trim().split("\n");
    expect(types.length).toBeGreaterThan(100);
    for (const line of types) {
      const [text] = JSON.parse(line) as [string];
      const type = dataTypeOf(text);
      const example = exampleOf(type, { name: "value" });
      expect([text, example, ajv.validate(jsonSchemaOf(type), example)]).toEqual([text, example, true]);
    }
    const bounds = fc.tuple(fc.integer({ min: -1000, max: 1000 }), fc.integer({ min: 2, max: 500 }));
    const names = fc.constantFrom("year", "amount", "share", "lat", "orders", "x");
    fc.assert(
      fc.property(
        fc.constantFrom("integer", "numeric(9,2)", "double precision"),
        names,
        bounds,
        fc.boolean(),
        (text, name, [low, width], isOpen) => {
          const column = {
            name,
            minimum: low,
            maximum: low + width,
            ...(isOpen && { exclusive: true as const }),
          };
          const example = exampleOf(dataTypeOf(text), column) as number;
          expect(example).toBe(exampleOf(dataTypeOf(text), column));
          expect(
            isOpen ? example > low && example < low + width : example >= low && example <= low + width,
          ).toBe(true);
          if (text === "integer") expect(Number.isInteger(example)).toBe(true);
        },
      ),
    );
  });
});

import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import type { CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import { openApiBytes } from "../../../generator/render/openapi/document.js";
import { catalogue, columns, documentOf, entry, FULL, LEGACY, type Parsed } from "./catalogues.js";

/** Names and words that are hard to quote. */
const NASTY = [
  "__proto__",
  "constructor",
  "2024",
  "a`b",
  "*/ alert(1)",
  "\u202e\u0000\n",
  "x".repeat(10_000),
];

const HOSTILE = entry({
  category: "__proto__",
  resource: "a-b.c__d",
  granularity: "constructor",
  window: "2024",
  model: NASTY.join(" "),
  description: `<script>alert(1)</script> ${NASTY.join(" ")}`,
  methods: ["GET", "POST"],
  tier: "tier3",
  columns: [
    ...NASTY.map((name) => ({ name, type: name })),
    ...columns("t Tuple(__proto__ String, `2024` UInt8)"),
  ],
  columnWords: Object.fromEntries(NASTY.map((name) => [name, name])),
  parameters: NASTY.map((name) => ({ name, column: name, operator: "IN", type: "string_list", maxItems: 1 })),
  parameterWords: Object.fromEntries(NASTY.map((name) => [name, name])),
  allowUnfiltered: false,
  pagination: { defaultLimit: 1, maxLimit: Number.MAX_SAFE_INTEGER, response: "envelope" },
  sort: NASTY.map((name) => [name, "DESC"]),
  sortableFields: NASTY,
});

describe("the OpenAPI document by the official schema", () => {
  it.each<[string, readonly CatalogueEntry[]]>([
    ["without endpoints", []],
    ["with a legacy endpoint", [LEGACY]],
    ["with an endpoint that has everything", [FULL]],
    ["with an endpoint that has no columns", [entry({ columns: [] })]],
    ["with hostile names and words", [HOSTILE, FULL, LEGACY]],
  ])("is valid %s", async (_, entries) => {
    const result = await new Validator().validate(documentOf(...entries));
    expect(result).toEqual({ valid: true });
  });

  /** The validator, like other tools, takes every key `$ref` for a reference, so that it cannot judge this one. */
  it("has a column named $ref as a property", () => {
    const { schemas } = documentOf(entry({ columns: columns("$ref String") })).components;
    expect(schemas.bridges_volume_row.properties).toMatchObject({ $ref: { type: "string" } });
  });

  it("refers only to components that are there", () => {
    const document = documentOf(HOSTILE, FULL, LEGACY);
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)];
    expect(refs.length).toBeGreaterThan(20);
    for (const [, kind = "", name = ""] of refs) expect(document.components[kind]).toHaveProperty([name]);
  });

  it("names its components as the specification allows", () => {
    const names = Object.values<Parsed>(documentOf(HOSTILE, FULL).components).flatMap((kind) =>
      Object.keys(kind),
    );
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9._-]+$/);
  });

  it("gives no two operations one operationId", () => {
    const paths = Object.values<Parsed>(documentOf(HOSTILE, FULL, LEGACY).paths);
    const ids = paths
      .flatMap((path) => Object.values<Parsed>(path))
      .map((operation) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("shows a reviewer no character that turns or hides text", () => {
    const text = openApiBytes(catalogue(HOSTILE)).toString();
    expect(text).toContain(String.raw`\u202e\u0000\n`);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  it("keeps hostile words as they are", () => {
    const { post } = documentOf(HOSTILE).paths[HOSTILE.path];
    expect(post["x-dbt-model"]).toBe(NASTY.join(" "));
    expect(post.description).toContain("<script>alert(1)</script>");
    expect(new Set(Object.keys(post.requestBody.content["application/json"].schema.properties))).toEqual(
      new Set([...NASTY, "limit", "offset", "sort_by", "sort_direction"]),
    );
  });
});

import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { catalogueText, readCatalogue } from "../../generator/catalogue/catalogue-file.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { openApiOf, openApiText } from "../../generator/render/openapi/document.js";
import { manifestOf } from "../support/manifest.js";

interface ManifestJson {
  readonly nodes: Record<string, { columns: Record<string, Record<string, unknown>>; depends_on?: unknown }>;
}

const TYPES = {
  day: "date",
  at: "timestamptz",
  city: "text",
  n: "bigint",
  rate: "numeric(10,4)",
  list: "text[]",
  json: "jsonb",
  email: "text",
};

/** An endpoint whose columns have these examples; `secret` marks a column as private. */
function catalogueWith(examples: Readonly<Record<string, unknown>>, secret?: string) {
  const api = {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: [
      { name: "city", column: "city", operator: "IN", type: "string_list" },
      { name: "n", column: "n", operator: "=", type: "string" },
      { name: "start", column: "at", operator: ">=", type: "date" },
    ],
  };
  const json = manifestOf([
    { name: "visits", tags: ["production", "shop", "api:visits"], columns: TYPES, api },
    { name: "people", tags: [], columns: { email: "text" } },
  ]) as ManifestJson;
  const { columns } = json.nodes["model.test.visits"]!;
  for (const [name, example] of Object.entries(examples))
    columns[name] = { ...columns[name], config: { meta: { routewright: { example } } } };
  if (secret !== undefined) columns[secret]!["tags"] = ["pii"];
  json.nodes["model.test.visits"]!.depends_on = { nodes: ["model.test.people"] };
  json.nodes["model.test.people"]!.columns["email"]!["meta"] = { pii: true };
  const reading = parseManifest(JSON.stringify(json), "manifest.json");
  if (!reading.ok) throw new Error(reading.problem);
  return catalogueOf(reading.manifest);
}

const EXAMPLES = {
  day: "2026-06-30",
  at: "2026-06-30T12:00:00Z",
  city: "Rome",
  n: 7,
  rate: 1.25,
  list: ["a", "b"],
  json: { fee: 8 },
};

describe("an example of a column", () => {
  const catalogue = catalogueWith(EXAMPLES);
  const document = JSON.parse(openApiText(catalogue));
  const { get, post } = document.paths["/v1/shop/visits"];

  it("stands with its property, and becomes the sample of the row", () => {
    expect(catalogue.warnings).toEqual([]);
    const { properties } = document.components.schemas.shop_visits_row;
    const shown = Object.fromEntries(
      Object.entries<{ examples?: unknown[] }>(properties).map(([name, { examples }]) => [name, examples]),
    );
    const expected = Object.entries(EXAMPLES).map(([name, example]) => [name, [example]]);
    expect(shown).toEqual({ ...Object.fromEntries(expected), email: undefined });
  });

  it("is what a filter on the column shows, in the query and in the body", () => {
    expect(get.parameters.map(({ name, example }: Record<string, unknown>) => [name, example])).toEqual([
      ["city", ["Rome"]],
      ["n", "7"],
      ["start", "2026-06-30"],
    ]);
    const body = post.requestBody.content["application/json"].schema.properties;
    expect([body.city.examples, body.n.examples, body.start.examples]).toEqual([
      [["Rome"]],
      ["7"],
      ["2026-06-30"],
    ]);
  });

  it("is in catalogue.json, and read back from there", () => {
    const reading = readCatalogue(catalogueText(catalogue, null));
    if (!reading.ok) throw new Error(reading.problem);
    expect(openApiOf(reading.catalogue)).toEqual(openApiOf(catalogue));
  });
});

describe("an example is not published", () => {
  const refused = (examples: Readonly<Record<string, unknown>>, secret?: string) => {
    const catalogue = catalogueWith(examples, secret);
    expect(JSON.stringify([openApiText(catalogue), catalogueText(catalogue, null)])).not.toContain("S3CRET");
    expect([...(catalogue.entries[0]?.documentation.examples ?? [])]).toEqual([]);
    return catalogue.warnings.map(({ path, message }) => [path, message]);
  };
  const at = (column: string) => `$.columns.${column}.meta.routewright.example`;

  it("of a column with private data, its own or inherited by name", () => {
    const message = "The column is private: its example is not published.";
    expect(refused({ city: "S3CRET" }, "city")).toEqual([[at("city"), message]]);
    expect(refused({ email: "S3CRET" })).toEqual([[at("email"), message]]);
  });

  it.each([
    ["day", 7, "The example is no string or null, as the column's values are."],
    ["n", "seven", "The example is no integer or null, as the column's values are."],
    ["n", 1.5, "The example is no integer or null, as the column's values are."],
    [
      "rate",
      2 ** 60,
      "The example is longer than 1,000 characters, or holds a number that JSON readers would round.",
    ],
    [
      "city",
      "x".repeat(1000),
      "The example is longer than 1,000 characters, or holds a number that JSON readers would round.",
    ],
  ])("that does not fit its column: %s %j", (column, example, message) => {
    expect(refused({ [column]: example })).toEqual([[at(column), message]]);
  });
});

import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import { compareCatalogues } from "../../generator/diff/compare-catalogues.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { openApiOf } from "../../generator/render/openapi/document.js";
import { manifestOf, type TestModel } from "../support/manifest.js";

type Raw = { nodes: Record<string, unknown>; docs?: unknown };

function catalogue(models: readonly TestModel[], edit: (manifest: Raw) => void = () => undefined) {
  const json = manifestOf(models, { adapter_type: "postgres" }) as Raw;
  edit(json);
  const reading = parseManifest(JSON.stringify(json), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return catalogueOf(reading.value);
}

const test = (model: string, name: string, column: string, kwargs: object = {}, namespace?: string) => ({
  resource_type: "test",
  attached_node: `model.test.${model}`,
  column_name: column,
  test_metadata: { name, kwargs, namespace },
  config: {},
});

/** The schemas of an endpoint's columns. */
function columnsIn(of: ReturnType<typeof catalogue>, path: string): Record<string, unknown> {
  const { components } = JSON.parse(
    JSON.stringify(openApiOf(of), (_, value: unknown) =>
      value instanceof Map ? (Object.fromEntries(value) as unknown) : value,
    ),
  ) as {
    components: { schemas: Record<string, { description?: string; properties: Record<string, unknown> }> };
  };
  const row = Object.values(components.schemas).find(({ description }) =>
    description?.includes(`\`${path}\``),
  );
  return row?.properties ?? {};
}

const SALES = {
  name: "sales",
  columns: { id: "integer", share: "float8", price: "numeric(9,2)", shop: "text" },
};
const SHOPS = { name: "shops", columns: { id: "text" } };

describe("what tests prove is in OpenAPI", () => {
  it("as bounds, inclusive or not, of numbers alone", () => {
    const of = catalogue([SALES], ({ nodes }) => {
      nodes["test.a"] = test("sales", "accepted_range", "share", { min_value: 0, max_value: 1 }, "dbt_utils");
      nodes["test.b"] = test("sales", "not_null", "share");
      const between = "expect_column_values_to_be_between";
      nodes["test.c"] = test("sales", between, "price", { min_value: 0, strictly: true }, "dbt_expectations");
      nodes["test.d"] = test("sales", "accepted_range", "id", { min_value: "min(x)" }, "dbt_utils");
      nodes["test.e"] = test("sales", "accepted_range", "shop", { min_value: 3 }, "dbt_utils");
    });
    const { share, price, id, shop } = columnsIn(of, "/v1/shop/sales");
    // Both bounds rule out NaN, which is served as null.
    expect(share).toMatchObject({ type: "number", minimum: 0, maximum: 1 });
    expect(price).toMatchObject({ exclusiveMinimum: 0 });
    expect(id).toMatchObject({ minimum: -(2 ** 31) });
    expect(shop).not.toHaveProperty("minimum");
  });

  it("as words for what JSON Schema has none for; another model is named by its endpoint, to those who may call it", () => {
    const facts = ({ nodes }: Raw): void => {
      nodes["test.a"] = test("sales", "unique", "id");
      nodes["test.b"] = test("sales", "relationships", "shop", { to: "ref('shops')", field: "id" });
    };
    const columns = (shops: TestModel) => columnsIn(catalogue([SALES, shops], facts), "/v1/shop/sales");
    expect(columns(SHOPS)).toMatchObject({
      id: { description: "No two rows have the same value." },
      shop: { description: "Each value is in `id` of `/v1/shop/shops`." },
    });
    expect(
      columns({ ...SHOPS, tags: ["production", "shop", "api:shops", "tier2"] })["shop"],
    ).not.toHaveProperty("description");
    expect(columns({ ...SHOPS, tags: [] })["shop"]).not.toHaveProperty("description");
  });
});

it("a doc block describes its category", () => {
  const of = catalogue([SALES], (manifest) => {
    manifest.docs = {
      "doc.test.category_shop": { name: "category_shop", block_contents: "What shops sold.\n" },
      "doc.test.category_other": { name: "category_other", block_contents: "Nothing is in it." },
    };
  });
  expect(of.categories).toEqual({ shop: "What shops sold." });
  expect(openApiOf(of).tags?.[0]).toEqual({ name: "shop", description: "What shops sold." });
});

it.each([
  [{ meta: { owner: " ann " } }, "ann"],
  [{ config: { meta: { owner: { name: "Ann", email: "ann@example.org" } } } }, "Ann"],
  [{ meta: { owner: ["ann", "bob"] } }, "ann, bob"],
  [{ group: "finance" }, "finance"],
  [{ meta: { owner: "" }, config: { group: "finance" } }, "finance"],
  [{}, undefined],
])("the owner of %j is %s, and is in no document that is served", (node, owner) => {
  const of = catalogue([SALES], ({ nodes }) => {
    const sales = nodes["model.test.sales"] as { config: object };
    Object.assign(sales, node, { config: { ...sales.config, ...("config" in node ? node.config : {}) } });
  });
  expect(of.entries[0]?.owner).toBe(owner);
  expect(JSON.stringify(openApiOf(of))).not.toMatch(/finance|ann@|owner/);
});

describe("a preview", () => {
  const of = (stability: string | null, columns: TestModel["columns"], tier = "tier1") =>
    catalogue([
      {
        name: "sales",
        tags: ["production", "shop", "api:sales", tier],
        columns: columns ?? {},
        ...(stability !== null && { routewright: { stability } }),
      },
    ]);
  const changes = (base: Catalogue, head: Catalogue) =>
    compareCatalogues(base, head, { today: "2026-01-31", minimumNoticeDays: 30 }).map(
      ({ severity, kind }) => `${severity} ${kind}`,
    );

  it("is marked in OpenAPI", () => {
    const paths = openApiOf(of("preview", { id: "integer" })).paths.get("/v1/shop/sales") as Map<
      string,
      object
    >;
    expect(paths.get("get")).toMatchObject({
      "x-stability": "preview",
      description: expect.stringContaining("A preview: it may change without notice."),
    });
  });

  it("may break, and may not open data", () => {
    const base = of("preview", { id: "integer", shop: "text" });
    expect(changes(base, of("preview", { id: "integer" }))).toEqual(["warning column-removed"]);
    expect(changes(base, catalogue([]))).toEqual(["warning endpoint-removed"]);
    expect(changes(base, of("preview", { id: "integer", shop: "text" }, "tier0"))).toEqual([
      "exposing tier-lowered",
    ]);
  });

  it("cannot be declared in the change that breaks", () => {
    const stable = of(null, { id: "integer", shop: "text" });
    expect(changes(stable, of("preview", { id: "integer" }))).toEqual([
      "breaking column-removed",
      "breaking stability-lowered",
    ]);
    expect(changes(of("preview", { id: "integer" }), of("stable", { id: "integer" }))).toEqual([
      "compatible stability-raised",
    ]);
  });
});

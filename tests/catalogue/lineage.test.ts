import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { lineageText } from "../../generator/catalogue/lineage-file.js";
import { parseManifest } from "../../generator/manifest/manifest.js";

const model = (name: string, parents: readonly string[], tags: readonly string[] = []) => ({
  resource_type: "model",
  unique_id: `model.shop.${name}`,
  schema: "analytics",
  columns: { id: { name: "id", data_type: "int" } },
  name,
  tags,
  config: { tags },
  depends_on: { nodes: parents },
});

function textOf(nodes: Readonly<Record<string, unknown>>): string {
  const metadata = { dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json" };
  const reading = parseManifest(JSON.stringify({ metadata, nodes }), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return lineageText(catalogueOf(reading.value).lineage);
}

const PUBLISHED = ["production", "sales", "api:orders"];

it("lists what published models are made from, with its tests, one line per node", () => {
  const text = textOf({
    "model.shop.orders": model("orders", ["model.shop.stg", "seed.shop.rates"], PUBLISHED),
    "model.shop.stg": model("stg", ["source.shop.raw.orders"]),
    "model.shop.unpublished": model("unpublished", ["model.shop.orders"]),
    "seed.shop.rates": { resource_type: "seed" },
    "test.shop.unique_orders_id.2": { resource_type: "test", depends_on: { nodes: ["model.shop.orders"] } },
    "test.shop.not_null_orders_id.1": { resource_type: "test", attached_node: "model.shop.orders" },
  });
  expect(JSON.parse(text)).toMatchObject({
    schemaVersion: 1,
    nodes: {
      "model.shop.orders": {
        parents: ["model.shop.stg", "seed.shop.rates"],
        tests: ["test.shop.not_null_orders_id.1", "test.shop.unique_orders_id.2"],
      },
      "model.shop.stg": { parents: ["source.shop.raw.orders"], tests: [] },
    },
  });
  expect(text).not.toContain("unpublished");
  expect(text.split("\n").filter((line) => line.includes('"parents"'))).toHaveLength(2);
});

it("ends where nodes read each other in a circle", () => {
  const text = textOf({
    "model.shop.orders": model("orders", ["model.shop.a"], PUBLISHED),
    "model.shop.a": model("a", ["model.shop.b"]),
    "model.shop.b": model("b", ["model.shop.a"]),
  });
  expect(Object.keys((JSON.parse(text) as { nodes: object }).nodes)).toHaveLength(3);
});

it("keeps a name that no text could hold plainly as data", () => {
  const name = 'model.shop."</script>\n';
  const text = textOf({ "model.shop.orders": model("orders", [name], PUBLISHED) });
  expect(JSON.parse(text)).toMatchObject({ nodes: { "model.shop.orders": { parents: [name] } } });
});

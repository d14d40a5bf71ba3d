import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { startManifest } from "../../support/service.js";

const TABLES = `
      CREATE TABLE @.sales AS SELECT date '2026-01-01' + i / 3 AS day, (ARRAY['north', 'south', 'west'])[1 + i % 3] AS region,
        (i % 7 + 1) * 10.5 AS amount, 9007199254740993 + i AS id FROM generate_series(0, 299) AS i;
      CREATE TABLE @.places AS SELECT * FROM (VALUES ('Paris', 1), ('Paris, Texas', 2), ('it''s "there"', 3), ('Rome', 4)) AS t(city, n);
      CREATE TABLE @.wages AS SELECT 'ann' AS name, 7 AS amount`;

/** What a manifest must not be able to do. */
export const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script>"><svg onload=alert(3)> javascript:alert(4)`;

function manifestFor(schema: string): unknown {
  const json = manifestOf([
    {
      name: "sales",
      schema,
      tags: ["production", "shop", "api:sales", "granularity:daily"],
      columns: { day: "date", region: "text", amount: "numeric", id: "bigint" },
      description: "Sales of each region by day.",
      materialized: "table",
      api: {
        allow_unfiltered: true,
        parameters: [
          {
            name: "region",
            column: "region",
            operator: "IN",
            type: "string_list",
            description: "Regions, such as `north`.",
          },
          { name: "start", column: "day", operator: ">=", type: "date" },
        ],
        pagination: { enabled: true, default_limit: 30, max_limit: 300 },
        sort: [
          { column: "day", direction: "ASC" },
          { column: "region", direction: "ASC" },
        ],
      },
    },
    {
      name: "places",
      schema,
      tags: ["production", "geo", "api:places"],
      columns: { city: "text", n: "int" },
      api: {
        methods: ["GET", "POST"],
        allow_unfiltered: true,
        parameters: [
          { name: "city", column: "city", operator: "IN", type: "string_list", description: "Cities." },
          { name: "n", column: "n", operator: "=", type: "string" },
        ],
        pagination: { enabled: true, default_limit: 30, max_limit: 300 },
        sort: [{ column: "n", direction: "ASC" }],
      },
    },
    {
      name: "wages",
      schema,
      tags: ["production", "staff", "tier2", "api:wages"],
      columns: { name: "text", amount: "int" },
    },
    {
      name: "hostile",
      schema,
      tags: ["production", "staff", "api:hostile"],
      columns: { name: "text" },
      description: HOSTILE,
      api: {
        allow_unfiltered: true,
        parameters: [{ name: "name", column: "name", operator: "=", type: "string", description: HOSTILE }],
      },
    },
    {
      name: "by_region",
      schema,
      tags: ["production", "shop", "tier3", "api:by_region"],
      columns: { region: "text", amount: "numeric" },
      api: {
        allow_unfiltered: false,
        parameters: [
          { name: "region", column: "region", operator: "=", type: "string" },
          { name: "regions", column: "region", operator: "IN", type: "string_list" },
        ],
      },
    },
    ...["late", "early", HOSTILE].map((name) => ({ name, schema, tags: [] })),
  ]) as { nodes: Record<string, Record<string, unknown>> };
  // A binding dbt test lists the regions.
  json.nodes["test.test.accepted_values_wages_region.1"] = {
    resource_type: "test",
    test_metadata: {
      name: "accepted_values",
      kwargs: { column_name: "region", values: ["north", "south", "west"] },
    },
    column_name: "region",
    attached_node: "model.test.by_region",
    config: { severity: "error" },
    depends_on: { nodes: ["model.test.by_region"] },
  };
  // Two edges pass by the nodes between.
  const raw = "source.test.shop.raw";
  json.nodes["model.test.places"]!["depends_on"] = { nodes: ["model.test.late", "model.test.early", raw] };
  json.nodes["model.test.late"]!["depends_on"] = { nodes: ["model.test.early", raw] };
  json.nodes["model.test.early"]!["depends_on"] = { nodes: [raw] };
  json.nodes["model.test.hostile"]!["depends_on"] = { nodes: [`model.test.${HOSTILE}`] };
  json.nodes["model.test.hostile"]!["columns"] = {
    name: { name: "name", data_type: "text", description: HOSTILE },
  };
  json.nodes["model.test.hostile"]!["alias"] = "wages";
  json.nodes["model.test.by_region"]!["alias"] = "sales";
  json.nodes["model.test.sales"]!["depends_on"] = { nodes: ["seed.test.regions", "source.test.shop.orders"] };
  return json;
}

/** A shop with tables of its own, until the test file ends. */
export async function startShop() {
  const manifest = manifestFor(await ownSchema(TABLES));
  const service = await startManifest(manifest, { LINEAGE_TIER: "tier0", RATE_LIMITS: "10000" });
  return { manifest, service };
}

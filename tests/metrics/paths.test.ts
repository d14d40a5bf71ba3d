import pg from "pg";
import { expect, it } from "vitest";
import { ownDatabase } from "../support/database.js";
import { KEYS, serveManifest } from "../support/service.js";
import { questionManifest, questionMetric } from "./question-tables.js";

const database = await ownDatabase();
const client = new pg.Client(database);
await client.connect();
await client.query(`CREATE EXTENSION ltree; CREATE SCHEMA shop;
  CREATE TABLE shop.orders (order_id int, org_id text, customer_id int, amount int, ordered_at date, path public.ltree);
  INSERT INTO shop.orders VALUES (1, 'acme', 10, 5, '2026-01-01', 'top.a'), (2, 'acme', 10, 7, '2026-01-15', 'top.b')`);
await client.end();

const manifest = structuredClone(
  questionManifest("shop", questionMetric("amount", "simple", { measure: { name: "amount" } })),
) as {
  semantic_models: Record<string, { dimensions: unknown[] }>;
  nodes: Record<string, { config: object }>;
};
manifest.semantic_models["semantic_model.test.orders"]?.dimensions.push({
  name: "path",
  type: "categorical",
});
manifest.nodes["model.test.orders"]!.config = { materialized: "table" };
const url = await serveManifest(manifest, { DATABASE_URL: database });

it("groups with a condition on a path take texts that are no paths, whatever was asked before", async () => {
  const ask = async (query: string): Promise<unknown> => {
    const response = await fetch(`${url}/v1/shop/amount?${query}`, { headers: { "X-API-Key": KEYS.tier3 } });
    return response.json();
  };
  for (const [value, amount] of [
    ["top.a", 5],
    ["top.b", 7],
    ["no%20path!", null],
    ["top.a", 5],
    ["top..", null],
  ] as const)
    expect([value, await ask(`order__path=${value}`)]).toEqual([value, [{ amount }]]);
  for (const value of ["no%20path!", "top.b", "no%20path!"])
    expect(await ask(`group_by=order__path&order__path[in]=top.a,${value}`)).toContainEqual({
      order__path: "top.a",
      amount: 5,
    });
});

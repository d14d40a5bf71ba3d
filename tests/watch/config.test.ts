import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { filesIn, putJson } from "../support/files.js";
import { serve, start } from "../support/command.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1 AS id, 'a' AS shop UNION ALL SELECT 2, 'b'");
const shop = { name: "shop", column: "shop", operator: "=", type: "string" };

/** A parameter on a column that no schema.yml lists, only dbt's catalog. */
const manifest = (description: string) =>
  manifestOf([{ name: "sales", schema, columns: {}, description, api: { parameters: [shop] } }]);

const catalog = (comment: string) => ({
  metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json" },
  nodes: {
    "model.test.sales": {
      columns: {
        id: { name: "id", type: "integer", index: 1, comment },
        shop: { name: "shop", type: "text", index: 2 },
      },
    },
  },
});

const putCatalog = (folder: string, comment = "") => putJson(join(folder, "catalog.json"), catalog(comment));

const put = (folder: string, description: string) =>
  putJson(join(folder, "manifest.json"), manifest(description));

/** A repository with a config file, and its generated folder. */
async function repository(): Promise<string> {
  const folder = ownFolder();
  put(folder, "First.");
  putCatalog(folder);
  const config = {
    manifest: "manifest.json",
    catalog: "catalog.json",
    title: "Shop",
    defaultTier: "tier1",
    out: "api",
  };
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  expect((await routewright(folder, ["generate", "--strict"])).exit).toBe(0);
  return folder;
}

it("`watch` goes by the config file: manifest, catalog, folder, title and default tier", async () => {
  const folder = await repository();
  const before = filesIn(join(folder, "api"));
  const command = start(folder, ["watch"]);
  await command.until(/no file changed/);
  put(folder, "Second.");
  await command.until(/changed +api\/openapi\.json/);
  await command.stop();
  expect(Object.keys(filesIn(join(folder, "api")))).toEqual(Object.keys(before));
  expect((await routewright(folder, ["generate", "--check"])).exit).toBe(0);
});

it("`serve --watch` refreshes to what `generate` writes with the config file, also when the catalog alone changes", async () => {
  const folder = await repository();
  const keys = JSON.stringify({ sk_live_test: "tier1" });
  const served = await serve(folder, ["--only", "data", "--watch"], {
    DATABASE_URL: databaseUrl,
    API_KEYS: keys,
  });
  const answer = async (path: string): Promise<unknown> =>
    (await fetch(`${served.url}${path}`, { headers: { "X-API-Key": "sk_live_test" } })).json();
  put(folder, "Second.");
  await expect
    .poll(() => answer("/openapi.json"), { timeout: 90_000 })
    .toMatchObject({ info: { title: "Shop" }, paths: { "/v1/shop/sales": { get: { "x-tier": "tier1" } } } });
  await expect
    .poll(async () => JSON.stringify(await answer("/openapi.json")), { timeout: 90_000 })
    .toContain("Second.");
  putCatalog(folder, "Number of the sale.");
  await expect
    .poll(async () => JSON.stringify(await answer("/openapi.json")), { timeout: 90_000 })
    .toContain("Number of the sale.");
  expect(await answer("/v1/shop/sales?shop=b")).toEqual([{ id: 2, shop: "b" }]);
  expect((await fetch(`${served.url}/v1/shop/sales?shop=b`)).status).toBe(403);
  await served.stop();
});

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serve, start } from "../support/command.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { filesIn } from "../support/files.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { generateInto, KEYS, ownFolder } from "../support/service.js";
import { buildFiles } from "./builds.js";
import { STORES } from "./stores.js";

const hasServers = needs("moto_server", "gcp-storage-emulator", "azurite-blob");
const schema = await ownSchema("CREATE TABLE @.orders AS SELECT 1 AS n");

/** Endpoints by build: the second has one more. */
function manifest(build: number): string {
  const names = ["orders", "payments"].slice(0, build);
  const models = names.map((name) => ({
    name,
    schema,
    alias: "orders",
    tags: ["production", "shop", `api:${name}`],
    columns: { n: "int" },
    materialized: "table",
    routewright: { changes: "on_build" },
  }));
  return JSON.stringify(manifestOf(models, { invocation_id: `build-${String(build)}` }));
}

const KINDS = ["https://", "s3://", "gs://", "abfss://", "dbt-cloud://"];

describe.skipIf(!hasServers).each(KINDS)("a server whose dbt files are at %s", (kind) => {
  it("follows manifest and builds, and shows no secret in its log, in /health, or in an answer", async () => {
    const {
      folder: artifacts,
      put,
      remove,
      variables,
      access,
      secrets,
      gate,
    } = await (STORES[kind] as (typeof STORES)[string])();
    const { host, token } = access.dbtCloud;
    const folder = ownFolder();
    const store = {
      ...variables,
      AWS_EC2_METADATA_DISABLED: "true",
      ...(token !== null && { DBT_CLOUD_HOST: host, DBT_CLOUD_API_TOKEN: token }),
    };
    generateInto(join(folder, "generated"), JSON.parse(manifest(1)));
    await put("manifest.json", manifest(1));
    await put("run_results.json", buildFiles(1)["run_results.json"] ?? "");
    const command = await serve(folder, ["--only", "data", "--watch"], {
      ...store,
      DATABASE_URL: databaseUrl,
      DBT_ARTIFACTS_URL: artifacts,
      DBT_MANIFEST_REFRESH_INTERVAL_SECONDS: "1",
      API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
      LOG_LEVEL: "trace",
    });
    const get = async (path: string): Promise<{ status: number; asOf: string | null; text: string }> => {
      const response = await fetch(command.url + path, { headers: { "X-API-Key": KEYS.tier3 } });
      return {
        status: response.status,
        asOf: response.headers.get("x-data-as-of"),
        text: await response.text(),
      };
    };
    await expect.poll(async () => (await get("/v1/shop/orders")).asOf).toBe("2026-05-21T03:00:01.000Z");
    expect((await get("/v1/shop/payments")).status).toBe(404);
    await put("manifest.json", manifest(2));
    await put("run_results.json", buildFiles(2)["run_results.json"] ?? "");
    await expect.poll(async () => (await get("/v1/shop/payments")).status).toBe(200);
    await expect.poll(async () => (await get("/v1/shop/orders")).asOf).toBe("2026-05-21T03:00:02.000Z");
    const log = (): string => command.printed().stdout + command.printed().stderr;
    expect(log()).not.toContain("run results not read");
    // What follows fails, and is said; the endpoints stay.
    gate?.cutNext();
    await remove("manifest.json");
    await command.until(/manifest not refreshed/);
    const refreshed = await fetch(`${command.url}/v1/system/manifest/refresh`, {
      method: "POST",
      headers: { "X-API-Key": KEYS.tier3 },
    });
    const shown = [
      await refreshed.text(),
      (await get("/health")).text,
      (await get("/v1/system/catalogue")).text,
    ];
    expect(shown[0]).toContain('"status":"error"');
    expect((await get("/v1/shop/payments")).status).toBe(200);
    for (const secret of secrets) expect(log() + shown.join()).not.toContain(secret);
    expect((await command.stop()).code).toBe(0);
  });
});

it.skipIf(!hasServers)("routewright watch follows a bucket", async () => {
  const { folder: artifacts, put, variables } = await (STORES["s3://"] as (typeof STORES)[string])();
  for (const [name, text] of Object.entries(buildFiles(1))) await put(name, text);
  const folder = ownFolder();
  const command = start(folder, ["watch", "--interval", "1"], { ...variables, DBT_ARTIFACTS_URL: artifacts });
  await command.until(/1 endpoint; 5 files changed/);
  for (const [name, text] of Object.entries(buildFiles(2))) await put(name, text);
  await command.until(/changed +generated\/routes\/shop\/orders\.ts/);
  const module = filesIn(join(folder, "generated"))["routes/shop/orders.ts"] ?? "";
  expect([module.includes("Build 2."), module.includes("text")]).toEqual([true, true]);
  await command.stop();
});

import { expect, it } from "vitest";
import type { CatalogueBody } from "../../../runtime/pages/catalogue-body.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, ownFolder, serveManifest, startManifest } from "../../support/service.js";
import { generateInto } from "../../support/service.js";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const schema = await ownSchema(
  "CREATE TABLE @.orders AS SELECT date '2026-01-02' AS day, 'paid' AS state, 3 AS n",
);

const columns = { day: "date", state: "text", n: "int" };
const api = (resource: string, tier: string) => ["production", "shop", tier, `api:${resource}`];

interface ManifestJson {
  readonly nodes: Record<string, Record<string, unknown>>;
}

/** Three endpoints of three tiers; `orders` reads a staging model, which reads a source, and has two tests. */
function manifest(): unknown {
  const json = manifestOf([
    {
      name: "orders",
      schema,
      tags: api("orders", "tier0"),
      columns,
      materialized: "table",
      description: "Orders a day.",
    },
    { name: "costs", schema, tags: api("costs", "tier1"), columns, materialized: "table" },
    { name: "wages", schema, tags: api("wages", "tier2"), columns, materialized: "table" },
    { name: "stg_orders", schema, tags: [] },
  ]) as ManifestJson;
  json.nodes["model.test.orders"]!["depends_on"] = { nodes: ["model.test.stg_orders"] };
  json.nodes["model.test.stg_orders"]!["depends_on"] = { nodes: ["source.test.shop.raw_orders"] };
  for (const [name, severity] of [
    ["not_null_orders_day", "error"],
    ["unique_orders_day", "warn"],
  ] as const)
    json.nodes[`test.test.${name}.abc123`] = {
      resource_type: "test",
      test_metadata: { name: name.split("_orders")[0] },
      column_name: "day",
      attached_node: "model.test.orders",
      config: { severity },
      depends_on: { nodes: ["model.test.orders"] },
    };
  return json;
}

async function catalogueFor(url: string, key?: string): Promise<CatalogueBody> {
  const response = await fetch(`${url}/v1/system/catalogue`, key ? { headers: { "X-API-Key": key } } : {});
  expect(response.status).toBe(200);
  return (await response.json()) as CatalogueBody;
}

const pathsOf = ({ endpoints }: CatalogueBody): string[] => endpoints.map(({ path }) => path);

it("lists every endpoint, of locked ones neither builds nor tests", async () => {
  const service = await startManifest(manifest());
  service.recordBuilds(
    ["orders", "wages"].map((name) => ({ node: `model.test.${name}`, completedAt: Date.now(), rows: 7 })),
  );
  const open = await catalogueFor(service.url);
  expect(open.endpoints.map(({ path, callable }) => [path, callable])).toEqual([
    ["/v1/shop/costs", false],
    ["/v1/shop/orders", true],
    ["/v1/shop/wages", false],
  ]);
  expect(open.locked).toEqual({ tier1: 1, tier2: 1 });
  const wages = ({ endpoints }: CatalogueBody) => endpoints.find(({ path }) => path === "/v1/shop/wages")!;
  expect(wages(open)).toMatchObject({ tier: "tier2", last_build: null, data_as_of: null, tests: null });
  expect(wages(open).columns.map((column) => Object.keys(column))).toEqual(
    Array(3).fill(["name", "type", "description"]),
  );
  expect(wages(await catalogueFor(service.url, KEYS.tier2))).toMatchObject({
    callable: true,
    last_build: { rows: 7 },
  });
  const partner = await catalogueFor(service.url, KEYS.tier1);
  expect(partner.lineage!.map(({ name }) => name)).not.toContain("wages");
});

it("with CATALOGUE=allowed lists what the caller's tier may call, and counts what higher tiers open", async () => {
  const url = await serveManifest(manifest(), { CATALOGUE: "allowed" });
  const open = await catalogueFor(url);
  expect(pathsOf(open)).toEqual(["/v1/shop/orders"]);
  expect(open.locked).toEqual({ tier1: 1, tier2: 1 });
  expect(JSON.stringify(open)).not.toMatch(/costs|wages/);
  const partner = await catalogueFor(url, KEYS.tier1);
  expect([pathsOf(partner), partner.locked]).toEqual([["/v1/shop/costs", "/v1/shop/orders"], { tier2: 1 }]);
  expect(JSON.stringify(partner)).not.toContain("wages");
  expect(pathsOf(await catalogueFor(url, KEYS.tier3))).toHaveLength(3);
});

const LIMITED = "sk_live_test_limited";

it("lists for a key that is limited to categories or paths what it names, in every document and tool", async () => {
  const keys = { API_KEYS: JSON.stringify({ [LIMITED]: { tier: "tier2", allowed: ["/v1/shop/costs"] } }) };
  const all = await serveManifest(manifest(), keys);
  const callable = (await catalogueFor(all, LIMITED)).endpoints.filter((each) => each.callable);
  expect(callable.map(({ path }) => path)).toEqual(["/v1/shop/costs"]);
  const url = await serveManifest(manifest(), { ...keys, CATALOGUE: "allowed" });
  const headers = { "X-API-Key": LIMITED };
  expect(pathsOf(await catalogueFor(url, LIMITED))).toEqual(["/v1/shop/costs"]);
  for (const path of ["/openapi.json", "/openapi.json?tier=tier2", "/v1/system/catalogue", "/llms.txt"]) {
    const text = await (await fetch(url + path, { headers })).text();
    expect(text, path).toContain("/v1/shop/costs");
    expect(text, path).not.toMatch(/orders|wages/);
  }
  const found = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "search_endpoints", arguments: {} },
    }),
  });
  expect(await found.text()).toMatch(/"found":1,"endpoints":\[\{"path":"\/v1\/shop\/costs"/);
  // The documents of the tier's other keys are not those of this one.
  expect(pathsOf(await catalogueFor(url))).toEqual(["/v1/shop/orders"]);
});

it("refuses an unknown key, and answers 304 while nothing has changed", async () => {
  const service = await startManifest(manifest());
  const address = `${service.url}/v1/system/catalogue`;
  expect((await fetch(address, { headers: { "X-API-Key": "sk_live_none" } })).status).toBe(403);
  const etag = (await fetch(address)).headers.get("etag") ?? "";
  const again = (): Promise<Response> => fetch(address, { headers: { "If-None-Match": etag } });
  expect((await again()).status).toBe(304);
  service.recordBuilds([{ node: "model.test.orders", completedAt: Date.UTC(2026, 0, 3), rows: 1 }]);
  expect((await again()).status).toBe(200);
});

it("shows builds, tests and what an endpoint is made from, by name", async () => {
  const service = await startManifest(manifest());
  const before = (await catalogueFor(service.url, KEYS.tier1)).endpoints.find(
    ({ path }) => path === "/v1/shop/orders",
  )!;
  expect([before.last_build, before.tests]).toEqual([
    null,
    { passed: 0, warned: 0, failed: 0, skipped: 0, unknown: 2, completed_at: null, problems: [] },
  ]);
  const completedAt = Date.UTC(2026, 0, 3, 4, 5, 6);
  service.recordBuilds(
    [{ node: "model.test.orders", completedAt, rows: 1 }],
    [
      { test: "test.test.not_null_orders_day.abc123", status: "pass", completedAt, failures: 0 },
      { test: "test.test.unique_orders_day.abc123", status: "warn", completedAt, failures: 7 },
    ],
  );
  const { endpoints, lineage } = await catalogueFor(service.url, KEYS.tier1);
  const orders = endpoints.find(({ path }) => path === "/v1/shop/orders")!;
  expect(orders).toMatchObject({
    description: "Orders a day.",
    last_build: { completed_at: "2026-01-03T04:05:06.000Z", rows: 1, failed: false },
    data_as_of: "2026-01-03T04:05:06.000Z",
    tests: {
      passed: 1,
      warned: 1,
      failed: 0,
      skipped: 0,
      unknown: 0,
      problems: [{ name: "unique_orders_day", status: "warn", failures: 7 }],
    },
  });
  expect(lineage!.map(({ id, kind, parents }) => [id, kind, parents])).toEqual([
    ["model.test.costs", "model", []],
    ["model.test.orders", "model", ["model.test.stg_orders"]],
    ["model.test.stg_orders", "model", ["source.test.shop.raw_orders"]],
    ["source.test.shop.raw_orders", "source", []],
  ]);
});

it("names upstream nodes from LINEAGE_TIER on, tier1 by default", async () => {
  const byDefault = await serveManifest(manifest());
  expect((await catalogueFor(byDefault)).lineage).toBeNull();
  expect((await catalogueFor(byDefault, KEYS.tier1)).lineage).not.toBeNull();
  const open = await serveManifest(manifest(), { LINEAGE_TIER: "tier0" });
  expect((await catalogueFor(open)).lineage!.map(({ name }) => name)).toEqual([
    "orders",
    "stg_orders",
    "shop.raw_orders",
  ]);
  const closed = await serveManifest(manifest(), { LINEAGE_TIER: "none" });
  expect((await catalogueFor(closed, KEYS.tier3)).lineage).toBeNull();
});

it("a refactored upstream model changes lineage.json, and its digest in the catalogue, alone", () => {
  const [before, after] = [ownFolder(), ownFolder()];
  generateInto(before, manifest());
  const refactored = manifest() as ManifestJson;
  refactored.nodes["model.test.stg_orders"]!["depends_on"] = { nodes: ["seed.test.orders"] };
  generateInto(after, refactored);
  const read = (folder: string, file: string): string => readFileSync(join(folder, file), "utf8");
  for (const file of ["openapi.json", "index.ts", "routes/shop/orders.ts"])
    expect(read(after, file)).toBe(read(before, file));
  const catalogue = (folder: string): string =>
    read(folder, "catalogue.json").replace(/"(digest|lineage\.json)": "\w+"/g, '"$1": ""');
  expect(catalogue(after)).toBe(catalogue(before));
  expect(read(after, "lineage.json")).not.toBe(read(before, "lineage.json"));
});

it("/openapi.json?tier= describes what that tier may call, and nothing that it does not use", async () => {
  const url = await serveManifest(manifest());
  const described = async (query: string) => {
    const response = await fetch(`${url}/openapi.json${query}`);
    return { status: response.status, text: await response.text() };
  };
  const paths = (text: string): string[] =>
    Object.keys((JSON.parse(text) as { paths: object }).paths).filter((path) => path.startsWith("/v1/shop"));
  expect(paths((await described("")).text)).toHaveLength(3);
  const withKey = await fetch(`${url}/openapi.json`, { headers: { "X-API-Key": KEYS.tier0 } });
  expect(await withKey.text()).toBe((await described("")).text);
  const open = (await described("?tier=tier0")).text;
  expect(paths(open)).toEqual(["/v1/shop/orders"]);
  expect(open).not.toMatch(/costs|wages|manifest\/refresh/i);
  expect(paths((await described("?tier=tier1")).text)).toEqual(["/v1/shop/costs", "/v1/shop/orders"]);
  expect(await described("?tier=gold")).toEqual({
    status: 400,
    text: JSON.stringify({ detail: "'tier' must be one of: tier0, tier1, tier2, tier3." }),
  });
});

it("with CATALOGUE=allowed /openapi.json describes what the key may call, and no shared cache keeps it for others", async () => {
  const url = await serveManifest(manifest(), { CATALOGUE: "allowed" });
  const described = async (headers: Record<string, string>, query = "") => {
    const response = await fetch(`${url}/openapi.json${query}`, { headers });
    const text = await response.text();
    const { paths = {} } = text === "" ? {} : (JSON.parse(text) as { paths?: object });
    const field = (name: string) => response.headers.get(name);
    return {
      status: response.status,
      paths: Object.keys(paths).filter((path) => path.startsWith("/v1/shop")),
      text,
      etag: field("etag") ?? "",
      caching: [field("cache-control"), field("vary")],
    };
  };
  const [open, one, two] = [
    await described({}),
    await described({ "X-API-Key": KEYS.tier1 }),
    await described({ "X-API-Key": KEYS.tier2 }),
  ];
  expect(open.paths).toEqual(["/v1/shop/orders"]);
  expect((await described({}, "?tier=tier2")).paths).toEqual(["/v1/shop/orders"]);
  expect(one.paths).toEqual(["/v1/shop/costs", "/v1/shop/orders"]);
  expect(one.text).not.toMatch(/wages|manifest\/refresh/i);
  expect(one.caching).toEqual(["private, no-cache", "Accept-Encoding, X-API-Key, Authorization"]);
  expect(two.paths).toHaveLength(3);
  expect(two.text).not.toContain("manifest/refresh");
  expect(new Set([open.etag, one.etag, two.etag]).size).toBe(3);
  const again = await described({ "X-API-Key": KEYS.tier1, "If-None-Match": one.etag });
  expect([again.status, again.caching]).toEqual([
    304,
    ["private, no-cache", "Accept-Encoding, X-API-Key, Authorization"],
  ]);
  // What another key was given is not this key's.
  expect((await described({ "X-API-Key": KEYS.tier1, "If-None-Match": two.etag })).status).toBe(200);
  expect((await described({ "X-API-Key": KEYS.tier3 }, "?tier=tier0")).paths).toEqual(["/v1/shop/orders"]);
  expect((await described({ "X-API-Key": "sk_live_none" })).status).toBe(403);
});

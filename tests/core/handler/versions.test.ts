import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { described } from "../../support/described.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

const schema = await ownSchema(
  [1, 2, 3].map((n) => `CREATE TABLE @.orders_v${n} AS SELECT ${n}::bigint AS n`).join("; "),
);
const LATEST = "/v1/shop/orders/daily";
const at = (version: number): string => `/v1/shop/orders@${version}/daily`;

/** Version 1 has ended, 2 is the latest, 3 is not released. */
const MANIFEST = manifestOf([]) as { nodes: Record<string, unknown> };
for (const version of [1, 2, 3])
  MANIFEST.nodes[`model.test.orders.v${version}`] = {
    resource_type: "model",
    name: "orders",
    alias: `orders_v${version}`,
    schema,
    version,
    latest_version: 2,
    tags: ["production", "shop", "api:orders", "granularity:daily", ...(version === 3 ? ["tier1"] : [])],
    columns: {
      n: { name: "n", data_type: "bigint" },
      ...(version === 1 && { old: { name: "old", data_type: "text" } }),
    },
    deprecation_date: version === 1 ? "2026-01-31" : null,
    config: { meta: { api: { allow_unfiltered: true }, routewright: { gone_after: "30d" } } },
  };
const { url } = await startManifest(MANIFEST, {
  API_KEYS: JSON.stringify({ [KEYS.tier1]: "tier1", sk_live_one: { tier: "tier1", allowed: [LATEST] } }),
});
const get = (path: string, key?: string) =>
  fetch(url + path, key === undefined ? {} : { headers: { "X-API-Key": key } });

describe("versions of a model", () => {
  it("answer each at its path, the latest one at the path without a version, too", async () => {
    for (const path of [LATEST, at(2), at(2).replace("@", "%40"), `${at(2)}.json`])
      expect(await (await get(path)).json()).toEqual([{ n: 2 }]);
    expect(await (await get(at(3), KEYS.tier1)).json()).toEqual([{ n: 3 }]);
    for (const path of [LATEST, at(2)]) {
      const { headers } = await get(path);
      for (const name of ["deprecation", "sunset", "link"]) expect(headers.get(name)).toBeNull();
    }
    expect((await get(at(4))).status).toBe(404);
  });

  it("have each its own tier, and a key opens the paths that it names", async () => {
    expect([(await get(at(3))).status, (await get(at(2))).status]).toEqual([403, 200]);
    const statuses = await Promise.all([LATEST, at(2), at(3)].map((path) => get(path, "sk_live_one")));
    expect(statuses.map(({ status }) => status)).toEqual([200, 403, 403]);
  });

  it("are endpoints of the catalogue, with what changes for those who move", async () => {
    const { endpoints } = (await described(url, "GET", "/v1/system/catalogue", KEYS.tier1)) as {
      endpoints: object[];
    };
    expect(endpoints).toMatchObject([
      { path: LATEST, version: "2", version_path: at(2), title: "Orders per day" },
      {
        path: at(1),
        version: "1",
        title: "Orders per day, version 1",
        successor: LATEST,
        successor_changes: ["Column removed: old"],
        gone_at: "2026-03-02T00:00:00Z",
      },
      { path: at(3), version: "3" },
    ]);
  });

  it("are operations of their own in OpenAPI", async () => {
    const { paths } = (await (await get("/openapi.json")).json()) as {
      paths: Record<string, { get: { deprecated?: true; responses: object; description: string } }>;
    };
    expect(paths[at(2)]?.get).not.toHaveProperty("deprecated");
    expect(paths[LATEST]?.get.description).toContain(`\`${at(2)}\` stays at this one`);
    expect(paths[at(1)]?.get).toMatchObject({
      deprecated: true,
      description: expect.stringMatching(/410 from 2026-03-02.*latest version.*Column removed: old/s),
    });
    expect(paths[at(1)]?.get.responses).toHaveProperty("410");
    expect(paths[LATEST]?.get.responses).not.toHaveProperty("410");
  });
});

describe("a version that has ended (gone_after)", () => {
  const GONE = { detail: `This endpoint answered until 2026-03-02T00:00:00Z. Use ${LATEST}.` };

  it("answers 410 with its successor, before anything is read of the request", async () => {
    for (const path of [at(1), `${at(1)}.csv`, `${at(1)}?nonsense=1`]) {
      const response = await get(path);
      expect([response.status, await response.json()]).toEqual([410, GONE]);
      expect(response.headers.get("link")).toBe(`<${LATEST}>; rel="successor-version"`);
      expect(response.headers.get("sunset")).toBe("Sat, 31 Jan 2026 00:00:00 GMT");
    }
    const post = await fetch(url + at(1), { method: "POST", body: "{}" });
    expect(post.status).toBe(405);
  });

  it("gives no values, no chart and no rows to tools", async () => {
    const asked = [
      `/v1/system/values?path=${encodeURIComponent(at(1))}&column=n`,
      `/v1/system/chart?path=${encodeURIComponent(at(1))}&x=n&y=n`,
    ];
    for (const path of asked) {
      const response = await get(path);
      expect([response.status, await response.json()], path).toEqual([410, GONE]);
    }
    const call = { name: "query_endpoint", arguments: { path: at(1) } };
    const answer = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "X-API-Key": KEYS.tier1,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
    });
    expect(await answer.text()).toContain(GONE.detail);
  });
});

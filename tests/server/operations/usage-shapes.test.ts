/** Shapes of requests that servers keep with `USAGE_SHAPES`: what callers depend on, without values, and bounded. */
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { Usage } from "../../../runtime/server/operations/usage.js";
import { sendRequest } from "../../support/http-client.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { ANN, callerOf, observation } from "../../support/observation.js";
import { KEYS, startManifest } from "../../support/service.js";

const SHAPES = `SELECT key, shape, requests::int FROM routewright.usage_shapes ORDER BY shape COLLATE "C", key`;
const ROUTE = "/v1/shop/orders";

it("are of requests that succeeded, with names and accepted values and nothing else", async () => {
  const url = await ownDatabase();
  await queryAt(
    url,
    "CREATE SCHEMA shop; CREATE TABLE shop.orders AS SELECT 1 AS id, 'secret-shop' AS shop, 'paid' AS status, 9.5::numeric(10,2) AS amount",
  );
  const model = {
    name: "orders",
    schema: "shop",
    api: {
      methods: ["GET", "POST"],
      allow_unfiltered: true,
      parameters: [
        { name: "shop", column: "shop", operator: "=", type: "string" },
        { name: "status", column: "status", operator: "=", type: "string" },
      ],
      pagination: { enabled: true, default_limit: 10, max_limit: 100 },
      sortable_fields: ["amount"],
    },
    columns: { id: "integer", shop: "text", status: "text", amount: "numeric(10,2)" },
    routewright: {
      fields: true,
      filters: ["amount"],
      aggregate: { group_by: ["status"], measures: { total: { agg: "sum", column: "amount" } } },
    },
  };
  const manifest = manifestOf([model]) as { nodes: Record<string, unknown> };
  manifest.nodes["test.test.status"] = {
    resource_type: "test",
    attached_node: "model.test.orders",
    column_name: "status",
    test_metadata: { name: "accepted_values", kwargs: { values: ["paid", "open"] } },
    config: {},
  };
  const service = await startManifest(manifest, {
    DATABASE_URL: url,
    USAGE_ENABLED: "true",
    USAGE_SHAPES: "true",
  });
  const ask = (path: string, key: string | null) =>
    sendRequest(service.url, ROUTE + path, { headers: key === null ? {} : { "x-api-key": key } });
  const statuses = [];
  for (const [path, key] of [
    ["", null],
    ["?shop=secret-shop&status=paid&limit=5", KEYS.tier1],
    ["?limit=7&status=paid&shop=another", KEYS.tier1],
    ["?amount[gte]=3&fields=id,amount&sort_by=amount", null],
    ["?group_by=status&measures=total", null],
    [".csv?shop=x", null],
    ["?shop=x&nothing=1", null],
  ] as const)
    statuses.push((await ask(path, key)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 400]);
  // At its end a server writes what it has counted.
  await service.stop();
  const rows = await queryAt(url, SHAPES);
  expect(JSON.stringify(rows)).not.toMatch(/secret|another/);
  expect(rows.map(({ shape, requests }) => [shape, requests])).toEqual([
    ["GET csv tier0 shop", 1],
    ["GET json tier0", 1],
    ["GET json tier0 amount[gte]&fields=id,amount&sort_by=amount", 1],
    ["GET json tier0 group_by=status&measures=total", 1],
    ["GET json tier1 limit&shop&status=paid", 2],
  ]);
});

describe("their number", () => {
  const usageAt = (url: string) =>
    Usage.open({ databaseUrl: url, log: pino({ level: "silent" }), intervalMs: 60_000 });
  const keyed = (id: string) => callerOf({ ...ANN, id });

  it("is at most 500 for an endpoint and a day, those of keys before others, over all servers and writes", async () => {
    const url = await ownDatabase();
    const shape = (name: string, i: number) => `GET json tier0 ${name}${String(i).padStart(4, "0")}`;
    for (const [name, count, caller] of [
      ["flood", 700, undefined],
      ["keyed", 40, keyed("aaaaaaaaaaaa")],
      ["later", 700, undefined],
    ] as const) {
      const usage = await usageAt(url);
      for (let i = 0; i < count; i++)
        usage.counter.count(observation({ route: ROUTE, shape: shape(name, i), ...(caller && { caller }) }));
      await usage.close();
    }
    const rows = await queryAt(url, SHAPES);
    expect(rows).toHaveLength(500);
    expect(rows.filter(({ key }) => key === "aaaaaaaaaaaa")).toHaveLength(40);
    const [{ requests } = {}] = await queryAt(
      url,
      "SELECT sum(requests)::int AS requests FROM routewright.usage WHERE key <> ''",
    );
    expect(requests).toBe(1440);
  });

  it("of keys is at most 50 for a shape; the requests of others are counted together", async () => {
    const url = await ownDatabase();
    for (let round = 0; round < 2; round++) {
      const usage = await usageAt(url);
      for (let i = 0; i < 80; i++) {
        const caller = keyed(String(round * 80 + i).padStart(12, "0"));
        usage.counter.count(observation({ route: ROUTE, shape: "GET json tier1", caller }));
      }
      await usage.close();
    }
    const rows = await queryAt(url, SHAPES);
    expect(rows.length).toBeLessThanOrEqual(50);
    expect(rows.reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(160);
    expect(rows.some(({ key }) => key === "*")).toBe(true);
  });
});

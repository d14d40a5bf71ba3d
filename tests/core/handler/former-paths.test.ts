import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { described } from "../../support/described.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT n::bigint FROM generate_series(1, 3) AS n");

const OLD = "/v1/shop/turnover/daily";
const OLDER = "/v1/shop/turnover";
const NEW = "/v1/finance/sales";
const LINK = `<${NEW}>; rel="successor-version"`;

const MANIFEST = manifestOf([
  {
    name: "sales",
    schema,
    tags: ["production", "finance", "api:sales", "tier1"],
    columns: { n: "bigint" },
    api: {
      methods: ["GET", "POST"],
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 2, max_limit: 2 },
      sort: [{ column: "n", direction: "ASC" }],
    },
    routewright: { former_paths: [{ path: OLD, sunset: "2031-06-30" }, { path: OLDER }] },
  },
]);
const key = { "X-API-Key": KEYS.tier1 };
const url = await serveManifest(MANIFEST, {
  METRICS_PUBLIC: "true",
  API_KEYS: JSON.stringify({
    [KEYS.tier0]: "tier0",
    [KEYS.tier1]: "tier1",
    sk_live_old_category: { tier: "tier1", allowed: ["shop"] },
  }),
});

describe("a former path", () => {
  it("answers as the new one, in every format and method", async () => {
    for (const path of [OLD, OLDER, OLD.replace("daily", "%64aily")]) {
      const response = await fetch(url + path, { headers: key });
      expect([response.status, await response.json()]).toEqual([200, [{ n: 1 }, { n: 2 }]]);
    }
    expect(await (await fetch(`${url}${OLD}.csv?offset=2`, { headers: key })).text()).toBe("n\r\n3\r\n");
    const post = { method: "POST", headers: { ...key, "Content-Type": "application/json" }, body: "{}" };
    expect((await fetch(url + OLD, post)).status).toBe(200);
  });

  it("has the tier of the endpoint, and one window of requests with it", async () => {
    expect((await fetch(url + OLD)).status).toBe(403);
    expect((await fetch(url + OLD, { headers: { "X-API-Key": KEYS.tier0 } })).status).toBe(403);
    const left = async (path: string) =>
      Number((await fetch(url + path, { headers: key })).headers.get("x-ratelimit-remaining"));
    const first = await left(NEW);
    expect([await left(OLD), await left(NEW)]).toEqual([first - 1, first - 2]);
  });

  it("is open to a key whose list names it, as before the move", async () => {
    const headers = { "X-API-Key": "sk_live_old_category" };
    const status = async (path: string) => (await fetch(url + path, { headers })).status;
    expect([await status(OLD), await status(NEW)]).toEqual([200, 403]);
  });

  it("names its sunset and the new path, beside the link of the next page", async () => {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const { headers } = await fetch(url + OLD, { headers: { ...key, traceparent } });
    expect(headers.get("deprecation")).toBe(`@${String(Date.parse("2031-06-30T00:00:00Z") / 1000)}`);
    expect(headers.get("sunset")).toBe("Mon, 30 Jun 2031 00:00:00 GMT");
    expect(headers.get("link")).toContain(LINK);
    expect(headers.get("link")).toMatch(/rel="next"/);
    const open = (await fetch(url + OLDER, { headers: key })).headers;
    expect([open.get("sunset"), open.get("link")]).toEqual([null, expect.stringContaining(LINK)]);
    const current = (await fetch(url + NEW, { headers: key })).headers;
    expect([current.get("sunset"), current.get("link")]).toEqual([null, expect.not.stringContaining(LINK)]);
  });

  it("counts for the endpoint in the metrics", async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain(`route="${NEW}"`);
    expect(text).not.toContain(OLD);
  });

  it("is a deprecated operation of its own name", async () => {
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, object>>;
    };
    for (const path of [OLD, OLDER])
      expect(paths[path]?.["get"]).toMatchObject({ deprecated: true, "x-tier": "tier1" });
    expect(paths[OLD]?.["post"]).toMatchObject({
      operationId: "post_shop_turnover_daily",
      description: expect.stringMatching(
        /may be removed from 2031-06-30T00:00:00Z on\.\s+Moved to `\/v1\/finance\/sales`/,
      ),
    });
    expect(paths[NEW]?.["get"]).not.toHaveProperty("deprecated");
  });

  it("is in the catalogue beside its endpoint, and no endpoint of its own", async () => {
    const body = await described(url, "GET", "/v1/system/catalogue", KEYS.tier1);
    const { endpoints } = body as { endpoints: object[] };
    expect(endpoints).toHaveLength(1);
    expect(endpoints[0]).toMatchObject({
      path: NEW,
      former_paths: [
        { path: OLD, sunset: "2031-06-30T00:00:00Z" },
        { path: OLDER, sunset: null },
      ],
    });
  });
});

import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { described } from "../../support/described.js";
import { KEYS } from "../../support/service.js";
import { sendRequest, refusal, statusAndBody } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const CLOSED = refusal(403, "Metrics are open to loopback callers and tier3 keys only.");

describe("the system's endpoints", () => {
  it("report that the service is online", async () => {
    const { text } = await sendRequest(url, "/");
    const { info } = JSON.parse((await sendRequest(url, "/openapi.json")).text) as {
      info: { title: string };
    };
    expect(text).toBe(JSON.stringify({ status: "online", service: info.title, docs: "/docs" }));
  });

  it.each(["/", "/health", "/v1/system/catalogue", "/v1/system/changelog", "/v1/system/usage"])(
    "answer what the OpenAPI document describes: %s",
    async (path) => {
      for (const key of [undefined, KEYS.tier3]) await described(url, "GET", path, key);
    },
  );

  it("describe the API as OpenAPI 3.1, version v1", async () => {
    const reply = await sendRequest(url, "/openapi.json");
    const document = JSON.parse(reply.text) as { openapi: string; info: { version: string }; paths: object };
    expect(reply.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect([document.openapi.slice(0, 3), document.info.version]).toEqual(["3.1", "v1"]);
    expect(Object.keys(document.paths)).toContain("/v1/shop/legacy");
  });

  it("is compressed and revalidated", async () => {
    const plain = await sendRequest(url, "/openapi.json");
    const headers = { "accept-encoding": "gzip", "if-none-match": 'W/"other"' };
    const gzipped = await sendRequest(url, "/openapi.json", { headers });
    expect([gzipped.status, gzipped.headers["content-encoding"], gzipped.headers["etag"]]).toEqual([
      200,
      "gzip",
      plain.headers["etag"],
    ]);
    expect(Number(gzipped.headers["content-length"])).toBeLessThan(
      Number(plain.headers["content-length"]) / 3,
    );
    const again = await sendRequest(url, "/openapi.json", {
      headers: { "if-none-match": plain.headers["etag"] },
    });
    expect([again.status, again.text, again.headers["content-length"]]).toEqual([304, "", undefined]);
  });

  it("take no notice of a query string", async () => {
    for (const target of ["/", "/health", "/docs", "/openapi.json"])
      expect((await sendRequest(url, `${target}?x=1`)).status).toBe(200);
  });

  it("are named by API_TITLE", async () => {
    const { url: titled } = await serveOrders({ API_TITLE: `Shop <b>"& figures` });
    expect((await sendRequest(titled, "/")).text).toContain('"service":"Shop <b>\\"& figures"');
    expect(
      (JSON.parse((await sendRequest(titled, "/openapi.json")).text) as { info: object }).info,
    ).toMatchObject({ title: `Shop <b>"& figures`, version: "v1" });
    for (const page of ["/docs", "/redoc"]) {
      const { text } = await sendRequest(titled, page);
      expect(text).not.toContain("Shop <b>");
      expect(text).toContain("<title>Shop &#60;b&#62;&#34;&#38; figures</title>");
    }
  });
});

it("the caller's limits and use are in the answer to a key and to a caller without one, and count as a request", async () => {
  const { url: own } = await serveOrders({ STATEMENT_TIMEOUT_MS: "tier0=5000,tier1=0" });
  const read = async (key?: string): Promise<unknown> =>
    JSON.parse((await sendRequest(own, "/v1/system/usage", key === undefined ? {} : { key })).text);
  await sendRequest(own, "/v1/shop/tier1", { key: KEYS.tier1 });
  const always = { window_seconds: 60, requests_per_window: 500, stream_timeout_ms: 1_200_000 };
  expect(await read(KEYS.tier1)).toEqual({
    user: "user-tier1",
    tier: "tier1",
    org: "test",
    expires: null,
    allowed: null,
    limits: { ...always, query_timeout_ms: null },
    window: { requests: 2, remaining: 498, resets_at: expect.stringMatching(/^\d{4}-.*Z$/) },
    days: null,
  });
  expect(await read()).toMatchObject({
    user: null,
    tier: "tier0",
    org: null,
    limits: { query_timeout_ms: 5_000 },
    window: { requests: 1, remaining: 99 },
  });
  expect((await sendRequest(own, "/v1/system/usage", { key: "sk_live_no" })).status).toBe(403);
});

describe("the documentation pages", () => {
  it.each([
    ["/docs", "text/html"],
    ["/docs/swagger-ui-bundle.js", "text/javascript"],
    ["/docs/swagger-ui.css", "text/css"],
    ["/docs/oauth2-redirect.html", "text/html"],
    ["/docs/reference.js", "text/javascript"],
    ["/redoc", "text/html"],
    ["/docs/redoc.js", "text/javascript"],
    ["/docs/frame.css", "text/css"],
    ["/explore", "text/html"],
    ["/docs/explore.js", "text/javascript"],
  ])("bring what they need themselves, and no shared cache keeps them: %s", async (target, type) => {
    const { status, headers, text } = await sendRequest(url, target);
    expect([status, headers["content-type"]]).toEqual([200, `${type}; charset=utf-8`]);
    expect(headers["content-security-policy"]).toMatch(/default-src 'none'.*form-action 'self'/);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    if (type === "text/html") expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    // Each carries its reader's rate limit.
    expect([headers["x-ratelimit-limit"], headers["cache-control"]]).toEqual(["100", "private, no-cache"]);
    const zipped = await sendRequest(url, target, { headers: { "accept-encoding": "gzip" } });
    const known = { "if-none-match": zipped.headers["etag"], "accept-encoding": "gzip" };
    expect((await sendRequest(url, target, { headers: known })).status).toBe(304);
  });

  it.each([
    "/docs/../../package.json",
    "/docs/..%2f..%2fpackage.json",
    "/redoc/..%2fpackage.json",
    "/docs/package.json/..",
  ])("give nothing but their own files: %s", async (target) => {
    const { status, text } = await sendRequest(url, target);
    expect(text).not.toContain('"dependencies"');
    expect(status).toBeGreaterThanOrEqual(200);
  });
});

describe("/metrics", () => {
  it("is Prometheus text for callers on this machine", async () => {
    await sendRequest(url, "/v1/shop/pages?limit=0");
    const { status, text, headers } = await sendRequest(url, "/metrics");
    expect(status).toBe(200);
    expect(headers["content-type"]).toMatch(/^text\/plain; version=/);
    expect(text).toContain(
      'routewright_requests_total{route="/v1/shop/pages",tier="tier0",method="GET",status="400"}',
    );
    expect(text).toMatch(/^routewright_endpoints 12$/m);
  });

  it("has labels from closed sets only, never a key or a caller's words", async () => {
    await sendRequest(url, "/v1/made-up-path", { key: KEYS.tier2 });
    await sendRequest(url, "/v1/shop/legacy", { method: "PROPFIND", key: "sk_live_wrong" });
    const { text } = await sendRequest(url, "/metrics");
    expect(text).not.toMatch(/sk_live|made-up|PROPFIND|user-tier2/);
    expect(text).toContain('method="other"');
  });

  it.each(["x-forwarded-for", "forwarded", "x-forwarded-proto", "x-real-ip", "via", "cf-connecting-ip"])(
    "is closed to what came through a proxy: %s",
    async (header) => {
      const value = header === "forwarded" ? "for=127.0.0.1" : "127.0.0.1";
      expect(statusAndBody(await sendRequest(url, "/metrics", { headers: { [header]: value } }))).toEqual(
        CLOSED,
      );
      for (const tier of ["tier0", "tier1", "tier2"] as const)
        expect(
          statusAndBody(
            await sendRequest(url, "/metrics", { headers: { [header]: value }, key: KEYS[tier] }),
          ),
        ).toEqual(CLOSED);
      expect(
        (await sendRequest(url, "/metrics", { headers: { [header]: value }, key: KEYS.tier3 })).status,
      ).toBe(200);
    },
  );

  it("is closed to a trusted proxy's callers, whatever headers they send", async () => {
    const { url: proxied } = await serveOrders({ TRUST_PROXY: "1" });
    expect((await sendRequest(proxied, "/metrics")).status).toBe(403);
    expect((await sendRequest(proxied, "/metrics", { headers: { "x-forwarded-for": "::1" } })).status).toBe(
      403,
    );
  });

  it("is open to everybody with METRICS_PUBLIC=true", async () => {
    const { url: open } = await serveOrders({ METRICS_PUBLIC: "true" });
    expect(
      (await sendRequest(open, "/metrics", { headers: { "x-forwarded-for": "203.0.113.9" } })).status,
    ).toBe(200);
  });

  const address = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === "IPv4" && !each.internal)?.address;

  it.skipIf(address === undefined)("is closed to callers of another address of this machine", async () => {
    const { url: everywhere } = await serveOrders({ HOST: "0.0.0.0" });
    const { port } = new URL(everywhere);
    expect(statusAndBody(await sendRequest(`http://${String(address)}:${port}`, "/metrics"))).toEqual(CLOSED);
  });
});

import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;
const EVERYWHERE = [
  "/v1/shop/legacy",
  "/v1/shop/pages?limit=0",
  "/v1/none",
  "/",
  "/health",
  "/openapi.json",
  "/docs",
  "/redoc",
  "/docs/redoc.js",
  "/docs/none",
  "/metrics",
];

/** Those that pages of other origins may read: not what is for operators. */
const ANYBODYS = EVERYWHERE.filter((path) => path !== "/metrics");
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("X-Request-Id", () => {
  it.each(EVERYWHERE)("is generated where none is given: %s", async (target) => {
    const first = await sendRequest(url, target, { key });
    const second = await sendRequest(url, target, { key });
    expect(first.headers["x-request-id"]).toMatch(UUID);
    expect(second.headers["x-request-id"]).not.toBe(first.headers["x-request-id"]);
  });

  it.each(EVERYWHERE)("is the caller's own where it is fit: %s", async (target) => {
    const headers = { "x-request-id": "trace-1.a_B" };
    expect((await sendRequest(url, target, { key, headers })).headers["x-request-id"]).toBe("trace-1.a_B");
  });

  it.each(["a b", "x".repeat(129), '"', "a;b", "é", "{}", "\t", "sk_live_x", "id-sk_live_x"])(
    "is made where the given one is not fit: %j",
    async (id) => {
      expect(
        (await sendRequest(url, "/", { headers: { "x-request-id": id } })).headers["x-request-id"],
      ).toMatch(UUID);
    },
  );
});

describe("a browser's page from anywhere", () => {
  it.each(ANYBODYS)("may read the answer and its headers: %s", async (target) => {
    const { headers } = await sendRequest(url, target, { key, headers: { origin: "https://example.org" } });
    expect(headers["access-control-allow-origin"]).toBe("*");
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
    expect(headers["access-control-expose-headers"]).toBe(
      "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, ETag, X-Data-As-Of, X-Data-Freshness, X-Data-Quality, Deprecation, Sunset, Link, Traceparent, Server-Timing, X-Total-Count, Preference-Applied, Accept-Query, OData-Version",
    );
  });

  it.each([...ANYBODYS, "/v1/shop/tier3"])("may send a preflight without a key: %s", async (target) => {
    const { status, text, headers } = await sendRequest(url, target, {
      method: "OPTIONS",
      headers: {
        origin: "https://example.org",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-api-key, content-type",
      },
    });
    expect([status, text]).toEqual([204, ""]);
    expect(headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, HEAD, POST, QUERY, OPTIONS",
      "access-control-allow-headers":
        "X-API-Key, Authorization, Content-Type, If-None-Match, OData-MaxVersion, OData-Version, Prefer, X-Request-Id, Traceparent, Tracestate, MCP-Protocol-Version, Mcp-Method, Mcp-Name",
      "access-control-max-age": "7200",
    });
    expect(headers["x-ratelimit-limit"]).toBe("100");
    expect(headers["content-length"]).toBeUndefined();
  });
});

describe("OPTIONS without a browser", () => {
  it.each([
    ["/v1/shop/filters", "GET, HEAD, POST, QUERY, OPTIONS"],
    ["/v1/shop/legacy", "GET, HEAD, OPTIONS"],
    ["/", "GET, HEAD, OPTIONS"],
    ["/docs", "GET, HEAD, OPTIONS"],
  ])("tells the methods: %s", async (target, allow) => {
    const { status, headers } = await sendRequest(url, target, { method: "OPTIONS" });
    expect([status, headers.allow]).toEqual([204, allow]);
  });

  it("is not found where nothing is", async () => {
    expect((await sendRequest(url, "/v1/none", { method: "OPTIONS" })).status).toBe(404);
  });
});

describe("an answer with data", () => {
  it.each([
    ["/v1/shop/legacy", "private, no-cache"],
    ["/v1/none", "no-store"],
    ["/", "no-store"],
    ["/openapi.json", "private, no-cache"],
  ])("is not kept by others, guessed at or shown as a page: %s", async (target, cacheControl) => {
    expect((await sendRequest(url, target, { key })).headers).toMatchObject({
      "cache-control": cacheControl,
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "content-type": "application/json; charset=utf-8",
    });
  });

  it.each(EVERYWHERE)("does not name the server software: %s", async (target) => {
    const { headers } = await sendRequest(url, target, { key });
    expect(headers["x-powered-by"]).toBeUndefined();
    expect(headers.server).toBeUndefined();
  });
});

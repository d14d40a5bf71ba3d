/** Who may keep a response with rows: what `Cache-Control`, `Vary` and tags say. */
import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { KEYS } from "../../support/service.js";
import { headersOf, type Lines, PUBLIC, publicRows } from "./public-rows.js";

const { serve } = await publicRows();
const plain = await serve();
/** Behind a proxy, with a list of origins. */
const proxied = await serve(undefined, {
  CORS_ORIGINS: "https://app.example.com",
  TRUST_PROXY: "127.0.0.1",
});

describe("who may keep a response", () => {
  it.each([
    ["GET", "/v1/shop/rates", {}, PUBLIC],
    ["HEAD", "/v1/shop/rates", {}, PUBLIC],
    ["GET", "/v1/shop/rates.csv?label=old", {}, PUBLIC],
    ["GET", "/v1/shop/rates", { "x-api-key": KEYS.tier0 }, "private, no-cache"],
    ["GET", "/v1/shop/rates", { authorization: `Bearer ${KEYS.tier3}` }, "private, no-cache"],
    ["GET", "/v1/shop/rates", { "x-api-key": "sk_live_unknown" }, "no-store"],
    ["GET", "/v1/shop/rates?limit=x", {}, "no-store"],
    ["POST", "/v1/shop/rates", {}, "private, no-cache"],
    ["GET", "/v1/shop/mine", { "x-api-key": KEYS.tier0 }, "private, no-cache"],
    ["GET", "/v1/shop/paid", { "x-api-key": KEYS.tier1 }, "private, no-cache"],
    ["GET", "/v1/shop/plain", {}, "private, no-cache"],
  ])("%s %s %j: %s", async (method, path, headers, expected) => {
    const reply = await sendRequest(plain.url, path, { method, headers });
    const isPublic = expected === PUBLIC;
    expect(headersOf(reply, "cache-control", "surrogate-key", "cache-tag")).toEqual([
      expected,
      isPublic ? "rates" : undefined,
      isPublic ? "rates" : undefined,
    ]);
    if (reply.status === 200 && path.startsWith("/v1/shop/rates"))
      expect(reply.headers.vary).toContain("X-API-Key, Authorization");
  });

  it("says it of a 304 and of a part too", async () => {
    const ask = (headers: Record<string, string>) => sendRequest(plain.url, "/v1/shop/rates", { headers });
    const { headers } = await ask({});
    const unchanged = await ask({ "if-none-match": headers.etag ?? "" });
    const part = await ask({ range: "bytes=0-3" });
    expect([unchanged.status, part.status]).toEqual([304, 206]);
    for (const { headers } of [unchanged, part]) expect(headers["cache-control"]).toBe(PUBLIC);
  });

  it.each<Lines>([
    { accept: ["*/*", "application/json;q=0"] },
    { accept: ["application/json", "application/json;numbers=string"] },
    { accept: ["", "text/csv"] },
    { aCCEPT: ["*/*", "text/csv"] },
    { "accept-encoding": ["identity", "gzip"] },
    { prefer: ["respond-async", "count=exact"] },
    { authorization: ["Basic eDp5", `Bearer ${KEYS.tier0}`] },
    { origin: ["https://app.example.com", "https://other.example.com"] },
    { "x-forwarded-prefix": ["/data", "/other"] },
    { range: ["bytes=0-1", "bytes=0-3"] },
    { "if-range": ["x", "y"], range: "bytes=0-3" },
    { "if-none-match": ['W/"x"', '"*"'] },
  ])("nobody keeps what depends on a header in several lines: %j", async (headers) => {
    for (const path of ["/v1/shop/rates", "/v1/shop/plain", "/openapi.json"]) {
      const reply = await sendRequest(proxied.url, path, { headers });
      expect(headersOf(reply, "cache-control", "surrogate-key", "cache-tag")).toEqual([
        "private, no-store",
        undefined,
        undefined,
      ]);
    }
  });

  it("keeps what depends on one line, and on others that come several times", async () => {
    const { headers } = await sendRequest(plain.url, "/v1/shop/rates", {
      headers: {
        accept: "text/csv, */*;q=0.5",
        via: ["1.1 a", "1.1 b"],
        "x-forwarded-for": ["1.1.1.1", "2.2.2.2"],
      },
    });
    expect(headers["cache-control"]).toBe(PUBLIC);
  });

  it("varies by what else a response depends on: origins of a list, a forwarded prefix", async () => {
    const { headers } = await sendRequest(proxied.url, "/v1/shop/rates", {
      headers: { "x-forwarded-prefix": "/data" },
    });
    expect(headers.vary).toContain("Origin");
    expect(headers.vary).toContain("X-Forwarded-Prefix");
    expect(headers.link).toContain("</data/v1/shop/rates");
  });
});

import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import {
  sendRequest,
  post,
  refusal,
  statusAndBody,
  type RequestOptions,
  type Reply,
} from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url } = await serveOrders({ TRUST_PROXY: "1" });

let addresses = 0;
/** A new caller. */
function newCaller(): { headers: Record<string, string> } {
  return { headers: { "x-forwarded-for": `203.0.113.${String(++addresses)}` } };
}

function windowOf({ headers }: Reply): { limit: unknown; remaining: unknown } {
  return { limit: headers["x-ratelimit-limit"], remaining: headers["x-ratelimit-remaining"] };
}

async function times(count: number, target: string, question: RequestOptions): Promise<Reply> {
  let last = await sendRequest(url, target, question);
  for (let i = 1; i < count; i++) last = await sendRequest(url, target, question);
  return last;
}

describe("the headers of the window", () => {
  it.each([
    ["rows", "/v1/shop/tier0", {}],
    ["a 400", "/v1/shop/tier0?x=1", {}],
    ["a 403", "/v1/shop/tier3", {}],
    ["a wrong key", "/v1/shop/tier0", { headers: { "x-api-key": "sk_live_x" } }],
    ["a 404", "/v1/none", {}],
    ["a 405", "/v1/shop/tier0", { method: "DELETE" }],
    ["a 413", "/v1/shop/tier0", { method: "POST", body: "x".repeat(1024 * 1024 + 1) }],
  ])("are on %s, which counts", async (_, target, question: RequestOptions) => {
    const { headers } = newCaller();
    const before = Math.floor(Date.now() / 1000);
    const reply = await sendRequest(url, target, {
      ...question,
      headers: { ...question.headers, ...headers },
    });
    expect(windowOf(reply)).toEqual({ limit: "100", remaining: "99" });
    const [, left] = /^"minute";r=99;t=(\d+)$/.exec(String(reply.headers["ratelimit"])) ?? [];
    expect(Number(left)).toBeLessThanOrEqual(60);
    expect(Number(left)).toBeGreaterThanOrEqual(59 - (Math.ceil(Date.now() / 1000) - before));
    expect(reply.headers["ratelimit-policy"]).toBe('"minute";q=100;w=60');
    const reset = Number(reply.headers["x-ratelimit-reset"]);
    expect(reset).toBeGreaterThanOrEqual(before + 60);
    expect(reset).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 61);
    expect(reply.headers["retry-after"]).toBeUndefined();
  });

  it.each([
    "/",
    "/health",
    "/docs",
    "/redoc",
    "/docs/reference.js",
    "/docs/none",
    "/openapi.json",
    "/llms.txt",
    "/metrics",
  ])("are on %s, which does not count", async (target) => {
    const caller = newCaller();
    expect(windowOf(await sendRequest(url, target, caller))).toEqual({ limit: "100", remaining: "100" });
    await sendRequest(url, "/v1/shop/tier0", caller);
    expect(windowOf(await times(3, target, caller))).toEqual({ limit: "100", remaining: "99" });
    expect(windowOf(await sendRequest(url, "/v1/shop/tier0", caller))).toEqual({
      limit: "100",
      remaining: "98",
    });
  });

  it("are on a preflight, which does not count", async () => {
    const caller = newCaller();
    expect(windowOf(await sendRequest(url, "/v1/shop/tier0", { ...caller, method: "OPTIONS" }))).toEqual({
      limit: "100",
      remaining: "100",
    });
  });

  it.each([
    ["tier0", "100"],
    ["tier1", "500"],
    ["tier2", "1000"],
    ["tier3", "10000"],
  ] as const)("tell a key of %s the limit of its own tier, on an endpoint of any", async (tier, limit) => {
    const reply = await sendRequest(url, "/v1/shop/tier0", { key: KEYS[tier] });
    expect(windowOf(reply)).toEqual({ limit, remaining: String(Number(limit) - 1) });
  });
});

describe("a caller whose window is used up", () => {
  it("gets 429 with the seconds to wait, on everything but the system's endpoints", async () => {
    const caller = newCaller();
    const last = await times(100, "/v1/shop/tier0?x=1", caller);
    expect([last.status, windowOf(last)]).toEqual([400, { limit: "100", remaining: "0" }]);

    const refused = await sendRequest(url, "/v1/shop/tier0", caller);
    const seconds = Number(refused.headers["retry-after"]);
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(statusAndBody(refused)).toEqual(
      refusal(429, `Rate limit exceeded. Try again in ${String(seconds)} seconds.`),
    );
    expect(windowOf(refused)).toEqual({ limit: "100", remaining: "0" });
    expect(refused.headers["x-ratelimit-reset"]).toBe(last.headers["x-ratelimit-reset"]);

    const body = "{".repeat(10);
    expect((await post(url, "/v1/shop/tier0", body, caller)).status).toBe(429);
    for (const target of ["/v1/shop/tier3", "/v1/none"]) {
      expect((await sendRequest(url, target, caller)).status).toBe(429);
    }
    for (const target of ["/", "/health", "/docs", "/redoc", "/openapi.json"]) {
      expect((await sendRequest(url, target, caller)).status).toBe(200);
    }
    expect((await sendRequest(url, "/metrics", caller)).status).toBe(403);
    expect((await sendRequest(url, "/v1/shop/tier0", { ...caller, method: "OPTIONS" })).status).toBe(204);
    expect((await sendRequest(url, "/v1/shop/tier0", newCaller())).status).toBe(200);
  });

  it("by address continues with a key, and a key's requests do not count against the address", async () => {
    const caller = newCaller();
    await times(101, "/v1/none", caller);
    const keyed = await sendRequest(url, "/v1/shop/tier0", { ...caller, key: KEYS.tier1 });
    expect([keyed.status, windowOf(keyed).limit]).toEqual([200, "500"]);

    const other = newCaller();
    await times(3, "/v1/none", { ...other, key: KEYS.tier1 });
    expect(windowOf(await sendRequest(url, "/v1/none", other)).remaining).toBe("99");
  });

  it("by key is refused wherever it calls from, and other keys are not", async () => {
    const { url: own } = await serveOrders({ TRUST_PROXY: "1" });
    for (let i = 0; i < 100; i++) await sendRequest(own, "/v1/none", { ...newCaller(), key: KEYS.tier0 });
    expect((await sendRequest(own, "/v1/shop/tier0", { ...newCaller(), key: KEYS.tier0 })).status).toBe(429);
    expect((await sendRequest(own, "/v1/shop/tier0", { ...newCaller(), key: KEYS.tier1 })).status).toBe(200);
  });

  it("by wrong keys is an address: 403 until the window is used up, then 429", async () => {
    const caller = newCaller();
    for (let i = 0; i < 99; i++)
      expect(
        (await sendRequest(url, "/v1/shop/tier0", { ...caller, key: `sk_live_${String(i)}` })).status,
      ).toBe(403);
    const hundredth = await sendRequest(url, "/docs", { ...caller, key: "sk_live_docs" });
    expect([hundredth.status, windowOf(hundredth)]).toEqual([403, { limit: "100", remaining: "0" }]);
    expect((await sendRequest(url, "/v1/shop/tier0", { ...caller, key: "sk_live_x" })).status).toBe(429);
    expect((await sendRequest(url, "/v1/shop/tier0", caller)).status).toBe(429);
    expect((await sendRequest(url, "/docs", { ...caller, key: "sk_live_x" })).status).toBe(403);
    expect((await sendRequest(url, "/v1/shop/tier0", { ...caller, key: KEYS.tier2 })).status).toBe(200);
  });
});

describe("the address of a caller", () => {
  it("is the connection's own where no proxy is trusted", async () => {
    const { url: own } = await serveOrders();
    await sendRequest(own, "/v1/none", { headers: { "x-forwarded-for": "203.0.113.1" } });
    const reply = await sendRequest(own, "/v1/none", { headers: { "x-forwarded-for": "203.0.113.2" } });
    expect(windowOf(reply).remaining).toBe("98");
  });

  it("is what the trusted proxy saw, not what the caller wrote in front of it", async () => {
    const { "x-forwarded-for": address } = newCaller().headers;
    await sendRequest(url, "/v1/none", { headers: { "x-forwarded-for": `1.1.1.1, ${String(address)}` } });
    const reply = await sendRequest(url, "/v1/none", {
      headers: { "x-forwarded-for": `2.2.2.2, ${String(address)}` },
    });
    expect(windowOf(reply).remaining).toBe("98");
  });

  it("is its /64 with IPv6", async () => {
    const remainingOf = async (address: string) =>
      windowOf(await sendRequest(url, "/v1/none", { headers: { "x-forwarded-for": address } })).remaining;
    expect(await remainingOf("2001:db8:1:2::1")).toBe("99");
    expect(await remainingOf("2001:db8:1:2:ffff::9")).toBe("98");
    expect(await remainingOf("2001:db8:1:3::1")).toBe("99");
  });
});

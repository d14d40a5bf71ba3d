import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, refusal, statusAndBody } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const TIERS = ["tier0", "tier1", "tier2", "tier3"] as const;

const MISSING = refusal(403, "Missing authentication header: X-API-Key");
const UNKNOWN = refusal(403, "Invalid API Key");

describe("an endpoint", () => {
  it("of tier0 needs no key", async () => {
    expect((await sendRequest(url, "/v1/shop/tier0")).status).toBe(200);
  });

  it("without a tier tag is of tier0", async () => {
    expect((await sendRequest(url, "/v1/shop/legacy")).status).toBe(200);
  });

  it.each(["tier1", "tier2", "tier3"])("of %s needs a key", async (tier) => {
    expect(statusAndBody(await sendRequest(url, `/v1/shop/${tier}`))).toEqual(MISSING);
    expect(statusAndBody(await sendRequest(url, `/v1/shop/${tier}`, { key: "" }))).toEqual(MISSING);
    expect(statusAndBody(await sendRequest(url, `/v1/shop/${tier}`, { method: "POST", body: "{" }))).toEqual(
      MISSING,
    );
  });

  const pairs = TIERS.flatMap((held) => TIERS.map((tier) => ({ held, tier })));

  it.each(pairs.filter(({ held, tier }) => held >= tier))(
    "of $tier is open to a key of $held",
    async ({ held, tier }) => {
      expect((await sendRequest(url, `/v1/shop/${tier}`, { key: KEYS[held] })).status).toBe(200);
    },
  );

  it.each(pairs.filter(({ held, tier }) => held < tier))(
    "of $tier is closed to a key of $held",
    async ({ held, tier }) => {
      const detail = `Access denied. This endpoint requires ${tier} access. User 'user-${held}' has ${held} access.`;
      expect(statusAndBody(await sendRequest(url, `/v1/shop/${tier}`, { key: KEYS[held] }))).toEqual(
        refusal(403, detail),
      );
    },
  );

  it("takes the name of the header in any letter case", async () => {
    expect((await sendRequest(url, "/v1/shop/tier3", { headers: { "X-api-KEY": KEYS.tier3 } })).status).toBe(
      200,
    );
  });

  it("takes a key from Authorization: Bearer too, and no other scheme", async () => {
    const statusOf = async (authorization: string, key?: string): Promise<number> =>
      (await sendRequest(url, "/v1/shop/tier3", { headers: { authorization }, ...(key && { key }) })).status;
    expect(await statusOf(`Bearer ${KEYS.tier3}`)).toBe(200);
    expect(await statusOf(`bearer  ${KEYS.tier3}`, KEYS.tier3)).toBe(200);
    expect(await statusOf(`Bearer ${KEYS.tier1}`)).toBe(403);
    expect(await statusOf("Bearer sk_live_unknown")).toBe(403);
    expect(await statusOf(`Basic ${btoa(`user:${KEYS.tier3}`)}`)).toBe(403);
  });

  it("refuses two different keys, whichever header holds the better one", async () => {
    const detail = "X-API-Key and Authorization hold different keys. Send one of them.";
    for (const [key, other] of [
      [KEYS.tier3, KEYS.tier0],
      [KEYS.tier0, KEYS.tier3],
    ] as const) {
      const headers = { authorization: `Bearer ${other}` };
      expect(statusAndBody(await sendRequest(url, "/v1/shop/tier0", { key, headers }))).toEqual(
        refusal(400, detail),
      );
    }
  });
});

describe("a key that is not known", () => {
  it.each([
    "/v1/shop/tier0",
    "/v1/shop/tier3",
    "/v1/shop/none",
    "/",
    "/health",
    "/docs",
    "/redoc",
    "/openapi.json",
    "/metrics",
  ])("is refused everywhere: %s", async (target) => {
    expect(statusAndBody(await sendRequest(url, target, { key: "sk_live_unknown" }))).toEqual(UNKNOWN);
  });

  it.each([
    ["another letter case", KEYS.tier3.toUpperCase()],
    ["a part", KEYS.tier3.slice(0, -1)],
    ["more than it", `${KEYS.tier3}x`],
    ["no prefix", "test_tier3"],
    ["a name of JavaScript", "__proto__"],
    ["text of another code page", "sk_live_\u00e9"],
    ["the id of a key", `sha256:${"0".repeat(64)}`],
  ])("may be %s", async (_, key) => {
    expect(statusAndBody(await sendRequest(url, "/v1/shop/tier0", { key }))).toEqual(UNKNOWN);
  });

  it("may be two keys at once", async () => {
    const headers = { "x-api-key": [KEYS.tier3, KEYS.tier3] };
    expect(statusAndBody(await sendRequest(url, "/v1/shop/tier0", { headers }))).toEqual(UNKNOWN);
  });

  it("is reported before any other error", async () => {
    expect(
      statusAndBody(await sendRequest(url, "/v1/shop/tier1?x=1", { key: "sk_live_x", method: "DELETE" })),
    ).toEqual(UNKNOWN);
  });
});

it("a service that has no keys serves tier0 and refuses every key", async () => {
  const { url: bare } = await serveOrders({ API_KEYS: "{}" });
  expect((await sendRequest(bare, "/v1/shop/tier0")).status).toBe(200);
  expect(statusAndBody(await sendRequest(bare, "/v1/shop/tier0", { key: KEYS.tier0 }))).toEqual(UNKNOWN);
});

describe("a key that is stored", () => {
  const digest = "a1c58f0a9c5f5a4ae7e6b8a4a3bd8b2b1f0dcb9d9df0d6f1a1f7b0c1d2e3f405";
  it("hashed or with its tier alone opens the same, and its owner is named in a refusal", async () => {
    const { createHash } = await import("node:crypto");
    const hashed = createHash("sha256").update("sk_live_hashed").digest("hex");
    const { url: other } = await serveOrders({
      API_KEYS: JSON.stringify({
        [`sha256:${hashed}`]: { user: "hanna", tier: "tier1" },
        [`sha256:${digest.toUpperCase()}`]: "tier3",
        sk_live_short: "tier2",
      }),
    });
    expect((await sendRequest(other, "/v1/shop/tier1", { key: "sk_live_hashed" })).status).toBe(200);
    expect((await sendRequest(other, "/v1/shop/tier2", { key: "sk_live_short" })).status).toBe(200);
    expect(statusAndBody(await sendRequest(other, "/v1/shop/tier2", { key: "sk_live_hashed" }))).toEqual(
      refusal(403, "Access denied. This endpoint requires tier2 access. User 'hanna' has tier1 access."),
    );
    expect((await sendRequest(other, "/v1/shop/tier0", { key: `sha256:${hashed}` })).status).toBe(403);
    const { text } = await sendRequest(other, "/v1/shop/tier3", { key: "sk_live_short" });
    expect(text).toMatch(/User '[0-9a-f]{12}' has tier2 access/);
  });
});

const limited = await serveOrders({
  API_KEYS: JSON.stringify({
    sk_live_past: { tier: "tier3", expires: "2020-01-31" },
    sk_live_future: { tier: "tier3", expires: "2099-01-31" },
    sk_live_category: { tier: "tier3", allowed: ["shop"] },
    sk_live_path: { tier: "tier3", allowed: ["/v1/shop/tier1", "bank"] },
    sk_live_system: { tier: "tier3", allowed: ["system"] },
  }),
});

describe("a key with limits", () => {
  const statusOf = async (key: string, target: string, method = "GET"): Promise<number> =>
    (await sendRequest(limited.url, target, { key, method })).status;

  it("is refused once it has expired", async () => {
    const reply = await sendRequest(limited.url, "/v1/shop/tier0", { key: "sk_live_past" });
    expect(statusAndBody(reply)).toEqual(refusal(403, "This API key expired at 2020-02-01T00:00:00.000Z."));
    expect(await statusOf("sk_live_future", "/v1/shop/tier3")).toBe(200);
  });

  it("opens the categories and paths that it names, and no other, however they are written", async () => {
    expect(await statusOf("sk_live_category", "/v1/shop/tier3")).toBe(200);
    expect(await statusOf("sk_live_path", "/v1/shop/tier1")).toBe(200);
    expect(await statusOf("sk_live_path", "/v1/shop/tier1.csv")).toBe(200);
    for (const target of ["/v1/shop/tier0", "/v1/shop/tier3", "/v1/shop/tier3.csv", "/v1/shop/%74ier3"])
      expect(await statusOf("sk_live_path", target), target).toBe(403);
    const { url: at } = limited;
    expect(statusAndBody(await sendRequest(at, "/v1/shop/tier2", { key: "sk_live_path" }))).toEqual(
      refusal(403, "Access denied. This key may not call /v1/shop/tier2."),
    );
  });

  it("neither refreshes nor reads metrics where it does not name the system", async () => {
    const forwarded = { "x-forwarded-for": "198.51.100.7" };
    expect(await statusOf("sk_live_category", "/v1/system/manifest/refresh", "POST")).toBe(403);
    expect(await statusOf("sk_live_system", "/v1/system/manifest/refresh", "POST")).toBe(200);
    const { url: at } = limited;
    const metrics = async (key: string): Promise<number> =>
      (await sendRequest(at, "/metrics", { key, headers: forwarded })).status;
    expect([await metrics("sk_live_category"), await metrics("sk_live_future")]).toEqual([403, 200]);
  });

  it("reads its limits", async () => {
    const { text } = await sendRequest(limited.url, "/v1/system/usage", { key: "sk_live_path" });
    expect(JSON.parse(text)).toMatchObject({
      tier: "tier3",
      expires: null,
      allowed: ["/v1/shop/tier1", "bank"],
    });
  });
});

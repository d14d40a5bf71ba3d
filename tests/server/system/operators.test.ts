/** What pages of other origins, and strangers, learn from paths that are for operators. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1::bigint AS n");
const tagged = (name: string, ...tags: string[]) => ["production", "shop", `api:${name}`, ...tags];
const columns = { n: "bigint" };
const manifest = manifestOf([
  { name: "sales", schema, columns },
  { name: "paid", schema, tags: tagged("paid", "tier2"), columns },
]);

const PAGES = [
  { origin: "https://evil.example" },
  { origin: "null" },
  { host: "evil.example" },
  { host: "localhost.evil.example:8000" },
];

describe("a page of another origin, on its visitor's own machine,", async () => {
  const url = await serveManifest(manifest);
  // The server notes that its relation is missing.
  await sendRequest(url, "/v1/shop/paid", { key: KEYS.tier2 });

  it.each(PAGES)("reads no metrics: %j", async (headers) => {
    const reply = await sendRequest(url, "/metrics", { headers });
    expect([reply.status, reply.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
    expect(reply.text).toMatch(/^\{"detail":"The header (Host|Origin) names no loopback address\./);
  });

  it.each(PAGES)("reads no names in /health, and no time of the server: %j", async (headers) => {
    const health = await sendRequest(url, "/health", { headers });
    expect(Object.keys(JSON.parse(health.text) as object)).toEqual([
      "status",
      "database_connected",
      "counts",
    ]);
    expect(health.text).not.toContain(schema);
    const rows = await sendRequest(url, "/v1/shop/sales", { headers });
    expect([rows.status, rows.headers["server-timing"]]).toEqual([200, undefined]);
  });

  it("reads none of what an operator does", async () => {
    const url = await serveManifest(manifest, { METRICS_PUBLIC: "true" });
    for (const path of ["/metrics", "/health"])
      for (const method of ["GET", "HEAD", "OPTIONS"]) {
        const { headers, status } = await sendRequest(url, path, { method });
        expect(status).toBeLessThan(300);
        if (path === "/metrics" || method !== "OPTIONS")
          expect([path, method, headers["access-control-allow-origin"]]).toEqual([path, method, undefined]);
      }
  });
});

describe("/health", () => {
  const STRANGER = { "x-forwarded-for": "192.0.2.1" };
  const NAMES = { missing_relations: [`${schema}.paid`] };

  it("has names for this machine, tier3 and readers of public metrics, and numbers for everybody else", async () => {
    const url = await serveManifest(manifest);
    const open = await serveManifest(manifest, { METRICS_PUBLIC: "true" });
    await Promise.all([url, open].map((each) => sendRequest(each, "/v1/shop/paid", { key: KEYS.tier2 })));
    const read = async (base: string, headers: Record<string, string>): Promise<unknown> =>
      JSON.parse((await sendRequest(base, "/health", { headers })).text);
    expect(await read(url, {})).toMatchObject(NAMES);
    expect(await read(url, { ...STRANGER, "x-api-key": KEYS.tier3 })).toMatchObject(NAMES);
    expect(await read(open, STRANGER)).toMatchObject(NAMES);
    for (const headers of [STRANGER, { ...STRANGER, "x-api-key": KEYS.tier2 }])
      expect(await read(url, headers)).toEqual({
        status: "degraded",
        database_connected: true,
        counts: expect.objectContaining({ missing_relations: 1 }) as unknown,
      });
  });
});

describe("with CATALOGUE=allowed", () => {
  const METHODS = ["GET", "HEAD", "POST", "PUT", "OPTIONS"];

  it("an endpoint that the key may not call is a path without one, for every method and format", async () => {
    const url = await serveManifest(manifest, { CATALOGUE: "allowed" });
    for (const suffix of ["", ".csv", "?limit=x"])
      for (const method of METHODS)
        for (const key of [undefined, KEYS.tier1]) {
          const ask = async (path: string): Promise<unknown> => {
            const { status, text, headers } = await sendRequest(url, path + suffix, {
              method,
              ...(key !== undefined && { key }),
            });
            return [status, text, headers.allow];
          };
          expect(await ask("/v1/shop/paid")).toEqual(await ask("/v1/shop/none"));
        }
    const values = (path: string) => sendRequest(url, `/v1/system/values?column=n&path=${path}`);
    const [locked, none] = [await values("/v1/shop/paid"), await values("/v1/shop/none")];
    expect([locked.status, locked.text]).toEqual([none.status, none.text]);
  });

  it("an unknown key is 403, and a key that may call gets rows", async () => {
    const url = await serveManifest(manifest, { CATALOGUE: "allowed" });
    expect((await sendRequest(url, "/v1/shop/paid", { key: "sk_live_unknown" })).status).toBe(403);
    expect((await sendRequest(url, "/v1/shop/sales")).status).toBe(200);
    // Its relation is missing: the request reached the database.
    expect((await sendRequest(url, "/v1/shop/paid", { key: KEYS.tier2 })).status).toBe(500);
  });

  it("without it the refusal says what is needed", async () => {
    const url = await serveManifest(manifest);
    expect((await sendRequest(url, "/v1/shop/paid")).status).toBe(403);
  });
});

describe("a key beside the token of a gateway", () => {
  const jwt = (claims: object): string =>
    ["{}", JSON.stringify(claims), "x"].map((part) => Buffer.from(part).toString("base64url")).join(".");
  const ISSUER = "https://issuer.example";

  it.each([
    ["an opaque token", "ya29.abc-def", 200],
    ["a JWT of another issuer", jwt({ iss: "https://gateway.example" }), 200],
    ["a damaged JWT", "a.b.c", 200],
    ["an unknown key", "sk_live_unknown", 200],
    ["the same key", KEYS.tier1, 200],
    ["another key", KEYS.tier3, 400],
    ["a JWT of the issuer", jwt({ iss: ISSUER }), 400],
  ])("%s: %s", async (_, token, expected) => {
    const url = await serveManifest(manifest, { API_JWT_ISSUER: ISSUER, API_JWT_AUDIENCE: "data" });
    const headers = { "x-api-key": KEYS.tier1, authorization: `Bearer ${token}` };
    const reply = await sendRequest(url, "/v1/shop/sales", { headers });
    expect(reply.status).toBe(expected);
    if (expected === 200) expect(reply.headers["x-ratelimit-limit"]).toBe("500");
  });

  it("never makes an unknown key valid, and counts where no key is beside it", async () => {
    const url = await serveManifest(manifest);
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await sendRequest(url, "/v1/shop/sales", { headers })).status;
    expect(await statusOf({ "x-api-key": "sk_live_unknown", authorization: "Bearer other" })).toBe(403);
    expect(await statusOf({ authorization: "Bearer other" })).toBe(403);
    expect(await statusOf({ authorization: `Bearer ${KEYS.tier1}` })).toBe(200);
  });
});

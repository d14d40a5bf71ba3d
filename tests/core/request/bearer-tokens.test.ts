import { createHmac } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { startProcess } from "../../ramp/support/processes.js";
import { letPass, setClockBack } from "../../support/clock.js";
import { KEYS } from "../../support/service.js";
import { post, type Reply, refusal, sendRequest, statusAndBody } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

/** Two issuers of one process. */
async function twoIssuers() {
  const { said, kill } = await startProcess("./oidc-process.ts", { OIDC_ISSUERS: "2" });
  const [first = "", second = ""] = said.split(" ");
  return { first, second, kill };
}

const { first: issuer, second: foreign, kill } = await twoIssuers();
afterAll(() => kill());
const settings = { API_JWT_ISSUER: issuer, API_JWT_AUDIENCE: "orders", API_JWT_CLOCK_SKEW_SECONDS: "10" };
const { url } = await serveOrders(settings);

const seconds = (): number => Math.floor(Date.now() / 1000);
type Claims = Readonly<Record<string, unknown>>;
const good = (claims: Claims = {}): Claims => ({
  iss: issuer,
  aud: "orders",
  sub: "ann",
  tier: "tier2",
  iat: seconds(),
  exp: seconds() + 300,
  ...claims,
});

/** A token for the claims, signed with the keys of `from`. */
const token = async (claims: Claims = {}, from = issuer): Promise<string> =>
  (await fetch(`${from}/token`, { method: "POST", body: JSON.stringify(good(claims)) })).text();

const ask = (bearer: string, target = "/v1/shop/tier2", base = url, key?: string): Promise<Reply> =>
  sendRequest(base, target, { headers: { authorization: `Bearer ${bearer}` }, ...(key && { key }) });

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

describe("a token of the configured issuer", () => {
  it("opens what its tier opens, and names its user in a refusal", async () => {
    expect((await ask(await token())).status).toBe(200);
    const detail = "Access denied. This endpoint requires tier3 access. User 'ann' has tier2 access.";
    expect(statusAndBody(await ask(await token(), "/v1/shop/tier3"))).toEqual(refusal(403, detail));
  });

  it("counts against its user, whichever token it sends", async () => {
    const remaining = async (claims: Claims): Promise<number> =>
      Number((await ask(await token(claims))).headers["x-ratelimit-remaining"]);
    const [first, second] = [await remaining({ sub: "eve" }), await remaining({ sub: "eve", jti: "2" })];
    expect([first, second]).toEqual([999, 998]);
    expect(await remaining({ sub: "zoe" })).toBe(999);
  });

  it("has user, organization and tier in the claims that the service names", async () => {
    const { url: named } = await serveOrders({
      ...settings,
      API_JWT_TIER_CLAIM: "https://shop.example/tier",
      API_JWT_ORG_CLAIM: "tenant",
      API_JWT_USER_CLAIM: "email",
    });
    const claims = { "https://shop.example/tier": "tier3", tenant: "acme", email: "ann@shop.example" };
    const { status, text } = await ask(await token(claims), "/v1/system/usage", named);
    expect([status, JSON.parse(text)]).toEqual([
      200,
      expect.objectContaining({ user: "ann@shop.example", tier: "tier3", org: "acme", days: null }),
    ]);
    expect((await ask(await token(), "/v1/system/usage", named)).status).toBe(401);
  });

  it("may have expired, or begin, within the clock skew", async () => {
    // The clock stands still, or a busy machine would need the rest of the skew.
    setClockBack(0);
    expect((await ask(await token({ exp: seconds() - 2 }))).status).toBe(200);
    expect((await ask(await token({ nbf: seconds() + 5 }))).status).toBe(200);
  });
});

describe("a token that is refused", () => {
  const reasons: readonly (readonly [string, Claims, string])[] = [
    ["has expired", { exp: 1_000_000_000 }, "it has expired."],
    ["never expires", { exp: undefined }, "its claim exp is missing or not accepted."],
    ["is not valid yet", { nbf: 4_000_000_000 }, "its claim nbf is missing or not accepted."],
    ["is for another service", { aud: "other" }, "its claim aud is missing or not accepted."],
    ["is for nobody", { aud: undefined }, "its claim aud is missing or not accepted."],
    ["names another issuer", { iss: foreign }, "its claim iss is missing or not accepted."],
    ["has no subject", { sub: undefined }, "its claim sub is missing or not accepted."],
  ];
  it.each(reasons)("%s", async (_, claims, reason) => {
    const reply = await ask(await token(claims));
    expect(statusAndBody(reply)).toEqual(refusal(401, `Invalid token: ${reason}`));
    expect(reply.headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
  });

  it("is for another resource, however near its name", async () => {
    const publicUrl = "https://data.example/api";
    const { url: at } = await serveOrders({ ...settings, PUBLIC_URL: publicUrl });
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    };
    const statuses = async (aud: unknown): Promise<readonly number[]> => {
      const authorization = `Bearer ${await token({ aud })}`;
      const accept = "application/json, text/event-stream";
      const mcp = await post(at, "/mcp", initialize, { headers: { authorization, accept } });
      const rows = await sendRequest(at, "/v1/shop/tier2", { headers: { authorization } });
      // The tool behind `/mcp` is not reached by another path.
      const values = await sendRequest(at, "/v1/system/values", { headers: { authorization } });
      return [mcp.status, rows.status, values.status];
    };
    expect(await statuses("orders")).toEqual([200, 200, 400]);
    expect(await statuses(["other", "orders"])).toEqual([200, 200, 400]);
    expect(await statuses(`${publicUrl}/mcp`)).toEqual([200, 401, 401]);
    for (const aud of [
      publicUrl,
      `${publicUrl}/`,
      `${publicUrl}/mcp/`,
      `${publicUrl}/MCP`,
      `${publicUrl}/mcp?x`,
      `${publicUrl}/mcp#`,
      `${publicUrl}//mcp`,
      "https://data.example/mcp",
      "http://data.example/api/mcp",
      "https://data.example:443/api/mcp",
      "https://DATA.example/api/mcp",
      "https://data.example.evil/api/mcp",
      `${at}/mcp`,
      "Orders",
      "orders ",
      "orders,other",
      ["orders,other"],
      [["orders"]],
      { orders: true },
      [],
      "",
      "*",
      null,
    ])
      expect([aud, ...(await statuses(aud))]).toEqual([aud, 401, 401, 401]);
  });

  it.each([
    [{ sub: "" }, "its claim sub must be a string that is not empty, without lone surrogates."],
    [{ sub: " " }, "its claim sub must be a string that is not empty, without lone surrogates."],
    [{ sub: "\ud800" }, "claim sub"],
    [{ org: "\ud800" }, "org must be a string"],
    [{ sub: { id: "ann" }, user: "ann" }, "claim sub"],
    [{ sub: 7 }, "claim sub"],
    [{ tier: undefined }, "tier must be one of"],
    [{ tier: "tier4" }, "tier must be one of"],
    [{ tier: ["tier3"] }, "tier must be one of"],
    [{ org: "*" }, 'org may be "*" (all organizations) only with tier3.'],
    [{ org: { $ne: "" } }, "org must be a string"],
  ] as const)("describes no caller: %j", async (claims, reason) => {
    const { status, text } = await ask(await token(claims));
    expect([status, text]).toEqual([401, expect.stringContaining(reason.replaceAll('"', '\\"'))]);
  });

  it("is signed by somebody else, by nobody, or with a public key as the secret", async () => {
    const unsigned = refusal(401, "Invalid token: it is not signed by the configured issuer.");
    const real = await token();
    const [header = "", payload = "", signature = ""] = real.split(".");
    const better = encode(good({ tier: "tier3" }));
    const { keys } = (await (await fetch(`${issuer}/jwks`)).json()) as { keys: { kid: string }[] };
    const kid = keys[0]?.kid;
    const secret = JSON.stringify(keys[0]);
    const hmac = `${encode({ alg: "HS256", kid })}.${better}`;
    const forged = [
      await token({}, foreign),
      `${encode({ alg: "none" })}.${better}.`,
      `${encode({ alg: "none", kid })}.${better}.${signature}`,
      `${header}.${better}.${signature}`,
      `${header}.${payload}.`,
      `${hmac}.${createHmac("sha256", secret).update(hmac).digest("base64url")}`,
      `${encode({ alg: "RS256", jwk: keys[0] })}.${better}.${signature}`,
      `${encode({ alg: "RS256", jku: `${foreign}/jwks`, kid: "key-9" })}.${better}.${signature}`,
      `${encode({ alg: "RS256", kid, crit: ["exp"] })}.${better}.${signature}`,
    ];
    for (const each of forged)
      for (const target of ["/v1/shop/tier0", "/v1/shop/tier3", "/health"])
        expect([each, ...statusAndBody(await ask(each, target))]).toEqual([each, ...unsigned]);
  });

  it("is no token, or is not expected here", async () => {
    for (const text of ["a.b", "a.b.c.d", `${await token()}x.y`, "..", "sk_live_a.b c.d"])
      expect((await ask(text)).status, text).toBe(403);
    const { url: without } = await serveOrders();
    expect(statusAndBody(await ask(await token(), "/v1/shop/tier0", without))).toEqual(
      refusal(403, "Invalid API Key"),
    );
  });

  it("counts against the address", async () => {
    const { url: fresh } = await serveOrders({ ...settings, RATE_LIMITS: "tier0=2" });
    const statuses = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await ask(await token({ aud: "x" }), "/v1/shop/tier0", fresh)).status);
    expect(statuses).toEqual([401, 401, 429]);
  });
});

it("a token and a key that are sent together are two keys, whichever is the better one", async () => {
  const detail = "X-API-Key and Authorization hold different keys. Send one of them.";
  for (const key of [KEYS.tier0, KEYS.tier3])
    expect(statusAndBody(await ask(await token(), "/v1/shop/tier0", url, key))).toEqual(refusal(400, detail));
});

it("the issuer's keys are fetched once, and those of an issuer that rotates are known once they are published", async () => {
  const { first: rotating, second: rotated, kill: endIssuers } = await twoIssuers();
  const at = (said: string): Promise<{ readonly url: string }> =>
    serveOrders({ ...settings, API_JWT_ISSUER: said });
  const [{ url: first }, { url: later }] = await Promise.all([at(rotating), at(rotated)]);
  const from = (said: string, claims: Claims = {}): Promise<string> => token({ iss: said, ...claims }, said);
  const many = await Promise.all(
    Array.from({ length: 20 }, async () => ask(await from(rotating), "/v1/shop/tier2", first)),
  );
  expect(new Set(many.map(({ status }) => status))).toEqual(new Set([200]));
  // A key that nobody has published: not fetched at will.
  for (let i = 0; i < 5; i++)
    await ask(`${encode({ alg: "RS256", kid: `guess-${String(i)}` })}.e30.c2ln`, "/v1/shop/tier2", first);
  expect(await (await fetch(`${rotating}/requests`)).text()).toBe("1");

  const old = await from(rotated);
  await fetch(`${rotated}/rotate`, { method: "POST" });
  for (const bearer of [old, await from(rotated)])
    expect((await ask(bearer, "/v1/shop/tier2", later)).status).toBe(200);

  // Known keys stay valid while the issuer is gone, however long; without any, the service asks for patience.
  const last = await from(rotated, { exp: seconds() + 86_400 });
  const { url: cold } = await at(rotated);
  await endIssuers();
  expect((await ask(last, "/v1/shop/tier2", later)).status).toBe(200);
  letPass(3_600_000);
  expect((await ask(last, "/v1/shop/tier2", later)).status).toBe(200);
  const reply = await ask(last, "/v1/shop/tier2", cold);
  expect([reply.status, reply.headers["retry-after"]]).toEqual([503, "5"]);
});

it.each([
  [{ API_JWT_ISSUER: issuer }, "need each other"],
  [{ API_JWT_AUDIENCE: "orders" }, "need each other"],
  [{ API_JWT_ISSUER: "http://id.example.com", API_JWT_AUDIENCE: "orders" }, "API_JWT_ISSUER must be"],
  [{ ...settings, API_JWT_CLOCK_SKEW_SECONDS: "301" }, "from 0 to 300"],
])("the settings are checked at the start: %j", async (variables, problem) => {
  await expect(serveOrders(variables)).rejects.toThrow(problem);
});

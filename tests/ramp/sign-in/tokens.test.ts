import { listRecords } from "../../../runtime/ramp/operator/diagnostics.js";
import { customerIdOf, projectId } from "../../../runtime/ramp/database/id.js";
import jwt from "jsonwebtoken";
import { afterAll, describe, expect, it } from "vitest";
import { generateKeyPairSync } from "node:crypto";
import { removeIdentityProvider } from "../../../runtime/ramp/operator/identity-providers.js";
import { CustomerTokens, SigningKeys } from "../../../runtime/ramp/sign-in/customer-token.js";
import {
  addSecret,
  revokeCustomerTokens,
  revokeKey,
  revokeSecret,
  rotateKey,
} from "../../../runtime/ramp/operator/projects.js";
import { startProcess } from "../support/processes.js";
import {
  eventually,
  expectRefused,
  made,
  newCustomer,
  ownWorld,
  type Reply,
  type TestProject,
} from "../support/world.js";

const world = await ownWorld();
const project = await world.project({ ttl: 600 });
const { said: issuer, kill } = await startProcess("./oidc-process.ts");
afterAll(() => kill());
await world.identityProvider(project, issuer, "app");

const now = (): number => Math.floor(Date.now() / 1000);

/** A token that is accepted now, and expires while the other tests run. */
const brief = await briefToken();
const askWithBrief = async () => (await world.call("GET", "/v1/intent", { auth: brief })).status;
const accepted = [await askWithBrief(), await askWithBrief()];

async function briefToken(): Promise<string> {
  await newCustomer(world, project, "brief");
  const sign = await new CustomerTokens(new SigningKeys(world.database, world.vault), world.url).signer();
  const customer = { projectId: projectId(project.id), customerId: customerIdOf(project.id, "brief") };
  return `Bearer ${sign({ ...customer, generation: 0 }, now() + 20)}`;
}

async function idToken(claims: Readonly<Record<string, unknown>> = {}, typ?: string): Promise<string> {
  const full = { iss: issuer, aud: "app", sub: "user-1", iat: now(), exp: now() + 300, ...claims };
  const query = typ === undefined ? "" : `?${new URLSearchParams({ typ }).toString()}`;
  return (await fetch(`${issuer}/token${query}`, { method: "POST", body: JSON.stringify(full) })).text();
}

let serial = 0;
const exchange = (token: string, id = `oidc-${String(++serial)}`, within: TestProject = project) =>
  world.call("POST", "/v1/customers", { auth: within.basic, body: { id, subject_token: token } });

describe("a customer's token", () => {
  it("is a JWT with subject, project, issuer, audience, expiry, id and key id, good for an hour", async () => {
    const before = now();
    const auth = await newCustomer(world, project, "plain");
    const decoded = jwt.decode(auth.slice(7), { complete: true });
    expect(decoded?.header).toMatchObject({ alg: "ES256", kid: expect.any(String) });
    const claims = decoded?.payload as jwt.JwtPayload;
    expect(claims).toMatchObject({
      sub: customerIdOf(project.id, "plain"),
      pid: project.id,
      iss: world.url,
      aud: "routewright-ramp",
      jti: expect.any(String),
    });
    expect(claims.exp).toBeGreaterThanOrEqual(before + 3_600);
    expect(claims.exp).toBeLessThanOrEqual(now() + 3_600);
  });

  it("is refused when it is forged, unsigned, for others, expired or cut", async () => {
    const auth = await newCustomer(world, project);
    const token = auth.slice(7);
    const payload = jwt.decode(token) as jwt.JwtPayload;
    const kid = jwt.decode(token, { complete: true })?.header.kid ?? "";
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const [head = "", , signature = ""] = token.split(".");
    const other = Buffer.from(JSON.stringify({ ...payload, sub: "another" })).toString("base64url");
    const forged = [
      jwt.sign(payload, privateKey, { algorithm: "ES256", keyid: kid }),
      jwt.sign(payload, publicKey.export({ type: "spki", format: "pem" }), {
        algorithm: "HS256",
        keyid: kid,
        allowInvalidAsymmetricKeyTypes: true,
      }),
      jwt.sign(payload, "", { algorithm: "none", keyid: kid }),
      jwt.sign(payload, privateKey, { algorithm: "ES256", keyid: "unknown" }),
      `${head}.${other}.${signature}`,
      token.slice(0, -3),
      "",
      "x",
    ];
    for (const bad of forged) {
      const reply = await world.call("GET", "/v1/intent", { auth: `Bearer ${bad}` });
      expect([reply.status, reply.json.error]).toEqual([401, "INVALID_TOKEN"]);
    }
  });
});

describe("a subject token", () => {
  it.each([
    ["logout+jwt", {}],
    ["secevent+jwt", {}],
    ["at+jwt", {}],
    ["application/at+jwt", {}],
    ["dpop+jwt", {}],
    ["token-introspection+jwt", {}],
    ["oauth-authz-req+jwt", {}],
    ["client-authentication+jwt", {}],
    ["oauth-client-attestation+jwt", {}],
    ["entity-statement+jwt", {}],
    ["kb+jwt", {}],
    ["dc+sd-jwt", {}],
    ["jose", {}],
    ["", {}],
    ["JWT", { token_use: "access" }],
    ["JWT", { typ: "Refresh" }],
    ["JWT", { typ: "Offline" }],
    ["JWT", { typ: "Bearer" }],
    ["JWT", { typ: "Logout" }],
    ["JWT", { token_type: "access" }],
    ["JWT", { token_type: "Bearer" }],
    ["JWT", { tokenName: "access_token" }],
    ["JWT", { type: "refresh" }],
    ["JWT", { token_use: ["id", "access"] }],
    ["JWT", { events: { "http://schemas.openid.net/event/backchannel-logout": {} } }],
    ["JWT", { scope: "openid profile" }],
    ["JWT", { scp: ["read"] }],
    ["JWT", { idtyp: "app" }],
    ["JWT", { gty: "client-credentials" }],
    ["JWT", { token_introspection: { active: true } }],
    ["JWT", { htm: "POST", htu: "https://app.example" }],
  ])("that is another token of the issuer is refused: %s %j", async (typ, claims) => {
    const reply = await exchange(await idToken({ sub: `other-${String(serial)}`, ...claims }, typ));
    expect([reply.status, reply.json.error]).toEqual([400, "INVALID_SUBJECT_TOKEN"]);
  });

  it.each([
    ["JWT", {}],
    ["jwt", { nonce: "n", at_hash: "h", auth_time: 1, azp: "app", sid: "s", acr: "1", amr: ["pwd"] }],
    ["application/jwt", { token_use: "id" }],
    ["id_token+jwt", {}],
    [undefined, { typ: "ID", session_state: "s", email_verified: true, type: "customer" }],
    [undefined, { tokenName: "id_token", tokenType: "JWTToken" }],
  ])("that is an ID token as providers make it is accepted: %s %j", async (typ, claims) => {
    const reply = await exchange(await idToken({ sub: `id-${String(serial)}`, ...claims }, typ));
    expect(reply.status, reply.text).toBe(201);
  });

  it("of a registered provider binds the customer; the access token lives as long as it, and the project's time to live", async () => {
    const expiresAt = now() + 300;
    const reply = await exchange(await idToken({ sub: "alice", exp: expiresAt, azp: "app" }));
    expect(reply.status, reply.text).toBe(201);
    expect((jwt.decode(reply.json.accessToken) as jwt.JwtPayload).exp).toBe(expiresAt + 600);
  });

  it("for another audience, of no registered issuer, or of another project's, is rejected with 401", async () => {
    const other = await world.project();
    const replies = [
      await exchange(await idToken({ aud: "other-app" })),
      await exchange(await idToken({ iss: "https://other.example.com" })),
      await exchange(await idToken(), "x", other),
      await exchange(await idToken({ azp: "other-app" })),
    ];
    expectRefused(replies, 401, "SUBJECT_TOKEN_REJECTED");
  });

  it("that is expired, not yet valid, badly signed, unsigned, symmetric or no token at all is refused with 400", async () => {
    const good = await idToken();
    const claims = jwt.decode(good) as jwt.JwtPayload;
    const tokens = [
      await idToken({ exp: now() - 1 }),
      await idToken({ nbf: now() + 100 }),
      await idToken({ iat: now() + 100 }),
      await idToken({ sub: undefined }),
      await idToken({ exp: undefined }),
      `${good.slice(0, -6)}AAAAAA`,
      jwt.sign(claims, "", { algorithm: "none" }),
      jwt.sign(claims, "secret", { algorithm: "HS256" }),
      "not-a-token",
      "a.b.c",
    ];
    for (const token of tokens) {
      const reply = await exchange(token);
      expect([reply.status, reply.json.error], token).toEqual([400, "INVALID_SUBJECT_TOKEN"]);
    }
  });

  it("is given the clock skew that the project allows, with an access token that can be used, and no more", async () => {
    const lenient = await world.project();
    await world.identityProvider(lenient, issuer, "app", 600);
    const before = now();
    const { json, status } = await exchange(
      await idToken({ sub: "late", exp: now() - 500 }),
      "late",
      lenient,
    );
    expect(status).toBe(201);
    const reply = await world.call("GET", "/v1/intent", { auth: `Bearer ${String(json.accessToken)}` });
    expect(reply.status).toBe(200);
    const { exp = 0 } = jwt.decode(String(json.accessToken)) as jwt.JwtPayload;
    expect(exp - before).toBeGreaterThan(50);
    const later = await exchange(await idToken({ sub: "later", exp: now() - 660 }), "later", lenient);
    expect(later.status).toBe(400);
  });

  it("gives no access token that lives longer than the project allows: a day by default", async () => {
    const expOf = ({ json }: Reply): number =>
      (jwt.decode(String(json.accessToken)) as jwt.JwtPayload).exp ?? 0;
    const daily = await world.project({ ttl: 1_000_000 });
    const brief = await world.project({ maxTokenSeconds: 120 });
    for (const one of [daily, brief]) await world.identityProvider(one, issuer, "app");
    const token = await idToken({ sub: "capped", exp: now() + 1_000_000 });
    const before = now();
    const [long, short, plain] = [
      expOf(await exchange(token, "capped", daily)),
      expOf(await exchange(token, "capped", brief)),
      expOf(await world.call("POST", "/v1/customers", { auth: brief.basic, body: { id: "plain" } })),
    ];
    for (const [expiry, seconds] of [
      [long, 86_400],
      [short, 120],
      [plain, 120],
    ] as const) {
      expect(expiry).toBeGreaterThanOrEqual(before + seconds);
      expect(expiry).toBeLessThanOrEqual(now() + seconds);
    }
  });

  it("is refused once its identity provider is removed", async () => {
    const own = await world.project();
    await world.identityProvider(own, issuer, "app");
    expect((await exchange(await idToken(), "before", own)).status).toBe(201);
    made(await removeIdentityProvider(world.database, own.id, issuer));
    expect((await exchange(await idToken(), "after", own)).json.error).toBe("SUBJECT_TOKEN_REJECTED");
    expect(await removeIdentityProvider(world.database, own.id, issuer)).toMatchObject({ ok: false });
  });

  it("belongs to one customer, and the customer to one user", async () => {
    const first = await exchange(await idToken({ sub: "bob" }), "bob");
    expect(first.status).toBe(201);
    expect((await exchange(await idToken({ sub: "bob" }), "bob")).status).toBe(201);
    const replies = [
      await exchange(await idToken({ sub: "bob" }), "not-bob"),
      await exchange(await idToken({ sub: "carol" }), "bob"),
    ];
    expectRefused(replies, 409, "IDENTITY_CONFLICT");
    const list = await world.call("GET", "/v1/customers", { auth: project.basic });
    expect(list.json.map(({ id }: { id: string }) => id)).not.toContain("not-bob");
  });

  it("signed with a new key has the key set fetched again, but not for every unknown key", async () => {
    const { said: own, kill: end } = await startProcess("./oidc-process.ts", { OIDC_ALG: "ES256" });
    const fresh = await world.project();
    await world.identityProvider(fresh, own, "app");
    const token = async (sub: string): Promise<string> => {
      const claims = { iss: own, aud: "app", sub, iat: now(), exp: now() + 300 };
      return (await fetch(`${own}/token`, { method: "POST", body: JSON.stringify(claims) })).text();
    };
    expect((await exchange(await token("a"), "a", fresh)).status).toBe(201);
    await fetch(`${own}/rotate`, { method: "POST" });
    // Within a minute of the last fetch a new key stays unknown: that is the price of not being made to fetch at will.
    for (let i = 0; i < 5; i++)
      expect((await exchange(await token(`b${String(i)}`), "b", fresh)).status).toBe(400);
    expect(await (await fetch(`${own}/requests`)).text()).toBe("1");
    await end();
  });

  it("is never repeated in the answer, and a refused one stores no customer", async () => {
    const token = await idToken({ aud: "nobody" });
    const reply = await exchange(token, "never-stored");
    expect(reply.text).not.toContain(token);
    const list = await world.call("GET", "/v1/customers?limit=100", { auth: project.basic });
    expect(list.text).not.toContain("never-stored");
  });
});

// Each waits for what the server has read before.
describe.concurrent("a running server follows time and commands", () => {
  it("a customer's token that was accepted is refused once it has expired", async () => {
    expect(accepted).toEqual([200, 200]);
    await eventually(askWithBrief, (status) => status === 401);
    expect(jwt.decode(brief.slice(7))).toMatchObject({
      exp: expect.toSatisfy((exp: number) => exp <= now()),
    });
  });

  it("a rotation of the signing key: older tokens stay good, new ones are signed with the new key", async () => {
    const before = await newCustomer(world, project);
    const { kid } = await rotateKey(world.database, world.vault);
    const after = await eventually(
      () => newCustomer(world, project),
      (auth) => jwt.decode(auth.slice(7), { complete: true })?.header.kid === kid,
    );
    for (const auth of [before, after])
      expect((await world.call("GET", "/v1/intent", { auth })).status).toBe(200);
  });

  it("a revocation ends all tokens that the customer has, spares others' and those issued later, whatever the clocks say", async () => {
    const read = async (auth: string): Promise<number> =>
      (await world.call("GET", "/v1/intent", { auth })).status;
    const id = "to-revoke";
    const [first, second] = [await newCustomer(world, project, id), await newCustomer(world, project, id)];
    const other = await newCustomer(world, project);
    const elsewhere = await newCustomer(world, await world.project(), id);
    for (const auth of [first, second, other, elsewhere]) expect(await read(auth)).toBe(200);
    expect(await revokeCustomerTokens(world.database, project.id, "nobody")).toMatchObject({ ok: false });
    made(await revokeCustomerTokens(world.database, project.id, id));
    await world.rows("UPDATE ramp.token_revocations SET revoked_at = now() + interval '1 day'");
    const fresh = await newCustomer(world, project, id);
    for (const auth of [first, second]) expect(await read(auth)).toBe(401);
    for (const auth of [fresh, other, elsewhere]) expect(await read(auth)).toBe(200);
  });

  it("a rotation of the client secret: two are good at once, a third is not made, a revoked one is refused", async () => {
    const own = await world.project();
    const { secretId, clientSecret } = made(await addSecret(world.database, own.id));
    expect(await addSecret(world.database, own.id)).toMatchObject({ ok: false });
    const second = `Basic ${Buffer.from(`${own.clientId}:${clientSecret}`).toString("base64")}`;
    const list = async (auth: string): Promise<number> =>
      (await world.call("GET", "/v1/customers", { auth })).status;
    expect([await list(second), await list(own.basic)]).toEqual([200, 200]);
    const [first] = await listRecords(world.database, "secrets", own.id);
    made(await revokeSecret(world.database, own.id, String(first?.["secretId"])));
    expect([await list(second), await list(own.basic)]).toEqual([200, 401]);
    expect(secretId).not.toBe(first?.secretId);
  });
});

it("a revoked signing key ends its tokens, and another key signs from then on", async () => {
  const keyOf = (auth: string): string => jwt.decode(auth.slice(7), { complete: true })?.header.kid ?? "";
  const before = await newCustomer(world, project);
  made(await revokeKey(world.database, world.vault, keyOf(before)));
  await eventually(
    () => world.call("GET", "/v1/intent", { auth: before }),
    ({ status }) => status === 401,
  );
  const after = await newCustomer(world, project);
  expect(keyOf(after)).not.toBe(keyOf(before));
  expect((await world.call("GET", "/v1/intent", { auth: after })).status).toBe(200);
  expect(await revokeKey(world.database, world.vault, keyOf(before))).toMatchObject({ ok: false });
});

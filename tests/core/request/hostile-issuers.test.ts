/** Issuers whose addresses answer with anything but their documents. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { exportJWK, SignJWT } from "jose";
import { expect, it } from "vitest";
import { letPass, setClockBack } from "../../support/clock.js";
import { sendRequest } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";
import { listen } from "../../support/port.js";

type Answer = (response: ServerResponse) => void;
type Address = "discovery" | "keys" | "other keys";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const JWK = { ...(await exportJWK(publicKey)), kid: "good", alg: "ES256", use: "sig" };
const json =
  (value: unknown): Answer =>
  (response) =>
    response.end(JSON.stringify(value));

/** An issuer with one key, whose addresses answer as a test says. */
async function ownIssuer(answers: Partial<Record<Address, Answer | undefined>> = {}) {
  const asked: Record<Address, number> = { discovery: 0, keys: 0, "other keys": 0 };
  const server = createServer((request, response) => {
    const address = PATHS[request.url ?? ""];
    if (address === undefined) return response.writeHead(404).end();
    asked[address]++;
    return (answers[address] ?? documents[address])(response);
  });
  const issuer = `http://${await listen(server)}`;
  const documents: Record<Address, Answer> = {
    discovery: json({ issuer, jwks_uri: `${issuer}/keys` }),
    keys: json({ keys: [JWK] }),
    "other keys": json({ keys: [JWK] }),
  };
  const token = (kid = "good", key: KeyObject = privateKey): Promise<string> =>
    new SignJWT({ tier: "tier2" })
      .setProtectedHeader({ alg: "ES256", kid })
      .setIssuer(issuer)
      .setAudience("orders")
      .setSubject("ann")
      .setExpirationTime("1d")
      .sign(key);
  const { url } = await serveOrders({
    API_JWT_ISSUER: issuer,
    API_JWT_AUDIENCE: "orders",
    RATE_LIMITS: "100000000",
  });
  const status = async (bearer: string): Promise<number> => {
    const headers = { authorization: `Bearer ${bearer}` };
    return (await sendRequest(url, "/v1/shop/tier2", { headers })).status;
  };
  return { issuer, asked, answers, token, status };
}

const PATHS: Readonly<Record<string, Address>> = {
  "/.well-known/openid-configuration": "discovery",
  "/keys": "keys",
  "/other-keys": "other keys",
};

/** Sent until the other side leaves. */
const endless: Answer = (response) => {
  const chunk = Buffer.alloc(64 * 1024, " ");
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", more);
  more();
};

const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
const BROKEN: Readonly<Record<string, Answer>> = {
  "an error page with 200": (response) => response.end("<!doctype html><title>Maintenance</title>"),
  "an error": (response) => response.writeHead(500).end("{}"),
  "a redirect": (response) => response.writeHead(302, { location: "/other-keys" }).end(),
  nothing: (response) => response.end(),
  null: json(null),
  "a text": json("keys"),
  "a list": json([JWK]),
  "an object without what it should have": json({}),
  "other types": json({ issuer: ["x"], jwks_uri: 5, keys: { 0: JWK } }),
  "a reset": (response) => response.destroy(),
  "a part of itself": (response) => {
    response.writeHead(200, { "content-length": "1000" }).write('{"keys":[');
    setTimeout(() => response.destroy(), 20);
  },
  "bytes without end": endless,
  "bytes that are not UTF-8": (response) => response.end(Buffer.from([0x22, 0xff, 0x22])),
  "100,000 lists in each other": (response) => response.end(`{"note":${DEEP}}`),
  "large headers": (response) => response.writeHead(200, { "x-large": "x".repeat(100_000) }).end("{}"),
};

const ADDRESSES = ["discovery", "keys"] as const;

it("an issuer that answers with anything else gets few requests, and its tokens 503 until it is well", async () => {
  await Promise.all(
    ADDRESSES.map(async (address) => {
      const { asked, answers, token, status } = await ownIssuer();
      const bearer = await token();
      for (const [name, answer] of Object.entries(BROKEN)) {
        answers[address] = answer;
        // What failed is tried again after a second.
        await sleep(1_010);
        const [before, begun] = [asked[address], performance.now()];
        const found = [];
        for (let n = 0; n < 5; n++) found.push(await status(bearer));
        found.push(...(await Promise.all(Array.from({ length: 5 }, () => status(bearer)))));
        const few = asked[address] - before <= 1 + Math.floor((performance.now() - begun) / 1000);
        expect([address, name, [...new Set(found)]]).toEqual([address, name, [503]]);
        expect([address, name, asked[address] > before, few]).toEqual([address, name, true, true]);
      }
      answers[address] = undefined;
      await expect.poll(() => status(bearer), { timeout: 90_000 }).toBe(200);
    }),
  );
});

it("keys that say more than the library takes verify what they have signed, others nothing", async () => {
  const pairs = Array.from({ length: 12 }, () => generateKeyPairSync("ec", { namedCurve: "P-256" }));
  const more: readonly object[] = [
    { ext: false },
    { ext: "yes" },
    { key_ops: ["verify", "encrypt"] },
    { key_ops: ["verify", "verify"] },
    { alg: undefined, use: undefined },
    { x: 5 },
    { note: "deep" },
    { kid: ["k7"] },
    { alg: ["ES256"] },
    { use: "enc" },
    { key_ops: ["sign"] },
    { key_ops: "verify" },
  ];
  const keys = pairs.map(({ publicKey: own }, at) => ({
    ...own.export({ format: "jwk" }),
    kid: `k${String(at)}`,
    alg: "ES256",
    use: "sig",
    ...more[at],
  }));
  const text = JSON.stringify({ keys }).replace('"deep"', DEEP);
  const { token, status } = await ownIssuer({ keys: (response) => response.end(text) });
  const found = [];
  for (const [at, { privateKey: own }] of pairs.entries())
    found.push(await status(await token(`k${String(at)}`, own)));
  expect(found).toEqual([200, 200, 200, 200, 200, 401, 200, 401, 401, 401, 401, 401]);
});

it("tokens with unknown keys have the set read once a minute, and once a second where it cannot be read", async () => {
  const { asked, answers, token, status } = await ownIssuer();
  const good = await token();
  expect(await status(good)).toBe(200);
  const flood = async (): Promise<ReadonlySet<number>> => {
    const guesses = await Promise.all(Array.from({ length: 20 }, (_, n) => token(`guess-${String(n)}`)));
    const found = await Promise.all(guesses.map(status));
    for (const each of guesses) found.push(await status(each));
    return new Set(found);
  };
  expect(await flood()).toEqual(new Set([401]));
  expect(asked.keys).toBe(1);

  letPass(61_000);
  answers.keys = BROKEN["an error"];
  const started = performance.now();
  expect(await flood()).toEqual(new Set([503]));
  expect(asked.keys).toBeLessThanOrEqual(2 + Math.floor((performance.now() - started) / 1000));
  expect(await status(good)).toBe(200);
});

it("known keys stay valid where the issuer names another address that has none", async () => {
  const { issuer, answers, asked, token, status } = await ownIssuer();
  const good = await token();
  expect(await status(good)).toBe(200);
  answers.discovery = json({ issuer, jwks_uri: `${issuer}/other-keys` });
  answers["other keys"] = BROKEN["an error page with 200"];
  letPass(3_600_000);
  expect(await status(good)).toBe(200);
  await expect.poll(() => asked["other keys"]).toBeGreaterThan(0);
  for (let n = 0; n < 5; n++) expect(await status(good)).toBe(200);
});

it("a key that its issuer has withdrawn is refused after ten minutes, and a new one taken, though the clock is set back", async () => {
  const { answers, token, status } = await ownIssuer();
  const old = await token();
  expect(await status(old)).toBe(200);
  const next = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const fresh = await token("next", next.privateKey);
  answers.keys = json({ keys: [{ ...JWK, ...(await exportJWK(next.publicKey)), kid: "next" }] });
  setClockBack(3_600_000);
  expect([await status(old), await status(fresh)]).toEqual([200, 401]);
  letPass(61_000);
  expect(await status(fresh)).toBe(200);
  answers.keys = json({ keys: [JWK] });
  letPass(601_000);
  await expect.poll(() => status(fresh)).toBe(401);
});

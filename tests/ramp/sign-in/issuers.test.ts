/** Issuers whose keys, tokens and documents are not as the specifications have them. */
import jwt from "jsonwebtoken";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { listen } from "../../support/port.js";
import { ownWorld } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();

const pair = (modulusLength = 2048) => generateKeyPairSync("rsa", { modulusLength });
const jwkOf = ({ publicKey }: { readonly publicKey: KeyObject }, kid: string) => ({
  ...publicKey.export({ format: "jwk" }),
  kid,
  alg: "RS256",
  use: "sig",
});

/** A registered issuer with a key set; `keysAt` is its address. */
async function issuerWith(keys: readonly unknown[], keysAt = (own: string) => `${own}/keys`) {
  const server = createServer((request, response) => {
    const own = `http://${request.headers.host ?? ""}`;
    const document = { issuer: own, jwks_uri: keysAt(own) };
    response.end(JSON.stringify(request.url === "/keys" ? { keys } : document));
  });
  const issuer = `http://${await listen(server)}`;
  await world.identityProvider(project, issuer, "app");
  return issuer;
}

const now = (): number => Math.floor(Date.now() / 1000);
const claimsOf = (iss: string) => ({ iss, aud: "app", sub: "u", iat: now(), exp: now() + 300 });

/** A token as its issuer wrote it, whatever its parts are. */
function signed(header: object, claims: object, key: KeyObject): string {
  const parts = [{ alg: "RS256", kid: "good", ...header }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  return [...parts, sign("sha256", Buffer.from(parts.join(".")), key).toString("base64url")].join(".");
}

let serial = 0;
const exchange = (token: string) =>
  world.call("POST", "/v1/customers", {
    auth: project.basic,
    body: { id: `c-${String(++serial)}`, subject_token: token },
  });
const REFUSED = [400, "INVALID_SUBJECT_TOKEN"];

it("keys that cannot be used are skipped; a token signed by such a key is refused", async () => {
  const [weak, good] = [pair(1024), pair()];
  const withoutExponent = { ...jwkOf(good, "no-e"), e: undefined };
  const unusable = [
    { kty: "RSA", kid: "x5c", x5c: ["MIIB"] },
    { kty: "EC", crv: "P-256", kid: "point", x: "AA", y: "AA", alg: "ES256" },
    { kty: "oct", kid: "oct", k: "c2VjcmV0", alg: "HS256" },
    { kty: "new", kid: "new" },
    { kid: "nothing" },
    withoutExponent,
    jwkOf(weak, "weak"),
  ];
  const issuer = await issuerWith([null, "text", ...unusable, jwkOf(good, "good")]);
  const signedAs = ({ privateKey }: typeof good, keyid: string) =>
    jwt.sign(claimsOf(issuer), privateKey, { algorithm: "RS256", keyid, allowInsecureKeySizes: true });
  for (const kid of ["weak", ...unusable.map((key) => key.kid)]) {
    const reply = await exchange(signedAs(kid === "weak" ? weak : good, kid));
    expect([kid, reply.status, reply.json.error]).toEqual([kid, ...REFUSED]);
  }
  const accepted = await exchange(signedAs(good, "good"));
  expect(accepted.status, accepted.text).toBe(201);
});

it.each([
  ["a type that is no text", { typ: 5 }, {}],
  ["no type but null", { typ: null }, {}],
  ["a list as its subject", {}, { sub: ["a"] }],
  ["a subject with a lone surrogate", {}, { sub: "\ud800" }],
  ["an audience with U+0000", {}, { aud: ["app", "a\0"] }],
])("a token with %s is refused", async (_name, header, claims) => {
  const good = pair();
  const issuer = await issuerWith([jwkOf(good, "good")]);
  const reply = await exchange(signed(header, { ...claimsOf(issuer), ...claims }, good.privateKey));
  expect([reply.status, reply.json.error]).toEqual(REFUSED);
});

it("a token is refused whose issuer has its keys at an address that cannot be read", async () => {
  const issuer = await issuerWith([], (own) => `${own.replace("//", "//%zz@")}/keys`);
  const reply = await exchange(signed({}, claimsOf(issuer), pair().privateKey));
  expect([reply.status, reply.json.error]).toEqual(REFUSED);
});

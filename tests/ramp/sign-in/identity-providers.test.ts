/** How the operator registers an identity provider: its keys are read first, and need not be at its own address. */
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import {
  addIdentityProvider,
  type NewIdentityProvider,
  registerIdentityProvider,
} from "../../../runtime/ramp/operator/identity-providers.js";
import { atEnd } from "../../support/at-end.js";
import { listen } from "../../support/port.js";
import { startProcess } from "../support/processes.js";
import { expectRefused, made, ownWorld, type Reply, type TestProject } from "../support/world.js";

const world = await ownWorld();
const { said: oidc, kill } = await startProcess("./oidc-process.ts");
atEnd(() => kill());

const given = (more: Partial<NewIdentityProvider>): NewIdentityProvider => ({
  issuer: oidc,
  audiences: ["app"],
  clockSkewSeconds: 0,
  jwksUrl: null,
  allowHttp: false,
  ...more,
});

/** A server with one key, as its discovery document and its key set say. */
async function keyServer({ issuer, keys }: { issuer?: string; keys?: readonly unknown[] } = {}) {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" };
  const server = createServer((request, response) => {
    const own = `http://${request.headers.host ?? ""}`;
    const isKeys = request.url === "/keys";
    const document = { issuer: issuer ?? own, jwks_uri: `${own}/keys` };
    response.end(JSON.stringify(isKeys ? { keys: keys ?? [jwk] } : document));
  });
  const url = `http://${await listen(server)}`;
  const sign = (iss: string): Promise<string> =>
    new SignJWT({ sub: "erika" })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setIssuer(iss)
      .setAudience("app")
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);
  return { url, sign };
}

const exchange = (project: TestProject, token: string): Promise<Reply> =>
  world.call("POST", "/v1/customers", {
    auth: project.basic,
    body: { id: crypto.randomUUID(), subject_token: token },
  });

describe("an identity provider is added", () => {
  it("by its issuer alone, where its discovery document is there", async () => {
    const project = await world.project();
    made(await addIdentityProvider(world.database, project.id, given({})));
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: oidc, aud: "app", sub: "erika", iat: now, exp: now + 300 };
    const answer = await fetch(`${oidc}/token`, { method: "POST", body: JSON.stringify(claims) });
    const reply = await exchange(project, await answer.text());
    expect(reply.status, reply.text).toBe(201);
  });

  it.each(["urn:login:shop", "login.shop.example", "https://login.shop.invalid/realms/shop"])(
    "as %s with the address of its keys",
    async (issuer) => {
      const project = await world.project();
      const { url, sign } = await keyServer();
      made(await addIdentityProvider(world.database, project.id, given({ issuer, jwksUrl: `${url}/keys` })));
      const reply = await exchange(project, await sign(issuer));
      expect(reply.status, reply.text).toBe(201);
      const forged = await (await keyServer()).sign(issuer);
      expectRefused([await exchange(project, forged)], 400, "INVALID_SUBJECT_TOKEN");
    },
  );

  it("with keys of its own project only, where another project names the same issuer", async () => {
    const issuer = "urn:login:shop";
    const [mine, theirs] = [await keyServer(), await keyServer()];
    const [project, other] = [await world.project(), await world.project()];
    for (const [{ id }, { url }] of [
      [project, mine],
      [other, theirs],
    ] as const)
      made(await addIdentityProvider(world.database, id, given({ issuer, jwksUrl: `${url}/keys` })));
    expect((await exchange(project, await mine.sign(issuer))).status).toBe(201);
    expect((await exchange(other, await theirs.sign(issuer))).status).toBe(201);
    const crossed = [
      await exchange(project, await theirs.sign(issuer)),
      await exchange(other, await mine.sign(issuer)),
    ];
    expectRefused(crossed, 400, "INVALID_SUBJECT_TOKEN");
  });
});

describe("an identity provider is refused", () => {
  const refused = async (more: Partial<NewIdentityProvider>): Promise<string> => {
    const project = await world.project();
    const outcome = await addIdentityProvider(world.database, project.id, given(more));
    expect(outcome.ok).toBe(false);
    const rows = await world.rows("SELECT FROM ramp.identity_providers WHERE project_id = $1", [project.id]);
    expect(rows).toEqual([]);
    return outcome.ok ? "" : outcome.problems.join(" ");
  };

  it("that cannot be reached", async () => {
    expect(await refused({ issuer: "http://127.0.0.1:9" })).toBe(
      "http://127.0.0.1:9/.well-known/openid-configuration cannot be read.",
    );
    expect(await refused({ jwksUrl: "http://127.0.0.1:9/keys" })).toBe(
      "The keys at http://127.0.0.1:9/keys cannot be read.",
    );
  });

  it("whose document is of another issuer, by a slash at the end too", async () => {
    const { url } = await keyServer({ issuer: "https://login.example" });
    expect(await refused({ issuer: url })).toContain("is of the issuer https://login.example, not");
    expect(await refused({ issuer: `${oidc}/` })).toContain(`is of the issuer ${oidc}, not`);
  });

  it("without a key that can verify", async () => {
    const { url } = await keyServer({ keys: [{ kty: "oct", kid: "x", k: "c2VjcmV0" }] });
    expect(await refused({ issuer: url })).toBe(`There is no key at ${url}/keys that can verify tokens.`);
  });

  it.each([
    [{ issuer: "urn:login:shop" }, "say with --jwks-url where its keys are"],
    [{ issuer: "http://keycloak:8080/realms/shop" }, "--allow-http"],
    [{ jwksUrl: "http://keycloak:8080/keys" }, "--allow-http"],
    [{ jwksUrl: "keys" }, "is not an https:// address"],
    [{ audiences: [] }, "Name at least one audience."],
  ])("with %j", async (more, problem) => {
    expect(await refused(more)).toContain(problem);
  });

  it("unless http is allowed, or its keys are not read yet", async () => {
    const project = await world.project();
    const issuer = "http://keycloak.invalid:8080/realms/shop";
    const cluster = given({ issuer, allowHttp: true });
    expect(await addIdentityProvider(world.database, project.id, cluster)).toMatchObject({
      problems: [`${issuer}/.well-known/openid-configuration cannot be read.`],
    });
    made(await registerIdentityProvider(world.database, project.id, cluster));
    const token = await (await keyServer()).sign(issuer);
    expectRefused([await exchange(project, token)], 400, "INVALID_SUBJECT_TOKEN");
  });
});

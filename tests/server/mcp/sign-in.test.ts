import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { decodeJwt } from "jose";
import { describe, expect, it } from "vitest";
import { freePort } from "../../support/port.js";
import { ownSchema } from "../../support/database.js";
import { sendRequest, statusAndBody } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { atEnd } from "../../support/at-end.js";
import { startAuthorizationServer } from "./authorization-server.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1::bigint AS n");
const manifest = manifestOf(
  ["tier0", "tier1", "tier2"].map((tier) => ({
    name: `sales_${tier}`,
    alias: "sales",
    schema,
    tags: ["production", "shop", tier, `api:sales_${tier}`],
    columns: { n: "bigint" },
  })),
);
const issuer = await startAuthorizationServer();
const port = String(await freePort());
const PUBLIC_URL = `http://127.0.0.1:${port}`;
const url = await serveManifest(manifest, {
  PORT: port,
  PUBLIC_URL,
  API_JWT_ISSUER: issuer,
  API_JWT_AUDIENCE: "https://data.example.com",
});

const CALLBACK = "http://127.0.0.1:9/callback";
const BODY = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const ACCEPT = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** What an assistant keeps of a sign-in. */
function assistant(): OAuthClientProvider & { readonly visited: () => URL } {
  let client: Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
  let tokens: Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
  let verifier = "";
  let page: URL | undefined;
  return {
    redirectUrl: CALLBACK,
    clientMetadata: {
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code"],
    },
    clientInformation: () => client,
    saveClientInformation: (saved) => void (client = saved),
    tokens: () => tokens,
    saveTokens: (saved) => void (tokens = saved),
    redirectToAuthorization: (address) => void (page = address),
    saveCodeVerifier: (text) => void (verifier = text),
    codeVerifier: () => verifier,
    visited: () => page ?? new URL("http://nowhere.example"),
  };
}

/** Follows the pages of the authorization server as a browser does; the code that the last one sends back. */
async function codeOf(address: URL): Promise<string> {
  const cookies = new Map<string, string>();
  let next = address.href;
  for (let steps = 0; steps < 10 && !next.startsWith(CALLBACK); steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(next, { headers: { cookie }, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    next = new URL(response.headers.get("location") ?? CALLBACK, next).href;
  }
  return new URL(next).searchParams.get("code") ?? "";
}

describe("an assistant without a key", () => {
  it("signs its user in with the official SDK, and reads what the user's scopes open", async () => {
    const authProvider = assistant();
    const connect = (): [Client, StreamableHTTPClientTransport] => [
      new Client({ name: "test", version: "1" }),
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider }),
    ];
    const [first, transport] = connect();
    await expect(first.connect(transport)).rejects.toThrow(UnauthorizedError);
    await transport.finishAuth(await codeOf(authProvider.visited()));

    const { access_token: token = "" } = (await authProvider.tokens()) ?? {};
    expect(decodeJwt(token)).toMatchObject({ aud: `${PUBLIC_URL}/mcp`, scope: "tier0 tier1" });
    const [client, again] = connect();
    await client.connect(again);
    atEnd(() => client.close());
    const read = async (path: string): Promise<unknown> =>
      ((await client.callTool({ name: "query_endpoint", arguments: { path } })) as CallToolResult).content[0];
    expect(await read("/v1/shop/sales_tier1")).toMatchObject({
      text: expect.stringContaining('"rows":[{"n":1}]') as string,
    });
    // A higher scope would open it: the client asks its user again, for the scopes of both.
    await expect(read("/v1/shop/sales_tier2")).rejects.toThrow();
    expect(authProvider.visited().searchParams.get("scope")?.split(" ")).toContain("tier2");

    // The token is for /mcp: elsewhere it is another resource's.
    const elsewhere = await sendRequest(url, "/v1/shop/sales_tier0", {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(statusAndBody(elsewhere)).toEqual([
      401,
      { detail: "Invalid token: its claim aud is missing or not accepted." },
    ]);
  });

  it("gets the address of the metadata in a 401", async () => {
    const reply = await sendRequest(url, "/mcp", { method: "POST", body: BODY, headers: ACCEPT });
    expect(reply.status).toBe(401);
    expect(reply.headers["www-authenticate"]).toBe(
      `Bearer resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp", scope="tier0 tier1 tier2 tier3"`,
    );
    for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
      expect(statusAndBody(await sendRequest(url, path))).toEqual([
        200,
        {
          resource: `${PUBLIC_URL}/mcp`,
          authorization_servers: [issuer],
          scopes_supported: ["tier0", "tier1", "tier2", "tier3"],
          bearer_methods_supported: ["header"],
          resource_name: "Routewright Data API",
        },
      ]);
  });

  it("gets the same address when its token is not accepted", async () => {
    const headers = { ...ACCEPT, authorization: "Bearer a.b.c" };
    const reply = await sendRequest(url, "/mcp", { method: "POST", body: BODY, headers });
    expect([reply.status, reply.headers["www-authenticate"]]).toEqual([
      401,
      `Bearer error="invalid_token", resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp", scope="tier0 tier1 tier2 tier3"`,
    ]);
  });

  it("reads public rows where MCP_ANONYMOUS is set, and everywhere without an issuer", async () => {
    const variables = { API_JWT_ISSUER: issuer, API_JWT_AUDIENCE: "x", MCP_ANONYMOUS: "true" };
    for (const each of [variables, {}]) {
      const open = await serveManifest(manifest, each);
      const reply = await sendRequest(open, "/mcp", { method: "POST", body: BODY, headers: ACCEPT });
      expect(reply.status).toBe(200);
    }
    const without = await serveManifest(manifest);
    expect((await sendRequest(without, "/.well-known/oauth-protected-resource")).status).toBe(404);
  });
});

it("a key keeps opening /mcp, and other paths need neither key nor token", async () => {
  const reply = await sendRequest(url, "/mcp", {
    method: "POST",
    body: BODY,
    headers: ACCEPT,
    key: KEYS.tier1,
  });
  expect(reply.status).toBe(200);
  expect((await sendRequest(url, "/v1/shop/sales_tier0")).status).toBe(200);
});

it("below a path of a proxy the metadata is below it too, and a Host is no audience", async () => {
  const below = await serveManifest(manifest, {
    API_JWT_ISSUER: issuer,
    API_JWT_AUDIENCE: "x",
    TRUST_PROXY: "1",
  });
  const headers = {
    ...ACCEPT,
    host: "example.com",
    "x-forwarded-proto": "https",
    "x-forwarded-prefix": "/data",
  };
  const reply = await sendRequest(below, "/mcp", { method: "POST", body: BODY, headers });
  expect(reply.headers["www-authenticate"]).toBe(
    'Bearer resource_metadata="https://example.com/data/.well-known/oauth-protected-resource/mcp", scope="tier0 tier1 tier2 tier3"',
  );
});

it.each(['a", error="none', "a, Basic realm=x", "a/b", "user@a", "a b", 'a\\"'])(
  "a Host that is no name of a server gets into no header: %s",
  async (host) => {
    const variables = { API_JWT_ISSUER: issuer, API_JWT_AUDIENCE: "x", TRUST_PROXY: "1" };
    const reply = await sendRequest(await serveManifest(manifest, variables), "/mcp", {
      method: "POST",
      body: BODY,
      headers: { ...ACCEPT, host },
    });
    expect([401, 403, 400]).toContain(reply.status);
    expect(reply.headers["www-authenticate"] ?? "").not.toContain(host);
  },
);

it("the served OpenAPI document names bearerAuth where tokens are accepted, and only there", async () => {
  const schemesOf = async (base: string): Promise<unknown> => {
    const { components, paths } = JSON.parse((await sendRequest(base, "/openapi.json")).text) as {
      components: { securitySchemes: object };
      paths: Record<string, { get: { security: object[] } }>;
    };
    return [Object.keys(components.securitySchemes), paths["/v1/shop/sales_tier1"]?.get.security];
  };
  expect(await schemesOf(url)).toEqual([
    ["ApiKeyAuth", "bearerAuth"],
    [{ ApiKeyAuth: [] }, { bearerAuth: [] }],
  ]);
  expect(await schemesOf(await serveManifest(manifest))).toEqual([["ApiKeyAuth"], [{ ApiKeyAuth: [] }]]);
});

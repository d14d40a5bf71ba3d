import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  Client,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { leastUntilBelow, processorCost } from "../../support/processor-time.js";
import { KEYS, serveManifest } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 18446744073709551615::numeric(20,0) AS huge");
const model = { schema, columns: { huge: "numeric(20,0)" } };
const url = await serveManifest(
  manifestOf([
    { ...model, name: "sales", tags: ["production", "shop", "tier0", "api:sales"] },
    { ...model, name: "wages", alias: "sales", tags: ["production", "shop", "tier2", "api:wages"] },
  ]),
);
const REVISION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A request of the revision, with the headers that its body asks for; `headers` replace them. */
function send(method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const { name, uri } = params;
  const named = name ?? uri;
  return sendRequest(url, "/mcp", {
    method: "POST",
    body: { jsonrpc: "2.0", id: 7, method, params: { _meta: META, ...params } },
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      ...(typeof named === "string" && { "mcp-name": named }),
      ...headers,
    },
  });
}

const answerOf = async (...asked: Parameters<typeof send>): Promise<Record<string, unknown>> =>
  (JSON.parse((await send(...asked)).text) as { result: Record<string, unknown> }).result;
const errorOf = async (...asked: Parameters<typeof send>) => {
  const { status, text } = await send(...asked);
  const { error, id } = JSON.parse(text) as { error: { code: number; message: string }; id: unknown };
  return { status, id, ...error };
};

/** The official client of the second generation, connected with a key of tier1. */
async function connect(mode: VersionNegotiationMode): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const requestInit = { headers: { "X-API-Key": KEYS.tier1 } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  atEnd(() => client.close());
  return client;
}

const QUERY = { name: "query_endpoint", arguments: { path: "/v1/shop/sales" } };
const ROWS = '{"returned":1,"has_more":false,"total":1,"rows":[{"huge":18446744073709551615}]}';

describe("official clients", () => {
  it.each([
    [{ pin: REVISION }, "modern"],
    ["auto", "modern"],
    ["legacy", "legacy"],
  ] as const)("of the second generation read rows: %j", async (mode, era) => {
    const client = await connect(mode);
    expect(client.getProtocolEra()).toBe(era);
    expect((await client.listTools()).tools.length).toBeGreaterThan(7);
    expect((await client.callTool(QUERY)).content).toEqual([{ type: "text", text: ROWS }]);
    expect((await client.listResources()).resources.map(({ name }) => name)).toContain("/v1/shop/sales");
    expect((await client.listPrompts()).prompts).toHaveLength(2);
  });

  it("of the first generation read the same", async () => {
    const client = new OlderClient({ name: "test", version: "1" });
    await client.connect(new OlderTransport(new URL(`${url}/mcp`)));
    atEnd(() => client.close());
    expect((await client.callTool(QUERY)).content).toEqual([{ type: "text", text: ROWS }]);
  });
});

describe("revision 2026-07-28", () => {
  it("needs no handshake, and discovers versions, capabilities and the server's name", async () => {
    const found = await answerOf("server/discover");
    expect(found).toMatchObject({
      resultType: "complete",
      supportedVersions: [REVISION],
      capabilities: {
        tools: { listChanged: false },
        resources: { listChanged: false },
        prompts: { listChanged: false },
      },
      ttlMs: 3_600_000,
      cacheScope: "public",
    });
  });

  it.each([
    ["tools/list", {}, "public"],
    ["prompts/list", {}, "public"],
    ["resources/templates/list", {}, "public"],
    ["resources/list", {}, "private"],
    ["resources/read", { uri: "routewright://catalogue" }, "private"],
  ])("says how long and by whom the answer to %s may be kept", async (method, params, cacheScope) => {
    const { ttlMs, ...answer } = await answerOf(method, params);
    expect(answer).toMatchObject({ resultType: "complete", cacheScope });
    expect(ttlMs).toBeGreaterThan(0);
  });

  it.each<[string, Record<string, unknown>, Record<string, string>]>([
    ["another method", {}, { "mcp-method": "tools/call" }],
    ["no method", {}, { "mcp-method": "" }],
    ["another name", QUERY, { "mcp-name": "list_values" }],
    ["a name that is no Base64", QUERY, { "mcp-name": "=?base64?@@?=" }],
    ["another revision", {}, { "mcp-protocol-version": "2025-11-25" }],
  ])("refuses a header that names %s than the body", async (_, params, headers) => {
    const method = "name" in params ? "tools/call" : "tools/list";
    expect(await errorOf(method, params, headers)).toMatchObject({ status: 400, code: -32020, id: 7 });
  });

  it("reads a name in Base64", async () => {
    const name = `=?base64?${Buffer.from(QUERY.name).toString("base64")}?=`;
    expect(await answerOf("tools/call", QUERY, { "mcp-name": name })).toMatchObject({
      content: [{ text: ROWS }],
    });
  });

  it("says which revisions it has", async () => {
    const _meta = { ...META, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
    const error = await errorOf("tools/list", { _meta }, { "mcp-protocol-version": "2099-01-01" });
    expect(error).toMatchObject({ status: 400, code: -32022, data: { supported: [REVISION] } });
  });

  it.each(["initialize", "ping", "subscriptions/listen", "tasks/get", "no/such", "__proto__"])(
    "has no %s",
    async (method) => {
      expect(await errorOf(method)).toMatchObject({ status: 404, code: -32601, id: 7 });
    },
  );

  it("names a resource that it has not", async () => {
    const uri = "routewright://endpoints/v1/shop/wages";
    expect(await errorOf("resources/read", { uri })).toMatchObject({ code: -32602, data: { uri } });
  });
});

it("a page of another origin may send the headers of the protocol", async () => {
  const { headers } = await sendRequest(url, "/mcp", {
    method: "OPTIONS",
    headers: { origin: "https://example.org", "access-control-request-method": "POST" },
  });
  expect(headers["access-control-allow-headers"]).toContain("MCP-Protocol-Version, Mcp-Method, Mcp-Name");
});

describe("hostile messages", () => {
  /** In multiples of parsing 1 MiB of JSON. */
  const MOST_TIMES = 4;

  it.each<[string, unknown, Record<string, string>]>([
    ["a name of 100,000 characters", { name: "x".repeat(100_000) }, {}],
    ["a name that is no text", { name: { toString: 1 } }, { "mcp-name": "x" }],
    ["a header of 8,000 characters", QUERY, { "mcp-name": "y".repeat(8_000) }],
    ["no parameters", null, {}],
    ["metadata that is no object", { _meta: "2026-07-28" }, {}],
    ["a revision that is no text", { _meta: { ...META, "io.modelcontextprotocol/protocolVersion": {} } }, {}],
  ])("%s is refused without much work", async (_, params, headers) => {
    await answerOf("tools/list");
    const refused = () =>
      sendRequest(url, "/mcp", {
        method: "POST",
        body: { jsonrpc: "2.0", id: 7, method: "tools/call", params },
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": REVISION,
          "mcp-method": "tools/call",
          ...headers,
        },
      });
    expect(await leastUntilBelow(MOST_TIMES, () => processorCost(refused))).toBeLessThan(MOST_TIMES);
    const { status, text } = await refused();
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(2_000);
  });
});

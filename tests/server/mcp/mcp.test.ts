import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const schema = await ownSchema(`
  CREATE TABLE @.sales AS SELECT date '2026-01-01' + i AS day, 'shop ' || i % 3 AS shop,
    18446744073709551615::numeric(20,0) AS huge FROM generate_series(0, 499) AS i;
  CREATE TABLE @.long AS SELECT i AS n, repeat(chr(97 + i % 26), 900) AS text FROM generate_series(1, 5000) AS i;
  CREATE TABLE @.digits AS SELECT 18446744073709551615::numeric(20,0) + i AS huge FROM generate_series(-2, 400) AS i;
  CREATE TABLE @.wages AS SELECT 'ann' AS name`);

const MODELS = [
  {
    name: "sales",
    tags: ["production", "shop", "tier0", "api:sales"],
    columns: { day: "date", shop: "text", huge: "numeric(20,0)" },
    description: "Sales of each shop by day.",
    api: {
      allow_unfiltered: true,
      parameters: [
        { name: "shop", column: "shop", operator: "IN", type: "string_list" },
        { name: "start", column: "day", operator: ">=", type: "date" },
      ],
      pagination: { enabled: true, default_limit: 10, max_limit: 50 },
      sort: [{ column: "day", direction: "ASC" }],
    },
  },
  { name: "long", tags: ["production", "shop", "tier1", "api:long"], columns: { n: "int", text: "text" } },
  { name: "wages", tags: ["production", "staff", "tier2", "api:wages"], columns: { name: "text" } },
];
const DIGITS = {
  name: "digits",
  tags: ["production", "shop", "tier0", "api:digits"],
  columns: { huge: "numeric(20,0)" },
  api: {
    allow_unfiltered: true,
    parameters: [
      { name: "huge", column: "huge", operator: "=", type: "string" },
      { name: "any", column: "huge", operator: "IN", type: "string_list" },
    ],
  },
};
const manifest = manifestOf(MODELS.map((model) => ({ ...model, schema }))) as {
  nodes: Record<string, Record<string, unknown>>;
};
manifest.nodes["model.test.sales"]!["meta"] = {
  ...(manifest.nodes["model.test.sales"]!["meta"] as object),
  routewright: { synonyms: ["turnover"] },
};
const url = await serveManifest(manifest);

/** The official client, connected with a key. */
async function connect(key?: string, at = url): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = key === undefined ? {} : { headers: { "X-API-Key": key } };
  const transport = new StreamableHTTPClientTransport(new URL(`${at}/mcp`), { requestInit });
  await client.connect(transport);
  atEnd(() => client.close());
  return client;
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  const [content] = result.content;
  return { text: content?.type === "text" ? content.text : "", isError: result.isError === true };
}
/** What a tool answers, parsed. */
const answer = async (...asked: Parameters<typeof call>): Promise<unknown> =>
  JSON.parse((await call(...asked)).text);

/** Clients without a key, and with one of tier1. */
const [client, partner] = [await connect(), await connect(KEYS.tier1)];
const SALES = "/v1/shop/sales";

describe("an MCP client", () => {
  it("lists the tools, each with a schema", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "list_categories",
      "search_endpoints",
      "describe_endpoint",
      "list_values",
      "query_endpoint",
      "query_metrics",
      "chart_endpoint",
      "summarize_endpoint",
    ]);
    for (const { inputSchema, outputSchema, annotations } of tools)
      expect([inputSchema.type, outputSchema?.type, annotations?.readOnlyHint]).toEqual([
        "object",
        "object",
        true,
      ]);
  });

  it("searches, describes and queries", async () => {
    expect(await answer(client, "search_endpoints", { query: "DAY shop" })).toEqual({
      found: 1,
      endpoints: [
        {
          path: SALES,
          title: "Sales",
          description: "Sales of each shop by day.",
          tier: "tier0",
          columns: ["day", "shop", "huge"],
        },
      ],
    });
    expect(await answer(client, "describe_endpoint", { path: SALES })).toMatchObject({
      parameters: [{ name: "shop" }, { name: "start", operator: ">=" }],
      pagination: { default_limit: 20, max_limit: 50 },
    });
    const { text } = await call(client, "query_endpoint", {
      path: SALES,
      parameters: { shop: ["shop 1", "shop 2"], start: "2026-01-10", offset: 1 },
      limit: 2,
    });
    expect(text).toBe(
      '{"returned":2,"has_more":true,"next_offset":3,"rows":[{"day":"2026-01-12","shop":"shop 2","huge":18446744073709551615},\n' +
        '{"day":"2026-01-14","shop":"shop 1","huge":18446744073709551615}]}',
    );
  });

  it("names a locked endpoint that fits, with what it needs and nothing of its rows", async () => {
    const search = (by: Client, query: string) => answer(by, "search_endpoints", { query });
    const locked = [{ path: "/v1/staff/wages", needs: "needs Premium" }];
    expect(await search(client, "wages")).toMatchObject({ locked });
    expect(await search(client, "sales per day")).not.toHaveProperty("locked");
    expect(await search(await connect(KEYS.tier2), "wages")).not.toHaveProperty("locked");
  });

  it("gets the API's own refusals", async () => {
    const query = (parameters: object) => call(client, "query_endpoint", { path: SALES, parameters });
    expect(await query({ start: "soon" })).toEqual({
      text: `HTTP 400: {"detail":"Parameter 'start' must be a date in YYYY-MM-DD format."}`,
      isError: true,
    });
    expect(await query({ city: "Rome" })).toEqual({
      text: 'HTTP 400: {"detail":"Unsupported query parameters: city"} The endpoint takes: shop, start, limit, offset.',
      isError: true,
    });
    const injected = await query({ shop: "'; DROP TABLE sales; --" });
    expect(injected).toEqual({ text: '{"returned":0,"has_more":false,"total":0,"rows":[]}', isError: false });
    expect((await query({})).isError).toBe(false);
  });

  it("finds endpoints for a plain question, and suggests other words where nothing fits", async () => {
    const search = (query: string, more = {}) => answer(client, "search_endpoints", { query, ...more });
    expect(await search("What was the turnover per day?")).toMatchObject({
      found: 1,
      endpoints: [{ path: SALES }],
    });
    expect(await search("shops with huge customers")).toMatchObject({
      endpoints: [{ path: SALES }],
      hint: "No endpoint has every word of 'shops with huge customers': these have some.",
    });
    expect(await search("weather at the shop")).toMatchObject({
      found: 0,
      endpoints: [],
      nearest: [{ path: SALES, title: "Sales" }],
    });
    expect(await search("weather")).toEqual({
      found: 0,
      endpoints: [],
      hint: "No endpoint has a word of 'weather'. Try other words for the same, or fewer; or search without a query in one category. The categories are shop.",
    });
    expect(await search("sales", { category: "staff" })).toMatchObject({
      hint: "Nothing fits in the category 'staff': leave it out. The categories are shop.",
    });
    expect(await answer(partner, "search_endpoints", { limit: 1 })).toMatchObject({
      found: 2,
      next_offset: 1,
    });
    expect(await answer(partner, "list_categories")).toEqual({
      categories: [{ category: "shop", endpoints: 2 }],
    });
  });

  it("reads the pages of an endpoint one after the other, each number in full", async () => {
    const query = async (args: object) => {
      const result = await client.callTool({
        name: "query_endpoint",
        arguments: { path: SALES, ...args },
      });
      return result.structuredContent as { rows: { day: string; huge: unknown }[]; next_offset?: number };
    };
    const first = await query({ parameters: { limit: 3 } });
    expect(first).toMatchObject({ returned: 3, has_more: true, next_offset: 3 });
    expect(first.rows[0]).toEqual({ day: "2026-01-01", shop: "shop 0", huge: "18446744073709551615" });
    expect(first).not.toHaveProperty("total");
    expect(await query({ limit: 3, count: true })).toMatchObject({ total: 500, has_more: true });
    expect(await query({ limit: 3, offset: 1, count: true })).toMatchObject({ total: 500 });
    expect(await query({ parameters: { start: "2027-05-14" }, limit: 50 })).toMatchObject({
      has_more: false,
      total: expect.any(Number) as number,
    });
    const last = await query({ limit: 3, offset: 498 });
    expect(last).toMatchObject({ returned: 2, has_more: false });
    expect(last.next_offset).toBeUndefined();
    const refused = (args: object) => call(client, "query_endpoint", { path: SALES, ...args });
    expect((await refused({ limit: 3, parameters: { limit: 4 } })).text).toBe(
      "Give limit once: as an argument, or among the parameters.",
    );
    expect((await refused({ parameters: { limit: 101 } })).text).toBe("limit must be between 1 and 100.");
    expect((await refused({ parameters: { offset: "-1" } })).text).toBe("offset must be a whole number.");
  });

  it("counts the rows of an endpoint without pages that is longer than is read", async () => {
    const args = { name: "summarize_endpoint", arguments: { path: "/v1/shop/long" } };
    expect((await partner.callTool(args)).structuredContent).toEqual({ count: 5000, dates: {} });
  });

  it("gets no more rows than requested, nor than fit a context, whatever the endpoint returns", async () => {
    const rowsOf = async (args: object) => {
      const { text } = await call(partner, "query_endpoint", { path: "/v1/shop/long", ...args });
      return {
        length: text.length,
        ...(JSON.parse(text) as { returned: number; has_more: boolean; rows: unknown[] }),
      };
    };
    // 5,000 rows of 900 characters, and no parameters.
    expect(await rowsOf({ limit: 3 })).toMatchObject({ returned: 3, has_more: true });
    const most = await rowsOf({ limit: 100 });
    expect(most).toMatchObject({ returned: 21, has_more: true });
    expect(most.length).toBeLessThan(21_000);
    expect(most.rows).toEqual(
      Array.from({ length: 21 }, (_, i) => ({
        n: i + 1,
        text: String.fromCharCode(97 + ((i + 1) % 26)).repeat(900),
      })),
    );
    const page = await answer(client, "query_endpoint", { path: SALES, limit: 100 });
    expect(page).toMatchObject({ returned: 50, has_more: true });
  });

  it.each([
    ["query_endpoint", {}, "Invalid arguments: they must have required property 'path'."],
    ["query_endpoint", { path: SALES, limit: 1000 }, "Invalid arguments: limit must be <= 100."],
    [
      "search_endpoints",
      { words: "x" },
      "Invalid arguments: unknown argument 'words'; the tool takes query, category, limit, offset.",
    ],
    [
      "drop_table",
      {},
      "Unknown tool. There are: list_categories, search_endpoints, describe_endpoint, list_values, query_endpoint, query_metrics, chart_endpoint, summarize_endpoint.",
    ],
  ])("gets a message for wrong arguments of %s: %j", async (name, args, text) => {
    expect(await call(client, name, args)).toEqual({ text, isError: true });
  });
});

describe("a key", () => {
  const SECRET = { path: "/v1/staff/wages" };

  it.each(["tier0", "tier1"] as const)(
    "of %s neither describes nor queries what is of tier2",
    async (tier) => {
      const client = await connect(KEYS[tier]);
      expect((await call(client, "search_endpoints")).text).not.toContain("wages");
      for (const tool of ["describe_endpoint", "query_endpoint"])
        expect(await call(client, tool, SECRET)).toEqual({
          text: `Your key can call no endpoint ${SECRET.path} (needs Premium). Find one with search_endpoints.`,
          isError: true,
        });
    },
  );

  it("sees nothing of what is locked with CATALOGUE=allowed", async () => {
    const client = await connect(KEYS.tier1, await serveManifest(manifest, { CATALOGUE: "allowed" }));
    expect((await call(client, "search_endpoints")).text).not.toContain("wages");
    expect((await call(client, "search_endpoints", { query: "wages" })).text).toMatch(
      /^\{"found":0,"endpoints":\[\],"hint":"No endpoint has a word of 'wages'\./,
    );
    const unknown = (path: string) => ({
      text: `Your key can call no endpoint ${path}. Find one with search_endpoints.`,
      isError: true,
    });
    for (const tool of ["describe_endpoint", "query_endpoint"]) {
      expect(await call(client, tool, SECRET)).toEqual(unknown(SECRET.path));
      expect(await call(client, tool, { path: "/v1/none" })).toEqual(unknown("/v1/none"));
    }
  });

  it("of tier2 does both", async () => {
    const client = await connect(KEYS.tier2);
    expect((await call(client, "search_endpoints", { query: "wages" })).text).toContain(SECRET.path);
    expect((await call(client, "query_endpoint", SECRET)).text).toContain('{"name":"ann"}');
  });

  it("that is unknown is refused", async () => {
    await expect(connect("sk_live_unknown")).rejects.toThrow(/Invalid API Key/);
  });

  it("spends its own window, one request a message", async () => {
    // The client sends three requests to connect.
    const limited = await serveManifest(manifest, { RATE_LIMITS: "6" });
    const client = await connect(KEYS.tier0, limited);
    expect((await call(client, "search_endpoints")).isError).toBe(false);
    const query = () => call(client, "query_endpoint", { path: SALES, limit: 1 });
    expect((await query()).isError).toBe(false);
    const { headers } = await fetch(`${limited}/health`, { headers: { "X-API-Key": KEYS.tier0 } });
    expect(headers.get("x-ratelimit-remaining")).toBe("1");
    expect((await query()).isError).toBe(false);
    await expect(query()).rejects.toThrow(/Rate limit exceeded/);
  });
});

describe("a batch", () => {
  const message = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/list" });
  const batch = (size: number) => Array.from({ length: size }, (_, id) => message(id));
  const send = async (base: string, body: unknown) => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const response = await fetch(`${base}/mcp`, { method: "POST", headers, body: JSON.stringify(body) });
    return [response.status, await response.text(), response.headers.get("x-ratelimit-remaining")] as const;
  };

  it("of several messages is refused: each message counts as a request", async () => {
    const limited = await serveManifest(manifest, { RATE_LIMITS: "3" });
    expect((await send(limited, batch(1)))[0]).toBe(200);
    expect(await send(limited, batch(2))).toEqual([
      400,
      '{"detail":"Request body must hold one MCP message."}',
      "1",
    ]);
    expect((await send(limited, message(1)))[0]).toBe(200);
    expect((await send(limited, message(1)))[0]).toBe(429);
  });

  it("is not parsed when it is too complex", async () => {
    expect(
      (
        await send(
          url,
          Array.from({ length: 10_001 }, () => []),
        )
      )[1],
    ).toContain("more than 10000 values");
    expect((await send(url, JSON.parse("[".repeat(9) + "]".repeat(9))))[1]).toContain("deeper than 8 levels");
  });
});

it("answers requests that are not MCP as the API does", async () => {
  const send = async (init: RequestInit) => {
    const response = await fetch(`${url}/mcp`, init);
    return [response.status, await response.text(), response.headers.get("allow")];
  };
  expect(await send({})).toEqual([405, '{"detail":"Method Not Allowed"}', "POST, OPTIONS"]);
  expect(await send({ method: "POST", body: "{" })).toEqual([
    400,
    '{"detail":"Request body must be valid JSON."}',
    null,
  ]);
  expect((await send({ method: "POST", body: "x".repeat(1024 * 1024 + 1) }))[0]).toBe(413);
});

it("compares with each digit of a number, though it is longer than a double keeps", async () => {
  const base = await serveManifest(manifestOf([{ ...DIGITS, schema }]));
  const ask = async (parameters: string) => {
    const request = `{"name": "query_endpoint", "arguments": {"path": "/v1/shop/digits", "parameters": ${parameters}}}`;
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ${request}}`;
    return (await fetch(`${base}/mcp`, { method: "POST", headers, body })).text();
  };
  expect(await ask('{"huge": 18446744073709551617}')).toContain('[{\\"huge\\":18446744073709551617}]');
  expect(await ask('{"any": [18446744073709551614, 18446744073709551616.0]}')).toContain(
    '[{\\"huge\\":18446744073709551614},\\n{\\"huge\\":18446744073709551616}]',
  );
});

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const schema =
  await ownSchema(`CREATE TABLE @.sales AS SELECT date '2026-01-01' + i AS day, 'shop ' || i % 3 AS shop,
  1 AS huge FROM generate_series(0, 499) AS i`);
const MODELS = [
  {
    name: "sales",
    columns: { day: "date", shop: "text", huge: "int" },
    description: "Sales of each shop by day.",
    api: {
      allow_unfiltered: true,
      parameters: [
        { name: "shop", column: "shop", operator: "IN", type: "string_list" },
        { name: "start", column: "day", operator: ">=", type: "date" },
      ],
      pagination: { enabled: true, default_limit: 10, max_limit: 50 },
    },
  },
  { name: "long", tags: ["production", "shop", "tier1", "api:long"], columns: { n: "int" } },
  { name: "wages", tags: ["production", "staff", "tier2", "api:wages"], columns: { name: "text" } },
];
const url = await serveManifest(manifestOf(MODELS.map((model) => ({ ...model, schema }))));

/** The official client, connected with a key. */
async function connect(key?: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = key === undefined ? {} : { headers: { "X-API-Key": key } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  atEnd(() => client.close());
  return client;
}

async function call(by: Client, name: string, args: Record<string, unknown>) {
  const result = (await by.callTool({ name, arguments: args })) as CallToolResult;
  const [content] = result.content;
  return { text: content?.type === "text" ? content.text : "", isError: result.isError === true };
}
const answer = async (...asked: Parameters<typeof call>): Promise<unknown> =>
  JSON.parse((await call(...asked)).text);

const [client, partner] = [await connect(), await connect(KEYS.tier1)];
const SALES = "/v1/shop/sales";

it("lists the values of a column, which a filter then finds", async () => {
  expect(await answer(client, "list_values", { path: SALES, column: "shop" })).toEqual({
    values: [
      { value: "shop 0", rows: 167 },
      { value: "shop 1", rows: 167 },
      { value: "shop 2", rows: 166 },
    ],
    more: false,
  });
  const some = { path: SALES, column: "day", parameters: { shop: "shop 1" }, limit: 1 };
  expect(await answer(client, "list_values", some)).toEqual({
    values: [{ value: "2026-01-02", rows: 1 }],
    more: true,
  });
  expect(
    await answer(client, "list_values", { path: SALES, column: "shop", prefix: "SHOP 2" }),
  ).toMatchObject({
    values: [{ value: "shop 2" }],
  });
  for (const [args, reason] of [
    [{ path: SALES, column: "name" }, "'column' must be among: day, shop, huge."],
    [{ path: SALES, column: "shop", parameters: { city: "x" } }, "The endpoint takes: shop, start"],
    [{ path: SALES, column: "shop", parameters: { shop: "shop 1", columns: "day" } }, "columns"],
    [
      { path: SALES, column: "shop", parameters: { path: "/v1/staff/wages" } },
      "'path' is an argument of the tool",
    ],
    [{ path: SALES, column: "shop", parameters: { column: "day" } }, "'column' is an argument of the tool"],
    [{ path: "/v1/staff/wages", column: "name" }, "needs Premium"],
    [{ path: SALES }, "must have required property 'column'"],
  ] as const)
    expect(await call(client, "list_values", args)).toEqual({
      isError: true,
      text: expect.stringContaining(reason) as unknown,
    });
});

it("reads the catalogue and endpoints as resources, those that its key may call", async () => {
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual([
    "routewright://catalogue",
    "ui://routewright/chart",
    "ui://routewright/table",
    "ui://routewright/endpoint",
    `routewright://endpoints${SALES}`,
  ]);
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["routewright://endpoints{+path}"]);
  const read = async (by: Client, uri: string): Promise<unknown> => {
    const { contents } = await by.readResource({ uri: `routewright://${uri}` });
    return JSON.parse((contents[0] as { readonly text: string }).text);
  };
  expect(await read(client, "catalogue")).toEqual({
    title: "Routewright Data API",
    categories: [{ category: "shop", endpoints: 1 }],
    endpoints: [{ path: SALES, tier: "tier0", description: "Sales of each shop by day." }],
  });
  expect(await read(client, `endpoints${SALES}`)).toEqual(
    await answer(client, "describe_endpoint", { path: SALES }),
  );
  expect(await read(partner, "endpoints/v1/shop/long")).toMatchObject({ path: "/v1/shop/long" });
  for (const uri of [
    "endpoints/v1/shop/long",
    "endpoints/v1/staff/wages",
    "endpoints",
    "endpoints/v1/shop//sales",
    "x",
  ])
    await expect(read(client, uri)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(`There is no resource routewright://${uri}`) as unknown,
    });
  await expect(client.listResources({ cursor: "x" })).rejects.toMatchObject({ code: -32602 });
});

it("offers prompts that lead to values that exist, and describe what the key may call", async () => {
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name, arguments: [first] = [] }) => [name, first?.name])).toEqual([
    ["answer_question", "question"],
    ["explore_endpoint", "path"],
  ]);
  const textsOf = async (name: string, args: Record<string, string>) => {
    const { messages } = await client.getPrompt({ name, arguments: args });
    return messages.map(({ content }) => (content.type === "text" ? content.text : ""));
  };
  const [question = ""] = await textsOf("answer_question", { question: "Which shop sells most?" });
  expect(question).toMatch(
    /^Answer this question with the data API: Which shop sells most\?\n[^]*list_values/,
  );
  const [steps, description = ""] = await textsOf("explore_endpoint", { path: SALES });
  expect(steps).toContain("list_values");
  expect(JSON.parse(description)).toEqual(await answer(client, "describe_endpoint", { path: SALES }));
  for (const [name, args] of [
    ["nothing", {}],
    ["answer_question", {}],
    ["explore_endpoint", { path: "/v1/staff/wages" }],
  ] as const)
    await expect(client.getPrompt({ name, arguments: args })).rejects.toMatchObject({ code: -32602 });
  // A prompt names only tools that there are.
  const { tools } = await client.listTools();
  const known = tools.map(({ name }) => name);
  const named = [question, steps].flatMap(
    (text) => text?.match(/[a-z]+_(?:endpoints?|values|metrics)\b/g) ?? [],
  );
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

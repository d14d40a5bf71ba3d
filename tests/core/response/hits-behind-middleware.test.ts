import express, { type RequestHandler } from "express";
import { createServer } from "node:http";
import { afterAll, expect, it } from "vitest";
import { defineEndpoint, openGateway, readKeyring, withGateway } from "../../../runtime/index.js";
import { engineUrl, ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { listen } from "../../support/port.js";
import { KEYS } from "../../support/service.js";

const PATH = "/v1/kept/numbers";
const schema = await ownTables({
  postgres: "CREATE TABLE @.numbers AS SELECT i AS id FROM generate_series(1, 20) AS i",
  clickhouse: ["CREATE TABLE @.numbers ORDER BY id AS SELECT toInt32(number + 1) AS id FROM numbers(20)"],
});
const keyring = readKeyring({ [KEYS.tier3]: { tier: "tier3", user: "a" } }, "test");
if (!keyring.ok) throw new Error(keyring.problems.join());
const build = { id: "first", asOf: "2026-03-01T00:00:00.000Z" };
const gateway = openGateway({ databaseUrl: engineUrl(), keys: keyring.value, versionOf: () => build });
afterAll(() => gateway.close());

const { get } = defineEndpoint<{ limit?: number }, { id: number }>({ schema: 1 })({
  model: "numbers",
  path: PATH,
  tier: "tier0",
  relation: [schema, "numbers"],
  columns: { id: null },
  parameters: {},
  allowUnfiltered: true,
  pagination: { defaultLimit: 5, maxLimit: 10, response: "list" } as never,
  sort: [["id", "ASC"]],
  changes: "on_build",
});

async function serve(middleware: RequestHandler): Promise<string> {
  const app = express().disable("etag").disable("x-powered-by");
  app
    .use(middleware)
    .use(withGateway(gateway))
    .get(PATH, get as never);
  return `http://${await listen(createServer(app))}`;
}

/** The first response, a hit, and a 304. */
async function three(url: string) {
  const ask = (headers = {}) => sendRequest(url, `${PATH}?limit=2`, { key: KEYS.tier3, headers });
  const [first, hit] = [await ask(), await ask()];
  const again = await ask({ "if-none-match": String(first.headers["etag"]) });
  expect([first.status, hit.status, again.status]).toEqual([200, 200, 304]);
  expect(hit.text).toBe(first.text);
  return { first, hit, again };
}

it("hits have the headers that a middleware has set, and those of other responses", async () => {
  const url = await serve((_, response, next) => {
    response.setHeader("X-Front", "set").setHeader("Vary", "Cookie");
    next();
  });
  const { first, hit, again } = await three(url);
  for (const { headers } of [first, hit, again])
    expect(headers).toMatchObject({ "x-front": "set", vary: "Cookie, Accept, Accept-Encoding" });
  expect(Object.keys(hit.headers).sort()).toEqual(Object.keys(first.headers).sort());
});

it.each(["writeHead", "end"] as const)("a middleware that wraps %s sees hits", async (method) => {
  const seen: string[] = [];
  const url = await serve((_, response, next) => {
    const own = response[method].bind(response) as (...args: unknown[]) => never;
    response[method] = ((...args: unknown[]) => {
      seen.push(String(args.flat()));
      return own(...args);
    }) as never;
    next();
  });
  const { first } = await three(url);
  expect(seen).toHaveLength(3);
  if (method === "end") expect(seen.slice(0, 2)).toEqual([`${first.text},latin1`, `${first.text},latin1`]);
  else for (const head of seen) expect(head).toContain(`ETag,${String(first.headers["etag"])}`);
});

it("a hit says what its request has left, and closes the connection for a client that asks so", async () => {
  const url = await serve((_, __, next) => next());
  await three(url);
  const headers = { connection: "close" };
  const hits = [1, 2].map(() => sendRequest(url, `${PATH}?limit=2`, { key: KEYS.tier3, headers }));
  const [one, two] = await Promise.all(hits);
  const left = (reply: typeof one) => Number(reply?.headers["x-ratelimit-remaining"]);
  expect(Math.abs(left(one) - left(two))).toBe(1);
  for (const reply of [one, two]) {
    expect(reply?.headers["ratelimit"]).toContain(`"minute";r=${String(left(reply))};t=`);
    expect(reply?.headers["connection"]).toBe("close");
  }
});

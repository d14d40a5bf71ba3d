import { expect, it } from "vitest";
import { byEngine, engineUrl, ownTables } from "../support/engines.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const GROUPS = 25;

const schema = await ownTables({
  postgres: `CREATE TABLE @.sales AS SELECT (i % ${String(GROUPS)})::int AS shop, i::bigint AS amount FROM generate_series(1, 500) AS i`,
  clickhouse: [
    `CREATE TABLE @.sales ENGINE = MergeTree ORDER BY shop AS SELECT toInt32(number % ${String(GROUPS)}) AS shop, toInt64(number + 1) AS amount FROM numbers(500)`,
  ],
});
const { integer, bigint } = byEngine({
  postgres: { integer: "integer", bigint: "bigint" },
  clickhouse: { integer: "Int32", bigint: "Int64" },
});
const url = await serveManifest(
  manifestOf([
    {
      name: "sales",
      schema,
      tags: ["production", "shop", "api:sales", "tier1"],
      columns: { shop: integer, amount: bigint },
      routewright: {
        aggregate: { group_by: ["shop"], measures: { volume: { agg: "sum", column: "amount" } } },
      },
    },
    {
      ...{ name: "followed", schema, alias: "sales", tags: ["production", "shop", "api:followed", "tier1"] },
      columns: { shop: integer, amount: bigint },
      key: "shop",
      api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: 7, max_limit: 50 } },
      routewright: {
        cursor: true,
        aggregate: { group_by: ["shop"], measures: { volume: { agg: "sum", column: "amount" } } },
      },
    },
  ]),
  { DATABASE_URL: engineUrl() },
);

/** All pages from one on, as their links lead to them: the sizes of the pages, and their rows. */
async function walk(first: string): Promise<readonly (readonly object[])[]> {
  const pages: object[][] = [];
  let path: string | undefined = first;
  while (path !== undefined) {
    const { text, headers } = await sendRequest(url, path, { key: KEYS.tier1 });
    pages.push(JSON.parse(text) as object[]);
    path = /<([^>]*)>; rel="next"/.exec(String(headers["link"]))?.[1];
  }
  return pages;
}

const sum = (shop: number): number =>
  Array.from({ length: 500 }, (_, i) => i + 1).reduce(
    (total, amount) =>
      total + ((amount - byEngine({ postgres: 0, clickhouse: 1 })) % GROUPS === shop ? amount : 0),
    0,
  );
const ALL = Array.from({ length: GROUPS }, (_, shop) => ({ shop, volume: sum(shop) }));

it.each([
  ["a page that holds all", "", [25]],
  ["a page of exactly all", "&limit=25", [25]],
  ["pages, of which the last is shorter", "&limit=10", [10, 10, 5]],
  ["pages of one size", "&limit=5", [5, 5, 5, 5, 5]],
  ["pages from an offset on", "&limit=10&offset=10", [10, 5]],
])("groups come on %s, each once", async (_, page, sizes) => {
  const pages = await walk(`/v1/shop/sales?group_by=shop&measures=volume${page}`);
  expect(pages.map((rows) => rows.length)).toEqual(sizes);
  expect(pages.flat()).toEqual(page.includes("offset") ? ALL.slice(10) : ALL);
});

it.each(["", ".csv", ".ndjson", ".parquet", ".arrow", ".arrows"])(
  "the total of an endpoint whose rows have a cursor has none, in %s",
  async (suffix) => {
    const { status, headers } = await sendRequest(url, `/v1/shop/followed${suffix}?measures=volume`, {
      key: KEYS.tier1,
    });
    expect([status, headers["link"]]).toEqual([200, undefined]);
  },
);

import { describe, expect, it } from "vitest";
import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const schema = await ownTables({
  postgres: `CREATE TABLE @.payments AS SELECT g AS id, (ARRAY['acme', 'globex'])[g % 2 + 1] AS org,
    date '2026-01-01' + g AS day, timestamp '2026-01-01' + g * interval '1 hour' AS at,
    timestamptz '2026-01-01Z' + g * interval '1 minute' AS seen, NULL::date AS never, 'x' AS candidate,
    date '2026-01-01' + g AS last
    FROM generate_series(1, 3000) g`,
  clickhouse: [
    `CREATE TABLE @.payments (id Int64, org String, day Date, at DateTime64(0, 'UTC'), seen Nullable(DateTime('UTC')),
     never Nullable(Date32), candidate String, last SimpleAggregateFunction(max, Date)) ORDER BY id`,
    `INSERT INTO @.payments SELECT number + 1 AS id, ['acme', 'globex'][id % 2 + 1], toDate('2026-01-01') + id,
     toDateTime('2026-01-01 00:00:00', 'UTC') + id * 3600, toDateTime('2026-01-01 00:00:00', 'UTC') + id * 60, NULL, 'x', toDate('2026-01-01') + id
     FROM numbers(3000)`,
  ],
});

const columns = byEngine({
  postgres: {
    id: "bigint",
    org: "text",
    day: "date",
    at: "timestamp",
    seen: "timestamptz",
    never: "date",
    candidate: "text",
    last: "date",
  },
  clickhouse: {
    id: "Int64",
    org: "String",
    day: "Date",
    at: "DateTime64(0, 'UTC')",
    seen: "Nullable(DateTime('UTC'))",
    never: "Nullable(Date32)",
    candidate: "String",
    last: "SimpleAggregateFunction(max, Date)",
  },
});

const model = (name: string, routewright: object, api = {}) => ({
  name,
  schema,
  columns,
  api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: 10, max_limit: 50 }, ...api },
  routewright,
});
const filters = ["id", "org", "day"];
const manifest = manifestOf([
  model("payments", { filters, fields: true }),
  model("own", { filters, rows: { column: "org", equals: "org" } }),
  model("filtered", { filters }, { allow_unfiltered: false }),
  // Rows as they are in the table, without declared columns.
  { ...model("undeclared", {}), columns: {} },
]) as { nodes: Record<string, { alias: string }> };
for (const node of Object.values(manifest.nodes)) node.alias = "payments";

const ACME = { tier: "tier1", org: "acme" };
// The second one asks only where requests are counted.
const API_KEYS = JSON.stringify({ sk_live_acme: ACME, sk_live_counted: ACME });
const url = await serveManifest(manifest, { API_KEYS });

/** The text and the data of an answer, and how many requests are left in the caller's window. */
async function call(
  name: string,
  path: string,
  parameters: object = {},
  more: object = {},
  key = "sk_live_acme",
) {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "x-api-key": key,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name,
        arguments: { path: `/v1/shop/${path}`, ...(name !== "describe_endpoint" && { parameters }), ...more },
      },
    }),
  });
  const { result } = (await response.json()) as {
    result: { content: { text: string }[]; structuredContent?: unknown };
  };
  return {
    text: result.content[0]?.text ?? "",
    data: result.structuredContent,
    left: Number(response.headers.get("x-ratelimit-remaining")),
  };
}

it("an endpoint is described with what the values of its filters are", async () => {
  const { data } = await call("describe_endpoint", "payments");
  expect(data).toMatchObject({
    filters: [
      { column: "id", value: "an integer" },
      { column: "org", value: "a text" },
      { column: "day", value: "a date in YYYY-MM-DD format" },
    ],
  });
});

const summary = (path: string, parameters: object = {}) => call("summarize_endpoint", path, parameters);

const ALL = {
  count: 3000,
  dates: {
    day: { min: "2026-01-02", max: "2034-03-20" },
    at: { min: "2026-01-01T01:00:00Z", max: "2026-05-06T00:00:00Z" },
    seen: { min: "2026-01-01T00:01:00Z", max: "2026-01-03T02:00:00Z" },
    last: { min: "2026-01-02", max: "2034-03-20" },
  },
};

it("summarizes all pages in one request: the rows, and the bounds of dates and times as rows have them", async () => {
  const counted = (path: string, parameters: object = {}) =>
    call("summarize_endpoint", path, parameters, {}, "sk_live_counted");
  const first = await counted("payments");
  expect(first.data).toEqual(ALL);
  expect((await counted("undeclared")).data).toEqual(ALL);
  expect((await counted("payments", { limit: 1 })).left).toBe(first.left - 2);
});

it("summarizes what filters and the choice of columns leave, and the caller's own rows", async () => {
  expect((await summary("payments", { "id[lte]": 10, fields: "day" })).data).toEqual({
    count: 10,
    dates: { day: { min: "2026-01-02", max: "2026-01-11" } },
  });
  expect((await summary("payments", { "org[eq]": "none" })).data).toEqual({ count: 0, dates: {} });
  expect((await summary("own", { "id[lt]": 10 })).data).toMatchObject({
    count: 4,
    dates: { day: { min: "2026-01-03", max: "2026-01-09" } },
  });
  expect((await summary("filtered")).text).toBe(
    'HTTP 400: {"detail":"At least one business filter is required for this endpoint."}',
  );
  expect((await summary("payments", { city: "Rome" })).text).toContain("The endpoint takes: id[eq|");
});

it("queries by column filters, lists included", async () => {
  const query = (parameters: object) => call("query_endpoint", "payments", parameters);
  expect((await query({ "id[in]": [3, 5], fields: ["id", "day"] })).data).toEqual({
    returned: 2,
    has_more: false,
    total: 2,
    rows: [
      { id: 3, day: "2026-01-04" },
      { id: 5, day: "2026-01-06" },
    ],
  });
  expect((await query({ "day[gt]": "2034-03-19", fields: "id" })).data).toMatchObject({
    rows: [{ id: 3000 }],
  });
  expect((await query({ "id[gt]": "soon" })).text).toBe(
    `HTTP 400: {"detail":"Parameter 'id[gt]' must be an integer."}`,
  );
});

/** What `GET /v1/system/chart` answers; a refusal as the tool's text. */
async function pointsByHttp(path: string, query: string): Promise<unknown> {
  const address = `${url}/v1/system/chart?path=/v1/shop/${path}&${query}`;
  const response = await fetch(address, { headers: { "x-api-key": "sk_live_acme" } });
  const text = await response.text();
  return response.ok ? JSON.parse(text) : `HTTP ${String(response.status)}: ${text}`;
}

describe("the points of a chart", () => {
  const points = (path: string, more: object, parameters: object = {}) =>
    call("chart_endpoint", path, parameters, more);

  it.each([
    ["payments", { x: "org", y: ["id"] }, {}, "x=org&y=id"],
    ["payments", { x: "day", grain: "year", y: ["id"], by: ["org"] }, {}, "x=day&grain=year&y=id&by=org"],
    [
      "payments",
      { x: "org", y: ["id"] },
      { "id[lte]": 10, "org[in]": ["acme"] },
      "x=org&y=id&id[lte]=10&org[in]=acme",
    ],
    ["own", { x: "org", y: ["id"] }, {}, "x=org&y=id"],
    ["filtered", { x: "org", y: ["id"] }, {}, "x=org&y=id"],
    ["payments", { x: "none", y: ["id"] }, {}, "x=none&y=id"],
    ["payments", { x: "org", y: ["candidate"] }, {}, "x=org&y=candidate"],
  ])("of %s by %o are those of GET /v1/system/chart", async (path, more, parameters, query) => {
    const expected = await pointsByHttp(path, query);
    const { data, text } = await points(path, more, parameters);
    expect(typeof expected === "string" ? text : data).toEqual(expected);
  });

  it("are as many as a model should get, the largest first", async () => {
    const { data, text } = await points("payments", { x: "id", y: ["id"] });
    const { points: found, more } = data as { points: { x: number; sum: unknown[] }[]; more: boolean };
    expect(more).toBe(true);
    expect(found.slice(0, 2).map(({ x, sum }) => [x, String(sum[0])])).toEqual([
      [3000, "3000"],
      [2999, "2999"],
    ]);
    expect(text.length).toBeLessThan(22_000);
    expect(text.length).toBeGreaterThan(15_000);
  });
});

import { describe, expect, it } from "vitest";
import { shapeOf } from "../../../runtime/core/handler/request-shape.js";
import { parameterNames } from "../../../runtime/core/handler/resolve.js";
import { byEngine, ownTables } from "../../support/engines.js";
import { post, type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { idsOf } from "../../support/orders.js";
import { KEYS, serveManifest } from "../../support/service.js";

const TYPES = byEngine({
  postgres: {
    ...{ id: "integer", status: "text", country: "text", amount: "numeric(20,2)", at: "timestamptz" },
    ...{ active: "boolean", code: "uuid", "odd name": "text" },
  },
  clickhouse: {
    ...{
      id: "Int32",
      status: "Nullable(String)",
      country: "Nullable(String)",
      amount: "Nullable(Decimal(20, 2))",
    },
    ...{ at: "Nullable(DateTime64(3, 'UTC'))", active: "Nullable(Bool)", code: "Nullable(UUID)" },
    "odd name": "Nullable(String)",
  },
});
const UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const ROWS = `(1, 'paid', 'AT', 10.50, '2024-02-29 23:59:59.999', true, '${UUID}', 'x'),
  (2, 'open', 'AT', 9.99, '2024-03-01 00:00:00', false, NULL, 'y'),
  (3, 'paid', 'DE', 100000000000000000.01, '2025-01-31 12:00:00', NULL, NULL, NULL),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (5, 'it''s', 'DE', -1, '1999-12-31 23:59:59', true, NULL, 'z')`;
const definition = Object.entries(TYPES)
  .map(([name, type]) => `"${name}" ${type}`)
  .join(", ");
const schema = await ownTables({
  postgres: `CREATE TABLE @.orders (${definition}); INSERT INTO @.orders VALUES ${ROWS}`,
  clickhouse: [`CREATE TABLE @.orders (${definition}) ORDER BY id`, `INSERT INTO @.orders VALUES ${ROWS}`],
});
const FILTERS = Object.keys(TYPES).filter((name) => name !== "id");
const API = { methods: ["GET", "POST"], allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] };
const STATUS = { name: "status", column: "status", operator: "=", type: "string" };
const model = (name: string, api: object, routewright: object = {}) => ({
  name,
  schema,
  alias: "orders",
  columns: TYPES,
  api: { ...API, ...api },
  routewright: { filters: FILTERS, filter: true, ...routewright },
});
const PAGINATION = { enabled: true, default_limit: 2, max_limit: 10 };
const url = await serveManifest(
  manifestOf([
    model("orders", { parameters: [STATUS] }),
    model("needy", { allow_unfiltered: false }),
    model("any_of", { parameters: [STATUS], require_any_of: ["status"] }),
    model("pages", { pagination: PAGINATION }),
    model(
      "sums",
      {},
      {
        aggregate: {
          group_by: ["country"],
          measures: { total: { agg: "sum", column: "amount" }, n: { agg: "count" } },
        },
      },
    ),
    model("without", {}, { filter: false }),
  ]),
);
const key = KEYS.tier3;
const get = (filter: string, path = "orders", more: Readonly<Record<string, string>> = {}): Promise<Reply> =>
  sendRequest(url, `/v1/shop/${path}?${new URLSearchParams({ filter, ...more }).toString()}`, { key });
const detail = ({ status, text }: Reply): unknown => [
  status,
  (JSON.parse(text) as { detail: string }).detail,
];
const idsIn = (reply: Reply): unknown => (reply.status === 200 ? idsOf(reply.text) : reply.text);

describe("an expression selects", () => {
  it.each([
    ["status eq 'paid' or country eq 'DE'", [1, 3, 5]],
    ["country eq 'AT' and (amount ge 10.00 or contains(status,'pe')) and not (status in ('a','b'))", [1, 2]],
    ["status ne 'paid'", [2, 4, 5]],
    ["not (status eq 'paid')", [2, 4, 5]],
    ["not not (status eq 'paid')", [1, 3]],
    ["amount lt 10 or amount gt 10", [1, 2, 3, 5]],
    ["not (amount lt 10)", [1, 3, 4]],
    ["amount eq 100000000000000000.01", [3]],
    ["amount eq 100000000000000000.0", []],
    ["status eq null", [4]],
    ["status ne null", [1, 2, 3, 5]],
    ["amount le null", []],
    ["status in ('paid', null)", [1, 3, 4]],
    ["status eq 'it''s'", [5]],
    ["not contains(status, 'p')", [5]],
    ["startswith(status,'p') or endswith(status,'n')", [1, 2, 3]],
    ["contains(status,'%')", []],
    ["active", [1, 5]],
    ["not active", [2]],
    ["active eq false", [2]],
    ["active ne true", [2, 3, 4]],
    [`code eq ${UUID.toUpperCase()}`, [1]],
    ["year(at) eq 2024", [1, 2]],
    ["year(at) ne 2024", [3, 4, 5]],
    ["year(at) lt 2024 or month(at) eq 1", [3, 5]],
    // Years that no four digits write.
    ["year(at) le 12000 and year(at) gt -12000", [1, 2, 3, 5]],
    ["year(at) eq 10000 or year(at) lt 0", []],
    ["day(at) in (1, 29)", [1, 2]],
    ["date(at) le 2024-02-29", [1, 5]],
    ["at gt 2024-02-29T23:59:59.999Z and at lt 2024-03-01T05:30:00.001+05:30", [2]],
    ['"odd name" eq \'x\' or "odd name" eq null', [1, 3, 4]],
    ["STATUS eq 'paid'".toLowerCase().replace("eq", "EQ"), [1, 3]],
    ["\n ( status  eq 'paid' )\tAND active", [1]],
  ])("%s", async (filter, ids) => {
    expect(idsIn(await get(filter))).toEqual(ids);
    const sent = await post(url, "/v1/shop/orders", JSON.stringify({ filter }), { key });
    expect(idsIn(sent)).toEqual(ids);
  });

  it("rows that parameters and operators select too", async () => {
    expect(
      idsIn(await get("active or country eq 'DE'", "orders", { status: "paid", "amount[gt]": "11" })),
    ).toEqual([3]);
  });

  it("the rows of groups, values, charts and counts", async () => {
    const sums = await get("status eq 'paid' or active", "sums", { group_by: "country", measures: "n" });
    expect(JSON.parse(sums.text)).toEqual([
      { country: "AT", n: 1 },
      { country: "DE", n: 2 },
    ]);
    const query = new URLSearchParams({
      path: "/v1/shop/orders",
      column: "country",
      filter: "status eq 'paid' or active",
    });
    const values = await sendRequest(url, `/v1/system/values?${query.toString()}`, { key });
    expect(JSON.parse(values.text)).toEqual({
      values: [
        { value: "DE", rows: 2 },
        { value: "AT", rows: 1 },
      ],
      more: false,
    });
    const search = new URLSearchParams({
      path: "/v1/shop/orders",
      x: "country",
      y: "amount",
      filter: "active",
    });
    const points = await sendRequest(url, `/v1/system/chart?${search.toString()}`, { key });
    expect([points.status, points.text]).toEqual([200, expect.stringContaining("10.5")]);
    const counted = await sendRequest(
      url,
      `/v1/shop/pages?${new URLSearchParams({ filter: "not active" }).toString()}`,
      {
        key,
        headers: { Prefer: "count=exact" },
      },
    );
    expect(counted.headers["x-total-count"]).toBe("1");
  });

  it("the rows of the next page, by its link", async () => {
    const first = await get("status eq 'paid' or country eq 'DE'", "pages");
    expect(idsIn(first)).toEqual([1, 3]);
    const link = /<([^>]+)>/.exec(String(first.headers["link"]))?.[1] ?? "";
    expect(idsIn(await sendRequest(url, link, { key }))).toEqual([5]);
  });

  it("the rows of a tool of language models", async () => {
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        ...{ "x-api-key": key, "content-type": "application/json" },
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: {
          name: "query_endpoint",
          arguments: { path: "/v1/shop/pages", parameters: { filter: "status eq 'paid' or active" } },
        },
      }),
    });
    const { result } = (await response.json()) as {
      result: { structuredContent: { rows: readonly { id: number }[] } };
    };
    expect(result.structuredContent.rows.map(({ id }) => id)).toEqual([1, 3, 5]);
  });

  it("one result, however it is written", async () => {
    const tags = await Promise.all(
      ["status eq 'paid' or active", "( status  EQ 'paid' )or(active)", "((status eq 'paid') or active)"].map(
        async (filter) => (await get(filter)).headers["etag"],
      ),
    );
    expect(new Set(tags).size).toBe(1);
  });

  it("the rows of every format", async () => {
    const csv = await sendRequest(
      url,
      `/v1/shop/orders.csv?${new URLSearchParams({ filter: "not active" }).toString()}`,
      { key },
    );
    expect(csv.text.split(/\r?\n/)[1]).toMatch(/^2,"open","AT",9\.99,/);
  });
});

describe("an endpoint that needs a filter", () => {
  it.each([
    "status eq 'paid'",
    "active and not (amount eq 1)",
    "contains(status,'a')",
    "amount gt 1 and amount lt 10",
    "status eq null",
  ])("has one in %s", async (filter) => {
    expect((await get(filter, "needy")).status).toBe(200);
  });

  it.each([
    ...["status eq 'paid' or active", "not (status eq 'paid')", "status ne 'paid'", "amount gt 1"],
    ...["status ne null", "amount le null", "month(at) lt 13"],
  ])("has none in %s", async (filter) => {
    expect(detail(await get(filter, "needy"))).toEqual([
      400,
      "At least one business filter is required for this endpoint.",
    ]);
  });

  it("needs its parameters", async () => {
    expect((await get("status eq 'paid'", "any_of")).status).toBe(400);
    expect(idsIn(await get("active", "any_of", { status: "paid" }))).toEqual([1]);
  });
});

it("usage counts the columns that an expression compares, and shapes name them", async () => {
  const { readFilter } = await import("../../../runtime/filter/filter.js");
  const scope = {
    filters: [
      { column: "status", type: "text" },
      { column: "active", type: "boolean" },
    ],
    timezoneOf: () => undefined,
  } as const;
  const conditions = readFilter("status eq 'a' and (active or status eq null)", scope);
  const fields = new Map([["filter", { from: "query", texts: [""] }]]);
  const names = parameterNames({} as never, { fields, selection: { conditions } } as never);
  expect(names).toEqual(["filter", "filter=status", "filter=active"]);
  const query = { fields, selection: { conditions }, format: "json" } as never;
  const endpoint = { spec: { filter: true, parameters: [] } } as never;
  expect(shapeOf(endpoint, query, "GET", "tier1")).toBe("GET json tier1 filter=active,status");
});

const COLUMNS = FILTERS.join(", ");

describe("refuses", () => {
  it.each([
    ["status", "'filter' at position 1: expected a comparison of status, which is no boolean."],
    ["status eq", "'filter' at position 10: expected a value; found the end."],
    ["status eq 'paid", "'filter' at position 16: expected a quote that ends the text; found the end."],
    ["status eq 'a' xor active", "'filter' at position 15: expected and, or, the end; found 'x'."],
    ["(status eq 'a'", `'filter' at position 15: expected ), and, or; found the end.`],
    ["id eq 1", `'filter' at position 1: expected one of the columns ${COLUMNS}.`],
    ["year(id) eq 1", `'filter' at position 6: expected one of the columns ${COLUMNS}.`],
    ["amount eq '1'", "'filter' at position 11: expected a number, or null."],
    ["status eq 1", "'filter' at position 11: expected a text in quotes, or null."],
    ["at gt 2024-01-01", "'filter' at position 7: expected a date-time, or null."],
    ["date(at) eq 2024-02-30", "'filter' at position 13: expected a date in YYYY-MM-DD format, or null."],
    ["year(at) eq 1.5", "'filter' at position 13: expected an integer, or null."],
    [
      "year(amount) eq 1",
      "'filter' at position 6: expected a column of dates or times, which amount is not.",
    ],
    [
      "active gt true",
      "'filter' at position 1: expected eq, ne or in for active, whose values have no order.",
    ],
    ["contains(amount,'1')", "'filter' at position 10: expected a column of texts, which amount is not."],
    ["status eq 'a\0'", "Parameter 'filter' must not contain the character U+0000."],
    [`status eq '${"a".repeat(1001)}'`, "Parameter 'filter' allows at most 1000 characters."],
  ])("%s", async (filter, message) => {
    expect(detail(await get(filter))).toEqual([400, message]);
  });

  it("two expressions, and one of an endpoint that has none", async () => {
    const twice = await sendRequest(url, "/v1/shop/orders?filter=active&filter=active", { key });
    expect(detail(twice)).toEqual([400, "Parameter 'filter' expects a single value."]);
    expect(detail(await get("active", "without"))).toEqual([400, "Unsupported query parameters: filter"]);
  });

  const COMPLEX =
    "'filter' may have at most 8192 bytes, 1000 values, and 16 levels of parentheses and 'not'.";
  it.each<[string, string]>([
    ["nested parentheses", `${"(".repeat(4000)}active${")".repeat(4000)}`],
    ["nested negations", `${"not ".repeat(2000)}active`],
    ["a long list", `amount in (${Array.from({ length: 2000 }, () => "1").join(",")})`],
    ["many conditions", Array.from({ length: 1001 }, () => "active").join(" or ")],
    ["more bytes", `status eq '${"x".repeat(8192)}'`],
    ["more bytes than characters", `status eq '${"€".repeat(3000)}'`],
    ["a megabyte", "(".repeat(1_000_000)],
    ["a megabyte of text", `'${"a".repeat(1_000_000)}`],
  ])("%s", async (_, filter) => {
    const reply = await post(url, "/v1/shop/orders", JSON.stringify({ filter }), { key });
    expect(detail(reply)).toEqual([400, COMPLEX]);
  });

  it.each([
    "'''",
    "''''''''",
    "\u202e eq 1",
    "😀 eq '😀'",
    "'",
    "((((",
    "eq eq eq",
    "1e999999 eq 1",
    "a".repeat(8000),
    "\uffff",
  ])("%j", async (filter) => {
    const reply = await post(url, "/v1/shop/orders", JSON.stringify({ filter }), { key });
    expect(reply.status).toBe(400);
  });
});

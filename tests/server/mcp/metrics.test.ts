import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { EXPOSURE, exposureDatabase } from "../../metrics/exposure-tables.js";
import { atEnd } from "../../support/at-end.js";
import { serveManifest } from "../../support/service.js";

const named = structuredClone(EXPOSURE) as {
  metrics: Record<string, { label?: string; description?: string; config: { meta: Record<string, object> } }>;
};
const revenue = named.metrics["metric.test.revenue"];
if (revenue === undefined) throw new Error("The project has no metric revenue.");
revenue.label = "Gross merchandise value";
revenue.description = "What merchants were paid, in euros.";
revenue.config.meta["routewright"] = { ...revenue.config.meta["routewright"], synonyms: ["turnover"] };

const url = await serveManifest(named, {
  DATABASE_URL: await exposureDatabase(),
  RATE_LIMITS: "100000",
  API_KEYS: JSON.stringify({
    sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
    sk_live_other: { tier: "tier0", user: "other", org: "other" },
  }),
});

async function connect(key: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { "X-API-Key": key } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  atEnd(() => client.close());
  return client;
}

const [acme, other] = [await connect("sk_live_acme"), await connect("sk_live_other")];
const REVENUE = "/v1/pay/revenue";

async function call(client: Client, name: string, args: Record<string, unknown>) {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  const [content] = result.content;
  return { text: content?.type === "text" ? content.text : "", isError: result.isError === true };
}

const rowsOf = async (client: Client, args: Record<string, unknown>): Promise<unknown> =>
  (JSON.parse((await call(client, "query_metrics", args)).text) as { readonly rows: unknown }).rows;

describe("metrics are found", () => {
  it.each([
    ["a synonym", "turnover"],
    ["a label", "gross merchandise value"],
    ["a description", "paid merchants"],
    ["a name", "revenue"],
    ["a group", "revenue by token and customer region"],
  ])("by %s", async (_, query) => {
    const { text } = await call(acme, "search_endpoints", { query });
    const { endpoints } = JSON.parse(text) as { readonly endpoints: readonly object[] };
    // A saved query of the same metric may come first.
    const wanted = { path: REVENUE, metrics: ["payment_count", "revenue"] };
    expect(endpoints.slice(0, 2)).toContainEqual(expect.objectContaining(wanted));
  });

  it("and described with groups, grains, filters and metrics", async () => {
    const { text } = await call(acme, "describe_endpoint", { path: REVENUE });
    expect(JSON.parse(text)).toMatchObject({
      aggregate: {
        of: "metrics",
        is_saved: false,
        measures: [
          { name: "payment_count", label: null },
          { name: "revenue", label: "Gross merchandise value" },
        ],
        groups: [
          { name: "metric_time", grains: ["day", "week", "month", "quarter", "year"] },
          { name: "payment__token" },
          { name: "payment__paid_on" },
          { name: "customer__region" },
        ],
      },
    });
  });
});

describe("one tool asks for metrics", () => {
  it("by groups with grains, filters, days, a sort and a limit, of the caller's rows", async () => {
    const asked = {
      path: REVENUE,
      measures: ["revenue"],
      group_by: ["metric_time__month", "payment__token"],
      filters: { "payment__token[in]": ["GNO", "XDAI"] },
      start_date: "2026-01-01",
      end_date: "2026-01-31",
      sort_by: "revenue",
      sort_direction: "DESC",
    };
    expect(await rowsOf(acme, { ...asked, limit: 1 })).toEqual([
      { metric_time__month: "2026-01-01", payment__token: "XDAI", revenue: 7 },
    ]);
    expect(await rowsOf(other, asked)).toEqual([
      { metric_time__month: "2026-01-01", payment__token: "GNO", revenue: 100 },
    ]);
  });

  it("with the units of measures and the grains of times", async () => {
    const asked = { path: REVENUE, group_by: ["metric_time__month", "payment__token"] };
    const { text } = await call(acme, "query_metrics", asked);
    expect(JSON.parse(text)).toMatchObject({
      units: { revenue: "€" },
      grains: { metric_time__month: "month" },
    });
    const dates = { start_date: "2026-01-01", end_date: "2026-12-31", compare: "previous_year" };
    const compared = await call(acme, "query_metrics", { path: REVENUE, measures: ["revenue"], ...dates });
    expect(JSON.parse(compared.text)).toMatchObject({
      units: { revenue: "€", revenue__previous: "€", revenue__change: "€" },
    });
    expect(JSON.parse(compared.text)).not.toHaveProperty("grains");
  });

  it("with the first groups, the others, totals, conditions on results and an earlier period", async () => {
    const asked = { path: REVENUE, measures: ["revenue"], group_by: ["payment__token"] };
    const top = { top: 1, sort_by: "revenue", other: true, totals: true };
    expect(await rowsOf(acme, { ...asked, ...top })).toEqual([
      { payment__token: null, revenue: 12, level: 0, other: false },
      { payment__token: "XDAI", revenue: 7, level: 1, other: false },
      { payment__token: null, revenue: 5, level: 0, other: true },
    ]);
    expect(await rowsOf(acme, { ...asked, filters: { "revenue[gt]": 6 } })).toEqual([
      { payment__token: "XDAI", revenue: 7 },
    ]);
    const year = { start_date: "2027-01-01", end_date: "2027-12-31", compare: "previous_year" };
    expect(await rowsOf(acme, { path: REVENUE, measures: ["revenue"], ...year })).toEqual([
      { revenue: null, revenue__previous: 12, revenue__change: null },
    ]);
  });

  it("without groups and metrics: the total of all", async () => {
    expect(await rowsOf(acme, { path: REVENUE })).toEqual([{ revenue: 12, payment_count: 2 }]);
    expect(await rowsOf(acme, { path: "/v1/pay/own_payments" })).toEqual([
      { volume: 12, payments: 2, gno: 1 },
    ]);
    expect(await rowsOf(other, { path: "/v1/pay/by_region" })).toEqual([
      { customer__region: "US", revenue: 100, payment_count: 1 },
    ]);
  });

  it("page by page, where a cursor is the caller's own", async () => {
    const asked = { path: REVENUE, measures: ["revenue"], group_by: ["payment__token"], limit: 1 };
    const { text } = await call(acme, "query_metrics", asked);
    const { next_cursor: cursor, rows } = JSON.parse(text) as { next_cursor: string; rows: unknown };
    expect(rows).toEqual([{ payment__token: "GNO", revenue: 5 }]);
    expect(await rowsOf(acme, { ...asked, cursor })).toEqual([{ payment__token: "XDAI", revenue: 7 }]);
    for (const [client, more] of [
      [other, {}],
      [acme, { group_by: ["customer__region"] }],
      [acme, { filters: { payment__token: "GNO" } }],
    ] as const)
      expect([more, await call(client, "query_metrics", { ...asked, ...more, cursor })]).toEqual([
        more,
        { isError: true, text: expect.stringContaining("cursor") as unknown },
      ]);
  });

  it("and one their values, of the caller's rows", async () => {
    const listed = async (client: Client, path: string, column: string, more: object = {}) => {
      const { text, isError } = await call(client, "list_values", { path, column, ...more });
      return isError
        ? text
        : (JSON.parse(text) as { values: { value: unknown }[] }).values.map(({ value }) => value);
    };
    for (const round of [1, 2])
      expect([
        round,
        await listed(acme, REVENUE, "payment__token"),
        await listed(other, REVENUE, "payment__token"),
        await listed(acme, REVENUE, "metric_time__month"),
        await listed(other, "/v1/pay/by_region", "customer__region"),
      ]).toEqual([round, ["GNO", "XDAI"], ["GNO"], ["2026-01-01"], ["US"]]);
    expect(await listed(acme, REVENUE, "payment__token", { prefix: "x" })).toEqual(["XDAI"]);
    expect(await listed(acme, REVENUE, "payment__token", { parameters: { payment__token: "GNO" } })).toEqual([
      "GNO",
    ]);
    for (const column of ["payment__email", "revenue", "org_id", "customer__phone"])
      expect(await listed(acme, REVENUE, column)).toContain("'column' must be among: metric_time");
    expect(await listed(acme, "/v1/pay/guarded", "payment__token")).toContain("no endpoint /v1/pay/guarded");
  });

  it("and refuses private columns, unknown names, higher tiers and endpoints without measures", async () => {
    for (const args of [
      { path: REVENUE, group_by: ["payment__email"] },
      { path: REVENUE, filters: { "payment__email[null]": false } },
      { path: REVENUE, filters: { customer__phone: "+1" } },
      { path: REVENUE, sort_by: "payment__email" },
      { path: REVENUE, measures: ["max_email"] },
      { path: REVENUE, group_by: "payment__token" },
      { path: REVENUE, filters: { org_id: "other" } },
      { path: "/v1/pay/by_region", group_by: ["payment__token"] },
      { path: "/v1/pay/by_region", measures: ["revenue"] },
      { path: "/v1/pay/guarded_sum" },
      { path: "/v1/pay/guarded" },
    ])
      expect([args, (await call(acme, "query_metrics", args)).isError]).toEqual([args, true]);
  });
});

it("llms.txt lists metrics, groups and grains", async () => {
  const text = await (await fetch(`${url}/llms.txt`, { headers: { "X-API-Key": "sk_live_acme" } })).text();
  const line = text.split("\n").find((each) => each.includes(`](${REVENUE})`));
  expect(line).toContain(
    "[metrics=payment_count,revenue; group_by: metric_time (day, week, month, quarter, year), payment__token, payment__paid_on (day, week, month, quarter, year), customer__region]",
  );
});

/** Metrics and saved queries below `/odata`: sets of groups alone. */
import { describe, expect, it } from "vitest";
import { questionManifest, questionMetric, questionTables } from "../../metrics/question-tables.js";
import { sendRequest } from "../../support/http-client.js";
import { serveManifest } from "../../support/service.js";

const schema = await questionTables();
const manifest = {
  ...questionManifest(schema, {
    ...questionMetric("revenue", "simple", { measure: { name: "amount" } }),
  }),
  saved_queries: {
    "saved_query.test.by_month": {
      name: "by_month",
      query_params: { metrics: ["revenue"], group_by: ["TimeDimension('metric_time', 'month')"] },
      config: { tags: ["production", "shop", "api:by_month", "tier0"] },
    },
  },
};
const url = await serveManifest(manifest, {
  API_KEYS: JSON.stringify({ sk_live_all: { tier: "tier3", user: "all", org: "*" } }),
});
const key = "sk_live_all";
const ask = (path: string) => sendRequest(url, encodeURI(path), { key });

async function valueOf(path: string): Promise<unknown> {
  const { status, text } = await ask(path);
  expect([path, status, text]).toEqual([path, 200, text]);
  const body = JSON.parse(text) as { value?: unknown };
  return body.value ?? body;
}

describe("a metric", () => {
  it("has the groups of the API by $apply, and totals by rollup", async () => {
    const native = await valueOf("/v1/shop/revenue?group_by=metric_time__month&limit=1000");
    const apply = "groupby((metric_time__month),aggregate(revenue))";
    expect(native).not.toEqual([]);
    expect(await valueOf(`/odata/shop__revenue()?$apply=${apply}`)).toEqual(native);
    const total = await valueOf("/v1/shop/revenue");
    expect(await valueOf("/odata/shop__revenue()?$apply=aggregate(revenue)")).toEqual(total);
    const rolledUp = "groupby((rollup($all,metric_time__month)),aggregate(revenue))";
    expect(await valueOf(`/odata/shop__revenue?$apply=${rolledUp}`)).toEqual(
      await valueOf("/v1/shop/revenue?group_by=metric_time__month&totals=true"),
    );
  });

  it("is a function in the documents, which say what $apply takes", async () => {
    expect(await valueOf("/odata/")).toContainEqual(
      expect.objectContaining({ name: "shop__revenue", kind: "FunctionImport", url: "shop__revenue()" }),
    );
    const { text } = await ask("/odata/$metadata");
    expect(text).toMatch(
      /<ComplexType Name="shop__revenue">[^]*?<Property Name="metric_time__month" Type="Edm.Date"/,
    );
    const { text: json } = await ask("/odata/$metadata?$format=json");
    const [groupable = ""] =
      /"GroupableProperties":\[[^\]]*\]/.exec(json.slice(json.indexOf("revenue"))) ?? [];
    expect(groupable).toContain('"metric_time__month"');
    expect(groupable).not.toContain('"revenue"');
    expect(json).toContain('"@Aggregation.CustomAggregate#revenue"');
    // Days as a unit are for numbers.
    expect(text).toContain('Name="metric_time__day" Type="Edm.Date"/>');
  });

  it.each([
    ["shop__revenue()", 501],
    ["shop__revenue()?$top=1", 501],
    ["shop__revenue/$count", 501],
    ["shop__revenue(1)", 404],
    ["shop__revenue()?$apply=groupby((nope),aggregate(revenue))", 400],
    ["shop__revenue()?$apply=groupby((metric_time__month))", 501],
  ])("%s is %i", async (path, status) => {
    const reply = await ask(`/odata/${path}`);
    expect([reply.status, reply.text]).toEqual([status, reply.text]);
    expect(JSON.parse(reply.text)).toHaveProperty("error.code");
  });
});

describe("a saved query", () => {
  it("has its groups without $apply", async () => {
    const native = await valueOf("/v1/shop/by_month");
    expect(native).not.toEqual([]);
    expect(await valueOf("/odata/shop__by_month()")).toEqual(native);
    expect((await ask("/odata/shop__by_month()?$apply=aggregate(revenue)")).status).toBe(501);
  });
});

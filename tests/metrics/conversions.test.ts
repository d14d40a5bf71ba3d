import { expect, it } from "vitest";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";

const schema = await questionTables();
const conversion = (more: object, filter?: string): Parameters<typeof questionMetric>[2] => ({
  conversion_type_params: {
    base_measure: { name: "visits" },
    conversion_measure: {
      name: "buys",
      ...(filter !== undefined && { filter: { where_filters: [{ where_sql_template: filter }] } }),
    },
    entity: "customer",
    ...more,
  },
});
const week = { window: { count: 7, granularity: "day" } };
const metrics = {
  ...questionMetric("rate", "conversion", conversion({ calculation: "conversion_rate" })),
  ...questionMetric("within_a_week", "conversion", conversion({ calculation: "conversions", ...week })),
  ...questionMetric(
    "in_the_channel",
    "conversion",
    conversion({
      calculation: "conversions",
      ...week,
      constant_properties: [{ base_property: "channel", conversion_property: "channel" }],
    }),
  ),
  ...questionMetric(
    "by_app",
    "conversion",
    conversion({ calculation: "conversions" }, "{{ Dimension('buy__channel') }} = 'app'"),
  ),
};
const url = await serveManifest(questionManifest(schema, metrics), {
  API_KEYS: JSON.stringify({
    sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
    sk_live_all: { tier: "tier3", user: "all", org: "*" },
  }),
});

async function ask(request: string, key = "acme"): Promise<unknown> {
  const response = await fetch(`${url}/v1/shop/${request}`, { headers: { "X-API-Key": `sk_live_${key}` } });
  return response.json();
}

it("a conversion counts with the last row before it", async () => {
  expect(await ask("rate")).toEqual([{ rate: 1 }]);
  expect(await ask("rate?group_by=visit__channel&sort_by=visit__channel")).toEqual([
    { visit__channel: "app", rate: 2 },
    { visit__channel: "web", rate: 0.5 },
  ]);
});

it("only within its window, and where constant properties are the same", async () => {
  expect(await ask("within_a_week?group_by=visit__channel")).toEqual([
    { visit__channel: "app", within_a_week: 1 },
    { visit__channel: "web", within_a_week: 1 },
  ]);
  expect(await ask("in_the_channel?group_by=visit__channel")).toEqual([
    { visit__channel: "app", in_the_channel: 1 },
    { visit__channel: "web", in_the_channel: null },
  ]);
});

it("filters of the request are of the rows before, those of the measure of the conversions", async () => {
  expect(await ask("rate?visit__channel=web")).toEqual([{ rate: 1.5 }]);
  expect(await ask("by_app")).toEqual([{ by_app: 2 }]);
});

it("conversions of another organization count with no row", async () => {
  expect(await ask("within_a_week")).toEqual([{ within_a_week: 2 }]);
  expect(await ask("within_a_week", "all")).toEqual([{ within_a_week: 3 }]);
});

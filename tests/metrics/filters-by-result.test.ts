import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { catalogueText, readCatalogue } from "../../generator/catalogue/catalogue-file.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";

type Json = Readonly<Record<string, unknown>>;

const schema = await questionTables();
const sum = { measure: { name: "amount" } };
const by = (metric: string, entity = "customer"): string =>
  `{{ Metric('${metric}', group_by=['${entity}']) }}`;
const filtered = (filter: string): Json => ({
  measure: { name: "amount", filter: { where_filters: [{ where_sql_template: filter }] } },
});

const METRICS = {
  ...questionMetric("amount", "simple", sum),
  ...questionMetric("visits", "simple", { measure: { name: "visits" } }),
  ...questionMetric("buys", "simple", { measure: { name: "buys" } }),
  ...questionMetric("of_visitors", "simple", sum, `${by("visits")} >= 2`),
  ...questionMetric("of_frequent", "simple", filtered(`${by("visits")} > 2 AND ${by("visits")} < 9`)),
  ...questionMetric("of_small", "simple", sum, `${by("amount")} < 100 OR ${by("visits")} IS NULL`),
  ...questionMetric("of_those", "simple", sum, `${by("of_visitors")} > 0`),
  ...questionMetric("per_visit", "ratio", {
    numerator: { name: "of_visitors" },
    denominator: { name: "visits" },
  }),
  ...questionMetric(
    "of_week",
    "cumulative",
    { measure: { name: "amount" }, cumulative_type_params: { window: { count: 7, granularity: "day" } } },
    `${by("visits")} >= 2`,
  ),
};

const manifest = (more: Json = {}, queries: Json = {}): ReturnType<typeof questionManifest> => ({
  ...questionManifest(schema, { ...METRICS, ...more }),
  saved_queries: queries,
});

const url = await serveManifest(
  manifest(
    {},
    {
      "saved_query.test.visitors": {
        name: "visitors",
        query_params: {
          metrics: ["amount", "visits"],
          group_by: ["Entity('customer')"],
          where: { where_filters: [{ where_sql_template: `${by("buys")} > 1` }] },
        },
        config: { tags: ["production", "shop", "api:visitors", "tier0"] },
      },
    },
  ),
  {
    API_KEYS: JSON.stringify({
      sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
      sk_live_all: { tier: "tier3", user: "all", org: "*" },
    }),
  },
);

async function ask(request: string, key = "all"): Promise<unknown> {
  const response = await fetch(`${url}/v1/shop/${request}`, { headers: { "X-API-Key": `sk_live_${key}` } });
  return response.json();
}

it("a filter compares the result of a metric for the entity of a row", async () => {
  expect(await ask("of_visitors?group_by=customer")).toEqual([{ customer: 10, of_visitors: 12 }]);
  expect(await ask("of_frequent")).toEqual([{ of_frequent: 12 }]);
  expect(await ask("of_small?group_by=customer&sort_by=customer")).toEqual([
    { customer: 10, of_small: 12 },
    { customer: 30, of_small: 13 },
  ]);
  expect(await ask("of_those")).toEqual([{ of_those: 12 }]);
  expect(await ask("per_visit?group_by=customer&sort_by=customer")).toEqual([
    { customer: 10, per_visit: 4 },
    { customer: 20, per_visit: null },
  ]);
});

it("of other organizations it counts nothing", async () => {
  expect(await ask("of_frequent", "acme")).toEqual([{ of_frequent: null }]);
  expect(await ask("of_small?group_by=customer&sort_by=customer", "acme")).toEqual([
    { customer: 10, of_small: 12 },
    { customer: 20, of_small: 11 },
    { customer: 30, of_small: 13 },
  ]);
});

it("what a request asks does not change it: dates, groups, conditions, the first groups and an earlier period", async () => {
  expect(await ask("of_visitors?start_date=2026-01-10&end_date=2026-01-20")).toEqual([{ of_visitors: 7 }]);
  expect(await ask("of_visitors?customer[ne]=20&of_visitors[gt]=10&group_by=customer")).toEqual([
    { customer: 10, of_visitors: 12 },
  ]);
  expect(
    await ask("of_small?group_by=customer&top=1&sort_by=of_small&sort_direction=DESC&other=true"),
  ).toEqual([
    { customer: 30, of_small: 13, other: false },
    { customer: null, of_small: 12, other: true },
  ]);
  expect(
    await ask("of_visitors?start_date=2026-01-10&end_date=2026-01-20&compare=previous_period"),
  ).toMatchObject([{ of_visitors: 7, of_visitors__previous: 5 }]);
  expect(await ask("of_week?group_by=metric_time__day&start_date=2026-01-06&end_date=2026-01-08")).toEqual([
    { metric_time__day: "2026-01-06", of_week: 5 },
    { metric_time__day: "2026-01-07", of_week: 5 },
  ]);
});

it("of a saved query it holds for all of its metrics", async () => {
  expect(await ask("visitors")).toEqual([{ customer: 10, amount: 12, visits: 3 }]);
  expect(await ask("visitors", "acme")).toEqual([{ customer: 10, amount: 12, visits: 2 }]);
});

it("catalogue.json keeps it", () => {
  const reading = parseManifest(JSON.stringify(manifest()), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const catalogue = catalogueOf(reading.value, {});
  const read = readCatalogue(catalogueText(catalogue));
  expect(read).toMatchObject({ ok: true });
  expect(read.ok && read.value.entries).toEqual(catalogue.entries);
});

describe("a metric is not served", () => {
  const reasonOf = (metric: Json): string | undefined => {
    const reading = parseManifest(JSON.stringify(manifest(metric)), "manifest.json");
    if (!reading.ok) throw new Error(reading.problems.join(" "));
    const { skipped } = catalogueOf(reading.value, {});
    return skipped.find(({ model }) => model === "metric.test.asked")?.problems[0]?.message;
  };
  const asked = (filter: string): Json => questionMetric("asked", "simple", sum, filter);
  const windowed = questionMetric("windowed", "cumulative", {
    measure: { name: "amount" },
    cumulative_type_params: { window: { count: 7, granularity: "day" } },
  });
  const marked = (metric: Json): Json => {
    const [[id, of] = ["", {}]] = Object.entries(metric) as [
      string,
      { readonly config?: { readonly meta?: object } },
    ][];
    return { [id]: { ...of, config: { ...of.config, meta: { ...of.config?.meta, pii: true } } } };
  };
  const hidden = marked(questionMetric("hidden", "simple", { measure: { name: "visits" } }));

  it.each([
    [asked(`${by("none")} > 1`), "The manifest has no metric none."],
    [asked(`${by("asked")} > 1`), "A filter of the metric asked compares itself."],
    [
      { ...asked(`${by("windowed")} > 1`), ...windowed },
      "A filter compares windowed, whose values belong to periods: it has none by entity.",
    ],
    [
      asked(`${by("visits", "country")} > 1`),
      "visits has no dimension country of its own or at most two joins away.",
    ],
    [
      asked(`${by("visits", "customer__country")} > 1`),
      "orders has no dimension country of its own or at most two joins away.",
    ],
    [
      asked(`${by("visits", "visit__channel")} > 1`),
      "A filter compares visits by visit__channel, which is no entity of visits.",
    ],
    [
      asked("{{ Metric('visits', ['customer', 'visit']) }} > 1"),
      "The filter {{ Metric('visits', ['customer', 'visit']) }} > 1 is not compiled: Metric('visits', ['customer', 'visit']) needs a metric and one entity: Metric('orders', group_by=['customer']).",
    ],
    [
      { ...asked(`${by("hidden")} > 1`), ...hidden },
      "It shows the metric hidden, which is marked private, and is not marked itself.",
    ],
  ])("case %#", (metric, message) => {
    expect(reasonOf(metric)).toBe(message);
  });

  it("unless it is marked as the private one that it compares", () => {
    expect(reasonOf({ ...marked(asked(`${by("hidden")} > 1`)), ...hidden })).toBeUndefined();
  });
});

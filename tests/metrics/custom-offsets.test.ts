import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { catalogueText, readCatalogue } from "../../generator/catalogue/catalogue-file.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";

type Json = Readonly<Record<string, unknown>>;

const schema = await questionTables();
const offsetBy = (name: string, count: number, granularity: string, more: Json = {}): Json =>
  questionMetric(name, "derived", {
    expr: "before",
    metrics: [{ name: "amount", alias: "before", offset_window: { count, granularity }, ...more }],
  });
const METRICS = {
  ...questionMetric("amount", "simple", { measure: { name: "amount" } }),
  ...offsetBy("quarter_ago", 1, "fiscal_quarter"),
  ...offsetBy("two_ago", 2, "fiscal_quarters"),
  ...questionMetric("running", "cumulative", {
    measure: { name: "amount" },
    cumulative_type_params: { period_agg: "last" },
  }),
  ...questionMetric("recent", "cumulative", {
    measure: { name: "amount" },
    cumulative_type_params: { window: { count: 7, granularity: "day" } },
  }),
  ...offsetBy("running_ago", 1, "fiscal_quarter", { name: "running" }),
  ...offsetBy("recent_ago", 1, "fiscal_quarter", { name: "recent" }),
  ...questionMetric("growth", "derived", {
    expr: "amount - before",
    metrics: [
      { name: "amount" },
      { name: "amount", alias: "before", offset_window: { count: 1, granularity: "fiscal_quarter" } },
    ],
  }),
};

const url = await serveManifest(questionManifest(schema, METRICS), {
  API_KEYS: JSON.stringify({
    sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
    sk_live_all: { tier: "tier3", user: "all", org: "*" },
  }),
});

async function ask(request: string, key = "all"): Promise<unknown> {
  const response = await fetch(`${url}/v1/shop/${request}`, { headers: { "X-API-Key": `sk_live_${key}` } });
  return response.json();
}

it("by a custom period alone all of its days stand in the later one", async () => {
  const group = "group_by=metric_time__fiscal_quarter&sort_by=metric_time__fiscal_quarter";
  expect(await ask(`quarter_ago?${group}`)).toEqual([
    { metric_time__fiscal_quarter: "Q2026-1", quarter_ago: 12 },
    { metric_time__fiscal_quarter: "Q2026-2", quarter_ago: 124 },
  ]);
  expect(await ask(`quarter_ago?${group}`, "acme")).toEqual([
    { metric_time__fiscal_quarter: "Q2026-1", quarter_ago: 12 },
    { metric_time__fiscal_quarter: "Q2026-2", quarter_ago: 24 },
  ]);
  expect(await ask(`two_ago?${group}`)).toEqual([
    { metric_time__fiscal_quarter: "Q2026-2", two_ago: 12 },
    { metric_time__fiscal_quarter: null, two_ago: 124 },
  ]);
  expect(await ask(`growth?${group}`)).toEqual([
    { metric_time__fiscal_quarter: "Q2025-4", growth: null },
    { metric_time__fiscal_quarter: "Q2026-1", growth: 112 },
    { metric_time__fiscal_quarter: "Q2026-2", growth: null },
  ]);
});

it("the n-th day stands on the n-th day, and on none where the later period has fewer", async () => {
  expect(await ask("quarter_ago?group_by=metric_time__day&sort_by=metric_time__day")).toEqual([
    { metric_time__day: "2026-03-03", quarter_ago: 5 },
    { metric_time__day: "2026-03-17", quarter_ago: 7 },
    { metric_time__day: "2026-05-03", quarter_ago: 11 },
    { metric_time__day: "2026-05-04", quarter_ago: 100 },
    { metric_time__day: null, quarter_ago: 13 },
  ]);
  expect(await ask("quarter_ago?group_by=metric_time__month,customer&sort_by=customer")).toEqual([
    { metric_time__month: "2026-03-01", customer: 10, quarter_ago: 12 },
    { metric_time__month: "2026-05-01", customer: 20, quarter_ago: 111 },
    { metric_time__month: null, customer: 30, quarter_ago: 13 },
  ]);
});

it("dates and filters of a request are on the later days and on the rows", async () => {
  expect(
    await ask(
      "quarter_ago?group_by=metric_time__month&start_date=2026-03-10&end_date=2026-05-03&sort_by=metric_time__month",
    ),
  ).toEqual([
    { metric_time__month: "2026-03-01", quarter_ago: 7 },
    { metric_time__month: "2026-05-01", quarter_ago: 11 },
  ]);
  expect(
    await ask(
      "quarter_ago?group_by=metric_time__fiscal_quarter&start_date=2026-02-01&sort_by=metric_time__fiscal_quarter",
    ),
  ).toEqual([
    { metric_time__fiscal_quarter: "Q2026-1", quarter_ago: 12 },
    { metric_time__fiscal_quarter: "Q2026-2", quarter_ago: 111 },
  ]);
  expect(await ask("quarter_ago?group_by=metric_time__year&customer=20")).toEqual([
    { metric_time__year: "2026-01-01", quarter_ago: 111 },
  ]);
  expect(await ask("quarter_ago")).toMatchObject({
    detail: expect.stringContaining("metric_time") as unknown,
  });
});

it("accumulated values of a day stand on the same day of the later period, and on none that it has not", async () => {
  const byQuarter = "group_by=metric_time__fiscal_quarter&sort_by=metric_time__fiscal_quarter";
  expect(await ask(`running_ago?${byQuarter}`)).toEqual([
    { metric_time__fiscal_quarter: "Q2026-1", running_ago: 12 },
    { metric_time__fiscal_quarter: "Q2026-2", running_ago: 123 },
  ]);
  expect(await ask(`running_ago?${byQuarter}`, "acme")).toEqual([
    { metric_time__fiscal_quarter: "Q2026-1", running_ago: 12 },
    { metric_time__fiscal_quarter: "Q2026-2", running_ago: 23 },
  ]);
  const days = "group_by=metric_time__day&sort_by=metric_time__day";
  expect(await ask(`running_ago?${days}&start_date=2026-03-16&end_date=2026-03-17`)).toEqual([
    { metric_time__day: "2026-03-16", running_ago: 5 },
    { metric_time__day: "2026-03-17", running_ago: 12 },
  ]);
  expect(await ask(`recent_ago?${days}&start_date=2026-03-08&end_date=2026-03-17`)).toEqual([
    { metric_time__day: "2026-03-08", recent_ago: 5 },
    { metric_time__day: "2026-03-09", recent_ago: 5 },
    { metric_time__day: "2026-03-17", recent_ago: 7 },
  ]);
  expect(await ask("running_ago?group_by=metric_time__month,customer&customer=20")).toEqual([
    { metric_time__month: "2026-05-01", customer: 20, running_ago: 111 },
    { metric_time__month: "2026-06-01", customer: 20, running_ago: 111 },
  ]);
});

it("catalogue.json keeps it; where else a custom period stands, the reason says where it may", () => {
  const asked = (type: string, parameters: Json): Json => questionMetric("asked", type, parameters);
  const manifest = (more: Json) =>
    parseManifest(JSON.stringify(questionManifest(schema, { ...METRICS, ...more })), "manifest.json");
  const reasonOf = (metric: Json): string | undefined => {
    const reading = manifest(metric);
    if (!reading.ok) throw new Error(reading.problems.join(" "));
    const catalogue = catalogueOf(reading.value, {});
    const read = readCatalogue(catalogueText(catalogue));
    expect(read.ok && read.value.entries).toEqual(catalogue.entries);
    return catalogue.skipped.find(({ model }) => model === "metric.test.asked")?.problems[0]?.message;
  };
  const window = { count: 2, granularity: "fiscal_quarter" };
  const nowhere =
    "is no standard grain: a custom one may stand in groups, filters and offset_window of derived metrics alone, as in MetricFlow.";
  const measure = { name: "amount" };
  expect(reasonOf(asked("cumulative", { measure, cumulative_type_params: { window } }))).toBe(
    `fiscal_quarter ${nowhere}`,
  );
  expect(
    reasonOf(asked("cumulative", { measure, cumulative_type_params: { grain_to_date: "fiscal_quarter" } })),
  ).toBe(`fiscal_quarter ${nowhere}`);
  const derived = (name: string, more: Json): Json =>
    asked("derived", { expr: name, metrics: [{ name, ...more }] });
  expect(reasonOf(derived("amount", { offset_to_grain: "fiscal_quarter" }))).toBe(
    `fiscal_quarter ${nowhere}`,
  );
  expect(reasonOf(derived("growth", { offset_window: window }))).toBe(
    "An offset of growth by a custom grain is not compiled: it is no simple or cumulative metric.",
  );
  expect(reasonOf(derived("growth", { offset_window: { count: 1, granularity: "day" } }))).toBe(
    "An offset of growth, which has one by a custom grain itself, is not compiled.",
  );
});

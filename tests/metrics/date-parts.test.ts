import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { byEngine } from "../support/engines.js";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";

const KEY = "sk_live_all";
const schema = await questionTables();
const measure = { name: "amount" };
const earlier = { name: "amount", alias: "earlier" };
const metrics = {
  ...questionMetric("amount", "simple", { measure }),
  ...questionMetric("on_spine", "simple", {
    measure: { ...measure, join_to_timespine: true, fill_nulls_with: 0 },
  }),
  ...questionMetric("running", "cumulative", { measure }),
  ...questionMetric("twice_running", "derived", { expr: "2 * running", metrics: [{ name: "running" }] }),
  ...questionMetric("month_start", "derived", {
    expr: "earlier",
    metrics: [{ ...earlier, offset_to_grain: "month" }],
  }),
  ...questionMetric("before", "derived", {
    expr: "earlier",
    metrics: [{ ...earlier, offset_window: { count: 30, granularity: "day" } }],
  }),
};

/** The same with another grain of the time, and a time spine of hours beside that of days. */
function serveAt(granularity: string): Promise<string> {
  const {
    nodes,
    semantic_models: models,
    ...manifest
  } = questionManifest(schema, metrics) as unknown as Manifest;
  const { "model.test.days": days, ...others } = nodes;
  const hours = {
    ...days,
    unique_id: "model.test.hours",
    name: "hours",
    alias: "hours",
    columns: {
      hour: {
        name: "hour",
        granularity: "hour",
        data_type: byEngine({ postgres: "timestamp", clickhouse: "DateTime64(6)" }),
      },
    },
    time_spine: { standard_granularity_column: "hour" },
  };
  const orders = models["semantic_model.test.orders"] ?? {};
  const served = {
    ...manifest,
    nodes: { ...others, "model.test.days": days, "model.test.hours": hours },
    semantic_models: {
      ...models,
      "semantic_model.test.orders": {
        ...orders,
        dimensions: [{ name: "ordered_at", type: "time", type_params: { time_granularity: granularity } }],
      },
    },
  };
  return serveManifest(served, {
    API_KEYS: JSON.stringify({ [KEY]: { tier: "tier3", user: "all", org: "*" } }),
  });
}

interface Manifest {
  readonly metrics: Readonly<Record<string, object>>;
  readonly nodes: Readonly<Record<string, object>>;
  readonly semantic_models: Readonly<Record<string, object>>;
}

const url = await serveAt("hour");

async function ask(of: string, request: string): Promise<readonly [number, unknown]> {
  const response = await fetch(`${of}/v1/shop/${request}`, { headers: { "X-API-Key": KEY } });
  return [response.status, await response.json()];
}

it("every period of the days has its parts, also where a time spine of the time's hours is shorter", async () => {
  expect(await ask(url, "on_spine?group_by=metric_time__extract_month")).toEqual([
    200,
    [1, 2, 3, 4, 5, 6, 12].map((month) => ({
      metric_time__extract_month: month,
      on_spine: { 1: 12, 2: 111, 4: 13 }[month] ?? 0,
    })),
  ]);
  expect(await ask(url, "on_spine?group_by=metric_time__fiscal_quarter")).toEqual([
    200,
    ["Q2025-4", "Q2026-1", "Q2026-2"].map((quarter, i) => ({
      metric_time__fiscal_quarter: quarter,
      on_spine: [12, 124, 0][i],
    })),
  ]);
});

it.each(["running", "twice_running", "month_start"])("%s has no parts of dates", async (metric) => {
  for (const request of [
    "group_by=metric_time__extract_month",
    "group_by=order__ordered_at__extract_dow",
    "metric_time__extract_month=1",
  ])
    expect([request, (await ask(url, `${metric}?${request}`))[0]]).toEqual([request, 400]);
  expect((await ask(url, `${metric}?group_by=metric_time__fiscal_quarter`))[0]).toBe(200);
  const document = await (await fetch(`${url}/openapi.json`, { headers: { "X-API-Key": KEY } })).text();
  const paths = (JSON.parse(document) as { readonly paths: Readonly<Record<string, unknown>> }).paths;
  expect(JSON.stringify(paths[`/v1/shop/${metric}`])).not.toContain("__extract_");
  expect(JSON.stringify(paths["/v1/shop/before"])).toContain("metric_time__extract_month");
});

it("where group_by of their semantic model lists a part, the reason says so", () => {
  const { semantic_models: models, ...manifest } = questionManifest(schema, metrics) as unknown as Manifest;
  const meta = { routewright: { group_by: ["metric_time", "metric_time__extract_month"] } };
  const orders = { ...models["semantic_model.test.orders"], config: { meta } };
  const unlisted = Object.entries(manifest.metrics).map(
    ([id, metric]) => [id, { ...metric, config: { tags: ["production", "shop", `api:${id}`] } }] as const,
  );
  const text = JSON.stringify({
    ...manifest,
    metrics: Object.fromEntries(unlisted),
    semantic_models: { ...models, "semantic_model.test.orders": orders },
  });
  const reading = parseManifest(text, "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const { skipped } = catalogueOf(reading.value, {});
  const message =
    "group_by names metric_time__extract_month, a part of a date: values that accumulate, or stand at the start of a period, have none. Give the metric a group_by of its own without it.";
  expect(skipped.map(({ model, problems }) => [model, problems.map((each) => each.message)])).toEqual(
    ["month_start", "running", "twice_running"].map((name) => [`metric.test.${name}`, [message]]),
  );
});

it("a time has no part that is finer than its grain", async () => {
  const monthly = await serveAt("month");
  for (const part of ["day", "dow", "doy"])
    expect((await ask(monthly, `amount?group_by=metric_time__extract_${part}`))[0]).toBe(400);
  expect(await ask(monthly, "amount?group_by=order__ordered_at__extract_quarter")).toEqual([
    200,
    [
      { order__ordered_at__extract_quarter: 1, amount: 123 },
      { order__ordered_at__extract_quarter: 2, amount: 13 },
    ],
  ]);
});

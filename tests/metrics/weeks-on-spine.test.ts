/** A week that lies in two months or quarters counts once in each, also where a metric has a row for every period. */
import { expect, it } from "vitest";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";

const onSpine = { name: "amount", join_to_timespine: true, fill_nulls_with: 0 };
const week = { count: 1, granularity: "week" };
const metrics = {
  ...questionMetric("running", "cumulative", {
    measure: onSpine,
    cumulative_type_params: { period_agg: "average" },
  }),
  ...questionMetric("in_week", "cumulative", {
    measure: onSpine,
    cumulative_type_params: { period_agg: "average", window: week },
  }),
  ...questionMetric("before", "derived", {
    expr: "earlier",
    metrics: [{ name: "running", alias: "earlier", offset_window: week }],
  }),
};
const { semantic_models: models, ...others } = questionManifest(await questionTables(), metrics) as {
  readonly semantic_models: Readonly<Record<string, object>>;
};
const ORDERS = "semantic_model.test.orders";
const ofWeeks = { name: "ordered_at", type: "time", type_params: { time_granularity: "week" } };
const url = await serveManifest(
  { ...others, semantic_models: { ...models, [ORDERS]: { ...models[ORDERS], dimensions: [ofWeeks] } } },
  { API_KEYS: JSON.stringify({ sk_live_all: { tier: "tier3", user: "all", org: "*" } }) },
);

/** From October to March: 5 in the week of 29 December, 7 in that of 12 January, 111 in that of 2 February, 13 in that of 30 March. */
async function ask(name: string, groups: string): Promise<readonly (readonly unknown[])[]> {
  const request = `${name}?group_by=${groups}&metric_time[lt]=2026-04-01`;
  const response = await fetch(`${url}/v1/shop/${request}`, { headers: { "X-API-Key": "sk_live_all" } });
  return ((await response.json()) as readonly object[]).map((row) => Object.values(row));
}

const mean = (...values: readonly number[]): unknown =>
  expect.closeTo(values.reduce((sum, value) => sum + value, 0) / values.length, 6);

it("an average has each week once", async () => {
  const december = [0, 0, 0, 0, 5];
  const january = [5, 5, 12, 12, 12];
  const february = [12, 123, 123, 123, 123];
  const march = [123, 123, 123, 123, 123, 136];
  expect(await ask("running", "metric_time__month")).toEqual([
    ["2025-12-01", mean(...december)],
    ["2026-01-01", mean(...january)],
    ["2026-02-01", mean(...february)],
    ["2026-03-01", mean(...march)],
  ]);
  // Within the quarter the weeks of 26 January and 23 February come once.
  expect(await ask("running", "metric_time__quarter")).toEqual([
    ["2025-10-01", mean(...december)],
    ["2026-01-01", mean(...january, ...february.slice(1), ...march.slice(1))],
  ]);
  expect(await ask("in_week", "metric_time__month")).toEqual([
    ["2025-12-01", mean(0, 0, 0, 0, 5)],
    ["2026-01-01", mean(5, 0, 7, 0, 0)],
    ["2026-02-01", mean(0, 111, 0, 0, 0)],
    ["2026-03-01", mean(0, 0, 0, 0, 0, 13)],
  ]);
});

it("an average of earlier weeks too", async () => {
  expect(await ask("before", "metric_time__month")).toEqual([
    ["2025-12-01", mean(0, 0, 0, 0, 0)],
    ["2026-01-01", mean(0, 5, 5, 12, 12)],
    ["2026-02-01", mean(12, 12, 123, 123, 123)],
    ["2026-03-01", mean(123, 123, 123, 123, 123, 123)],
  ]);
});

it.each(["running", "in_week", "before"])(
  "%s by weeks and months has a row for both months",
  async (name) => {
    const rows = await ask(name, "metric_time__week,metric_time__month");
    const groups = rows.map(([of, month]) => `${String(of)} ${String(month)}`);
    expect(groups).toHaveLength(21);
    expect(new Set(groups).size).toBe(21);
    expect(groups).toEqual(expect.arrayContaining(["2026-01-26 2026-01-01", "2026-01-26 2026-02-01"]));
  },
);

import { expect, it } from "vitest";
import { serveManifest } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";

const schema = await questionTables();
const amount = { name: "amount" };
const metrics = {
  ...questionMetric("amount", "simple", { measure: amount }),
  ...questionMetric(
    "amount_of_a_quarter",
    "simple",
    { measure: amount },
    "{{ TimeDimension('metric_time', 'fiscal_quarter') }} = 'Q2025-4' and {{ TimeDimension('metric_time').date_part('month') }} = 1",
  ),
  ...questionMetric("on_spine", "simple", {
    measure: { ...amount, join_to_timespine: true, fill_nulls_with: 0 },
  }),
  ...questionMetric("running", "cumulative", {
    measure: amount,
    cumulative_type_params: { period_agg: "last" },
  }),
  ...questionMetric("before", "derived", {
    expr: "earlier",
    metrics: [{ name: "amount", alias: "earlier", offset_window: { count: 30, granularity: "day" } }],
  }),
};
const url = await serveManifest(questionManifest(schema, metrics), {
  API_KEYS: JSON.stringify({
    sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
    sk_live_all: { tier: "tier3", user: "all", org: "*" },
  }),
});

async function ask(request: string, key = "all"): Promise<unknown> {
  const response = await fetch(`${url}/v1/shop/${request}`, { headers: { "X-API-Key": `sk_live_${key}` } });
  return response.json();
}

it("groups by a custom grain of the time spine, and by a part of the date", async () => {
  expect(await ask("amount?group_by=metric_time__fiscal_quarter")).toEqual([
    { metric_time__fiscal_quarter: "Q2025-4", amount: 12 },
    { metric_time__fiscal_quarter: "Q2026-1", amount: 124 },
  ]);
  expect(await ask("amount?group_by=order__ordered_at__extract_month,metric_time__extract_dow")).toEqual([
    { order__ordered_at__extract_month: 1, metric_time__extract_dow: 4, amount: 12 },
    { order__ordered_at__extract_month: 2, metric_time__extract_dow: 1, amount: 11 },
    { order__ordered_at__extract_month: 2, metric_time__extract_dow: 2, amount: 100 },
    { order__ordered_at__extract_month: 4, metric_time__extract_dow: 3, amount: 13 },
  ]);
});

it("filters by them, in requests and in the project", async () => {
  expect(await ask("amount?metric_time__fiscal_quarter=Q2026-1&metric_time__extract_month=4")).toEqual([
    { amount: 13 },
  ]);
  expect(await ask("amount?metric_time__extract_month[lt]=2&group_by=metric_time__year")).toEqual([
    { metric_time__year: "2026-01-01", amount: 12 },
  ]);
  expect(await ask("amount_of_a_quarter")).toEqual([{ amount_of_a_quarter: 12 }]);
  expect(await ask("amount?order__ordered_at__extract_month=2")).toEqual([{ amount: 111 }]);
  expect(await ask("amount?order__ordered_at__extract_month[lt]=2&group_by=customer")).toEqual([
    { customer: 10, amount: 12 },
  ]);
  expect(await ask("amount?order__ordered_at__fiscal_quarter=Q2026-1")).toEqual([{ amount: 124 }]);
  expect(await ask("amount?order__ordered_at__fiscal_quarter[ne]=Q2026-1&customer=10")).toEqual([
    { amount: 12 },
  ]);
  expect(await ask("running?order__ordered_at__fiscal_quarter=Q2026-1&group_by=metric_time__month")).toEqual(
    await ask("running?metric_time__fiscal_quarter=Q2026-1&group_by=metric_time__month"),
  );
});

it("rows of another organization are in no custom period", async () => {
  expect(await ask("amount?group_by=metric_time__fiscal_quarter", "acme")).toEqual([
    { metric_time__fiscal_quarter: "Q2025-4", amount: 12 },
    { metric_time__fiscal_quarter: "Q2026-1", amount: 24 },
  ]);
});

it("periods without rows are custom periods too", async () => {
  expect(await ask("on_spine?group_by=metric_time__fiscal_quarter")).toEqual([
    { metric_time__fiscal_quarter: "Q2025-4", on_spine: 12 },
    { metric_time__fiscal_quarter: "Q2026-1", on_spine: 124 },
    { metric_time__fiscal_quarter: "Q2026-2", on_spine: 0 },
  ]);
});

it("accumulated and earlier values stand in custom periods", async () => {
  expect(
    await ask("running?group_by=metric_time__fiscal_quarter&metric_time__fiscal_quarter=Q2025-4"),
  ).toEqual([{ metric_time__fiscal_quarter: "Q2025-4", running: 12 }]);
  expect(await ask("before?group_by=metric_time__fiscal_quarter")).toEqual([
    { metric_time__fiscal_quarter: "Q2026-1", before: 123 },
    { metric_time__fiscal_quarter: "Q2026-2", before: 13 },
  ]);
});

it("a period whose name is another in each year is compared with none", async () => {
  const days = "start_date=2026-01-01&end_date=2026-04-30&compare=previous_year";
  for (const name of [
    "metric_time__fiscal_quarter",
    "order__ordered_at__fiscal_quarter",
    "metric_time__extract_year",
  ])
    expect(await ask(`amount?group_by=${name}&${days}`)).toEqual({
      detail: expect.stringContaining(`'group_by' cannot have ${name} with 'compare'`),
    });
  for (const name of ["metric_time", "order__ordered_at", "metric_time__fiscal_quarter"])
    expect(await ask(`amount?${name}[null]=false&${days}`)).toEqual({
      detail: expect.stringContaining(`'compare' has no value for ${name}, whose other conditions`),
    });
  expect(await ask(`amount?metric_time__extract_month=1&${days}`)).toEqual([
    { amount: 12, amount__previous: null, amount__change: null },
  ]);
  expect(await ask(`amount?group_by=metric_time__extract_quarter&${days}`)).toEqual([
    { metric_time__extract_quarter: 1, amount: 123, amount__previous: null, amount__change: null },
    { metric_time__extract_quarter: 2, amount: 13, amount__previous: null, amount__change: null },
  ]);
});

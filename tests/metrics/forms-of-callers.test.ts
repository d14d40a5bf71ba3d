import { expect, it } from "vitest";
import { byEngine } from "../support/engines.js";
import { generateInto, ownFolder, startFolder } from "../support/service.js";
import { questionManifest, questionMetric, questionTables } from "./question-tables.js";
import { seeded } from "./random-requests.js";

type Json = Readonly<Record<string, unknown>>;

const API_KEYS = JSON.stringify({
  sk_live_acme: { tier: "tier3", user: "acme", org: "acme" },
  sk_live_other: { tier: "tier3", user: "other", org: "other" },
  sk_live_all: { tier: "tier3", user: "all", org: "*" },
});

const sum = { measure: { name: "amount" } };
const METRICS = {
  ...questionMetric("amount", "simple", sum),
  ...questionMetric("visits", "simple", { measure: { name: "visits" } }),
  ...questionMetric("of_visitors", "simple", sum, "{{ Metric('visits', group_by=['customer']) }} >= 3"),
  ...questionMetric("daily", "simple", {
    measure: { name: "amount", join_to_timespine: true, fill_nulls_with: 0 },
  }),
  ...questionMetric("of_week", "cumulative", {
    ...sum,
    cumulative_type_params: { window: { count: 7, granularity: "day" } },
  }),
  ...questionMetric("growth", "derived", {
    expr: "amount - before",
    metrics: [
      { name: "amount" },
      { name: "amount", alias: "before", offset_window: { count: 1, granularity: "month" } },
    ],
  }),
};

/** Orders and visits have an entity with the name of the column of own rows. */
function manifest(schema: string): Json {
  const made = structuredClone(questionManifest(schema, METRICS)) as {
    semantic_models: Record<string, { entities: Json[] }>;
    metrics: Record<string, { config: { meta: { routewright: Record<string, unknown> } } }>;
  };
  const metrics = made.metrics;
  for (const { config } of Object.values(metrics)) config.meta.routewright["filter"] = true;
  for (const name of ["orders", "visits"])
    made.semantic_models[`semantic_model.test.${name}`]?.entities.push({
      name: "org_id",
      type: "foreign",
      expr: "org_id",
    });
  return made;
}

/** Requests of the same form beside each other, with other values. */
const FORMS: readonly (readonly string[])[] = [
  [
    "amount?group_by=customer__country__region",
    "amount?group_by=customer__country__region&org_id=acme",
    "amount?group_by=customer__country__region&org_id=other",
  ],
  ["of_visitors", "of_visitors?org_id=acme", "of_visitors?org_id=other"],
  [
    "visits?group_by=customer&customer[in]=10",
    "visits?group_by=customer&customer[in]=10,20",
    "visits?group_by=customer&customer[in]=20",
  ],
  [
    "visits?group_by=customer&visit__channel=web",
    "visits?group_by=customer&visit__channel=app",
    "visits?group_by=customer&visit__channel=",
  ],
  [
    "amount?group_by=customer&customer__country__region[null]=true",
    "amount?group_by=customer&customer__country__region[null]=false",
  ],
  [
    "amount?group_by=customer&filter=customer__country__region eq null or customer in (10)",
    "amount?group_by=customer&filter=customer__country__region eq 'non-EU' or customer in (20,30)",
    "amount?group_by=customer&filter=not (customer__country__region eq 'non-EU') and customer ne null",
    "amount?group_by=customer&filter=not (customer__country__region eq 'EU') and customer ne 30",
    "amount?group_by=customer&filter=customer__country__region in ('EU',null)",
    "amount?group_by=customer&filter=customer__country__region in ('non-EU',null)",
    "amount?group_by=customer&filter=contains(customer__country__region,'A')",
    "amount?group_by=customer&filter=contains(customer__country__region,'%25')",
  ],
  [
    "amount?group_by=customer&amount[gt]=11",
    "amount?group_by=customer&amount[gt]=12",
    "amount?group_by=customer&amount[gt]=99999999999999999999",
  ],
  [
    "amount?group_by=customer&customer[gt]=10",
    "amount?group_by=customer&customer[gt]=99999999999",
    "amount?group_by=customer&customer[lt]=-99999999999",
  ],
  [
    "amount?group_by=customer&top=1&sort_by=amount&other=true",
    "amount?group_by=customer&top=2&sort_by=amount&other=true",
  ],
  [
    "amount?group_by=customer,metric_time__month&totals=true&start_date=2026-01-02",
    "amount?group_by=customer,metric_time__month&totals=true&start_date=2026-02-02",
  ],
  [
    "amount?compare=previous_period&start_date=2026-02-01&end_date=2026-02-28",
    "amount?compare=previous_period&start_date=2026-01-10&end_date=2026-01-19",
    "amount?compare=previous_period&start_date=2026-01-11&end_date=2026-01-20",
    "amount?compare=previous_year&start_date=2026-01-11&end_date=2026-01-20",
  ],
  [
    "daily?group_by=metric_time__day&metric_time[gte]=2026-01-14&metric_time[lt]=2026-01-17",
    "daily?group_by=metric_time__day&metric_time[gte]=2026-02-01&metric_time[lt]=2026-02-05",
  ],
  [
    "daily?group_by=metric_time__month&start_date=2026-01-01&end_date=2026-02-28",
    "daily?group_by=metric_time__month&start_date=2026-02-01&end_date=2026-03-31",
  ],
  [
    "of_week?group_by=metric_time__day&start_date=2026-01-14&end_date=2026-01-16",
    "of_week?group_by=metric_time__day&start_date=2026-02-01&end_date=2026-02-04",
  ],
  [
    "growth?group_by=metric_time__month&metric_time[gte]=2026-02-01",
    "growth?group_by=metric_time__month&metric_time[gte]=2026-03-01",
  ],
  ["amount?group_by=metric_time__week", "amount?group_by=metric_time__month"],
];

const CALLERS = ["acme", "other", "all"] as const;
const ASKED = FORMS.flat().flatMap((request) => CALLERS.map((caller) => ({ request, caller })));

const schema = await questionTables();
const folder = ownFolder();
generateInto(folder, manifest(schema));

async function started() {
  const service = await startFolder(folder, { API_KEYS, RATE_LIMITS: "" });
  const models = ["orders", "customers", "countries", "visits", "days"];
  const [startedAt, completedAt] = [Date.parse("2026-11-01"), Date.parse("2026-11-02")];
  service.recordBuilds(models.map((name) => ({ node: `model.test.${name}`, startedAt, completedAt })));
  return async (request: string, caller: string): Promise<string> => {
    const headers = { "X-API-Key": `sk_live_${caller}` };
    const response = await fetch(`${service.url}/v1/shop/${encodeURI(request).replaceAll("%2525", "%25")}`, {
      headers,
    });
    const text = await response.text();
    return `${String(response.status)} ${response.status === 200 ? text.split("},{").toSorted().join("},{") : text.slice(0, 300)}`;
  };
}

/** The answers of one server, which is asked in an order of its own. */
async function answers(order: readonly (typeof ASKED)[number][]): Promise<ReadonlyMap<string, string>> {
  const ask = await started();
  const found = new Map<string, string>();
  for (const { request, caller } of order) found.set(`${caller} ${request}`, await ask(request, caller));
  return found;
}

function shuffled(seed: number): readonly (typeof ASKED)[number][] {
  const random = seeded(seed);
  return ASKED.map((each) => ({ each, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ each }) => each);
}

const ORDERS = byEngine({
  postgres: [ASKED.toReversed(), shuffled(1)],
  clickhouse: [ASKED.toReversed()],
});

it("no answer depends on what others have asked before", async () => {
  const forwards = await answers(ASKED);
  expect([...forwards.values()].filter((text) => !text.startsWith("200"))).toEqual([]);
  for (const order of ORDERS) {
    const found = await answers(order);
    const differing = [...forwards].filter(([key, text]) => found.get(key) !== text);
    expect(differing.map(([key, text]) => ({ key, text, other: found.get(key) }))).toEqual([]);
  }
});

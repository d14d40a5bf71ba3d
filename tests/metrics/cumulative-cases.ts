/** Cumulative metrics beside a statement that compares every period with every row, over a time spine with gaps. */
import { describe, expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse } from "../support/clickhouse.js";
import { queryAt } from "../support/database.js";
import { KEYS, serveManifest } from "../support/service.js";
import { inPay, payClickhouse, payDatabase, payServing } from "./pay-tables.js";
import { askedRows, isSameRow } from "./random-requests.js";

/** Measures of payments as PostgreSQL aggregates them. */
const MEASURES = {
  payments: "count(payment_id)",
  volume: "sum(amount)",
  fees: "sum(fee)",
  smallest_usd: "min(amount_usd)",
  largest_units: "max(units)",
  average_usd: "avg(amount_usd)",
  median_usd: "percentile_cont(0.5) WITHIN GROUP (ORDER BY amount_usd)",
  payers: "count(DISTINCT customer_id)",
  refunds: "sum(CASE WHEN refunded THEN 1 ELSE 0 END)",
};

/** The rows that count for a day `j`, beside those later than it. */
const KINDS = [
  { kind: {}, bound: "true" },
  ...["1 day", "45 day", "2 week", "1 month", "2 quarter", "1 year"].map((window) => {
    const [count, granularity] = window.split(" ");
    const interval = granularity === "quarter" ? "6 months" : window;
    return {
      kind: { window: { count: Number(count), granularity } },
      bound: `d > j - interval '${interval}'`,
    };
  }),
  ...["week", "month", "quarter", "year"].map((grain) => ({
    kind: { grain_to_date: grain },
    bound: `d >= date_trunc('${grain}', j::timestamp)`,
  })),
];

const PERIODS = ["first", "last", "average"] as const;
const OF_PERIOD = {
  first: "(array_agg(v ORDER BY j))[1]",
  last: "(array_agg(v ORDER BY j DESC))[1]",
  average: "avg(v)",
};

/** Each measure with each kind. `grain`: of the time of payments; `group`: by which they are grouped. */
export const CASES = Object.entries(MEASURES).flatMap(([measure, total], m) =>
  KINDS.map(({ kind, bound }, k) => {
    const period = PERIODS[(m + k) % 3] ?? "last";
    const name = `cumulative_${String(m)}_${String(k)}`;
    return { name, measure, total, kind, bound, period, grain: "day", group: "month" };
  }),
);

const WEEKLY = ["volume", "average_usd", "payers"] as const;

/** The same of weeks, of which some are in two months, quarters and years. */
export const WEEKS = WEEKLY.flatMap((measure, m) =>
  KINDS.filter(({ bound }) => !bound.includes("day")).flatMap(({ kind, bound }, k) =>
    PERIODS.map((period, p) => {
      const name = `weekly_${String(m)}_${String(k)}_${String(p)}`;
      const group = ["month", "quarter", "year"][(m + k) % 3] ?? "month";
      return { name, measure, total: MEASURES[measure], kind, bound, period, grain: "week", group };
    }),
  ),
);

/** Of four one: each measure, each kind and each period among them. */
export const isQuick = (_: unknown, at: number): boolean => at % 4 === 0;

interface Metric {
  readonly config: object;
  readonly type_params: { readonly measure: object };
}

const PAYMENTS = "semantic_model.pay.payments";

interface Pay {
  readonly semantic_models: Readonly<
    Record<string, { readonly dimensions: readonly { readonly name: string }[] }>
  >;
  readonly metrics: Readonly<Record<string, Metric>>;
}

/** The project with a metric per case, and with no other at a path. */
function withCases(text: string, cases: typeof CASES): object {
  const manifest = payServing(text, []) as Pay;
  const own = manifest.metrics["metric.pay.volume_7d"];
  if (own === undefined) throw new Error("The project has no metric volume_7d.");
  const made = cases.map(({ name, measure, kind, period }): readonly [string, object] => {
    const of = { ...own.type_params.measure, name: measure };
    const cumulative = { window: null, grain_to_date: null, period_agg: period, metric: null, ...kind };
    const params = {
      ...own.type_params,
      measure: of,
      input_measures: [of],
      cumulative_type_params: cumulative,
    };
    const config = { ...own.config, tags: ["production", "payments", `api:${name}`, "tier0"] };
    const id = `metric.pay.${name}`;
    return [id, { ...own, name, unique_id: id, config, type_params: { ...params, window: null } }];
  });
  const { [PAYMENTS]: payments, ...others } = manifest.semantic_models;
  const dimensions = payments?.dimensions.map((each) =>
    each.name === "created_at" ? { ...each, type_params: { time_granularity: cases[0]?.grain } } : each,
  );
  return {
    ...manifest,
    semantic_models: { ...others, [PAYMENTS]: { ...payments, dimensions } },
    metrics: { ...manifest.metrics, ...Object.fromEntries(made) },
  };
}

/** Some days are missing, among them first and last ones of months. */
const GAPS = "IN (1, 3, 17, 31)";

/** Starts both engines and compares these cases. */
export async function describeCumulative(cases: typeof CASES): Promise<void> {
  const database = await payDatabase("America/New_York");
  await queryAt(database, `DELETE FROM analytics.time_spine_daily WHERE extract(day FROM day) ${GAPS}`);
  const manifest = withCases(inPay("manifest.json"), cases);
  const engines = {
    PostgreSQL: await serveManifest(manifest, { DATABASE_URL: database }),
    ...(hasClickhouse && { ClickHouse: await onClickhouse(cases) }),
  };
  const wanted = new Map<string, ReturnType<typeof wantedRows>>();
  describe.each(Object.entries(engines))("on %s", (_, url) => {
    it.each(cases)("$measure, $kind, $period of a $group", async (one) => {
      const { name, group } = one;
      if (!wanted.has(name)) wanted.set(name, wantedRows(database, one));
      const expected = (await wanted.get(name)) ?? [];
      const request = `/v1/payments/${name}?group_by=metric_time__${group},payment__token,customer`;
      const { rows, text } = await askedRows(url, request, KEYS.tier0);
      expect([rows.length, text.slice(0, 200)]).toEqual([expected.length, text.slice(0, 200)]);
      const differing = rows.filter((row, i) => !isSameRow(expected[i] as typeof row, row));
      expect(differing).toEqual([]);
    });
  });
}

async function onClickhouse(cases: typeof CASES): Promise<string> {
  const name = await payClickhouse();
  await clickhouse(`DELETE FROM ${name}.time_spine_daily WHERE toDayOfMonth(day) ${GAPS}`);
  const mapped = withCases(inPay("manifest.json").replaceAll('"analytics"', JSON.stringify(name)), cases);
  const { metadata } = mapped as { readonly metadata: object };
  const built = { ...mapped, metadata: { ...metadata, adapter_type: "clickhouse" } };
  return serveManifest(built, { DATABASE_URL: clickhouseUrl() });
}

function wantedRows(database: string, { name, total, bound, period, grain, group }: (typeof CASES)[number]) {
  const rows = `SELECT *, date_trunc('${grain}', created_at AT TIME ZONE 'UTC')::date AS d FROM analytics.payments`;
  const periods = `SELECT DISTINCT date_trunc('${grain}', day::timestamp)::date AS j, date_trunc('${group}', day::timestamp)::date AS g
    FROM analytics.time_spine_daily`;
  const each = `SELECT j, g, token, customer_id, ${total} AS v FROM (${periods}) AS p JOIN (${rows}) AS r ON d <= j AND ${bound} GROUP BY 1, 2, 3, 4`;
  return queryAt(
    database,
    `SELECT g::text AS metric_time__${group}, token AS payment__token, customer_id AS customer, (${OF_PERIOD[period]})::text AS ${name}
     FROM (${each}) AS t GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  );
}

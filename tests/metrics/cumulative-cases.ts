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

/** Each measure with each kind. */
export const CASES = Object.entries(MEASURES).flatMap(([measure, total], m) =>
  KINDS.map(({ kind, bound }, k) => {
    const period = PERIODS[(m + k) % 3] ?? "last";
    return { name: `cumulative_${String(m)}_${String(k)}`, measure, total, kind, bound, period };
  }),
);

/** Of four one: each measure, each kind and each period among them. */
export const isQuick = (_: unknown, at: number): boolean => at % 4 === 0;

interface Metric {
  readonly config: object;
  readonly type_params: { readonly measure: object };
}

interface Pay {
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
  return { ...manifest, metrics: { ...manifest.metrics, ...Object.fromEntries(made) } };
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
    it.each(cases)("$measure, $kind, $period of a month", async (one) => {
      const { name } = one;
      if (!wanted.has(name)) wanted.set(name, wantedRows(database, one));
      const expected = (await wanted.get(name)) ?? [];
      const request = `/v1/payments/${name}?group_by=metric_time__month,payment__token`;
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

const ROWS = `(SELECT *, (created_at AT TIME ZONE 'UTC')::date AS d FROM analytics.payments) AS r`;

function wantedRows(database: string, { name, total, bound, period }: (typeof CASES)[number]) {
  const days = `SELECT j, date_trunc('month', j::timestamp)::date AS month, token, ${total} AS v
    FROM (SELECT day AS j FROM analytics.time_spine_daily) AS p JOIN ${ROWS} ON d <= j AND ${bound} GROUP BY 1, 2, 3`;
  return queryAt(
    database,
    `SELECT month::text AS metric_time__month, token AS payment__token, (${OF_PERIOD[period]})::text AS ${name}
     FROM (${days}) AS t GROUP BY 1, 2 ORDER BY 1, 2`,
  );
}

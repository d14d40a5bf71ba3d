/** The parameter `filter` of dbt metrics: conditions on groups, which select rows before they are grouped. */
import { describe, expect, it } from "vitest";
import { byEngine } from "../support/engines.js";
import { serveManifest } from "../support/service.js";
import { inPay, payClickhouse, payDatabase, payServing } from "./pay-tables.js";

interface Metric {
  readonly name: string;
  readonly config: { readonly meta: { readonly routewright: Record<string, unknown> } };
}

interface Pay {
  readonly metadata: { adapter_type: string };
  readonly metrics: Readonly<Record<string, Metric>>;
}

const FILTERED = [
  "volume_usd",
  "payers",
  "usd_per_payment",
  "median_usd",
  "volume_growth_month",
  "volume_mtd",
];
/** They accumulate or shift a metric. */
const OF_TIME = ["volume_mtd", "volume_7d", "volume_all_time", "volume_growth_month"];

/** The project, with a setting of its metrics. */
async function payWith(filter: (name: string) => unknown): Promise<string> {
  const isPostgres = byEngine({ postgres: true, clickhouse: false });
  const text = isPostgres
    ? inPay("manifest.json")
    : inPay("manifest.json").replaceAll('"analytics"', JSON.stringify(await payClickhouse()));
  const manifest = payServing(text, [...FILTERED, ...OF_TIME, "fees"]) as Pay;
  if (!isPostgres) manifest.metadata.adapter_type = "clickhouse";
  for (const { name, config } of Object.values(manifest.metrics))
    config.meta.routewright["filter"] = filter(name);
  return serveManifest(manifest, {
    RATE_LIMITS: "100000",
    ...(isPostgres && { DATABASE_URL: await payDatabase("UTC") }),
  });
}

const url = await payWith((name) => name !== "fees");

async function ask(path: string, parameters: Readonly<Record<string, string>>) {
  const response = await fetch(`${url}/v1/payments/${path}?${new URLSearchParams(parameters).toString()}`);
  return { status: response.status, text: await response.text() };
}

const MONTHS = { group_by: "metric_time__month,payment__status" };

describe("a filter on the groups of metrics", () => {
  it.each(FILTERED)("of %s selects what operators select", async (path) => {
    for (const [filter, others] of [
      ["payment__status eq 'settled'", { payment__status: "settled" }],
      ["payment__status in ('settled','refunded')", { "payment__status[in]": "settled,refunded" }],
      [
        "payment__status eq 'settled' or payment__status eq 'refunded'",
        { "payment__status[in]": "settled,refunded" },
      ],
      [
        "metric_time ge 2026-02-01 and payment__status eq 'settled'",
        { "metric_time[gte]": "2026-02-01", payment__status: "settled" },
      ],
      [
        "not (metric_time lt 2026-02-01 or metric_time gt 2026-03-10)",
        { "metric_time[gte]": "2026-02-01", "metric_time[lte]": "2026-03-10" },
      ],
    ] as const) {
      const wanted = await ask(path, { ...MONTHS, ...others });
      expect([filter, wanted.status]).toEqual([filter, 200]);
      expect([filter, await ask(path, { ...MONTHS, filter })]).toEqual([filter, wanted]);
    }
  });

  it("holds either of two groups, which no operator can", async () => {
    const all = await ask("volume_usd", { group_by: "payment__status,merchant__region" });
    const rows = JSON.parse(all.text) as Readonly<Record<string, string | null>>[];
    const wanted = rows.filter(
      (row) => row["payment__status"] === "settled" || row["merchant__region"] === "EU",
    );
    expect(wanted.length).toBeGreaterThan(1);
    expect(wanted.length).toBeLessThan(rows.length);
    const filter = "payment__status eq 'settled' or merchant__region eq 'EU'";
    const found = await ask("volume_usd", { group_by: "payment__status,merchant__region", filter });
    expect(JSON.parse(found.text)).toEqual(wanted);
  });

  it("names a measure in no or, and no column that is not a group", async () => {
    const either = await ask("volume_usd", { filter: "payment__status eq 'settled' or volume_usd gt 10" });
    expect([either.status, either.text]).toEqual([400, expect.stringContaining("outside of 'or'")]);
    const { status, text } = await ask("volume_usd", { filter: "nothing eq 1" });
    expect(status).toBe(400);
    expect(text).toMatch(/'filter' at position 1: expected one of the columns .*payment__status/);
  });

  it("joins no time with other groups where a metric accumulates or shifts it", async () => {
    const filter = "metric_time ge 2026-02-01 or payment__status eq 'settled'";
    for (const path of OF_TIME) {
      const { status, text } = await ask(path, { ...MONTHS, filter });
      expect([path, status, text]).toEqual([path, 400, expect.stringContaining("compares the time of")]);
    }
    expect((await ask("volume_usd", { ...MONTHS, filter })).status).toBe(200);
  });

  it("is no parameter where the metric does not say so", async () => {
    expect((await ask("fees", { filter: "payment__status eq 'settled'" })).status).toBe(400);
  });

  it("is a parameter in OpenAPI, with the groups, and in the catalogue", async () => {
    const openapi = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: Record<
        string,
        { get: { parameters: { name: string; description: string; example: string }[] } }
      >;
    };
    const named = (path: string) => openapi.paths[path]?.get.parameters.find(({ name }) => name === "filter");
    expect(named("/v1/payments/volume_usd")?.description).toContain("payment__status");
    const example = named("/v1/payments/volume_usd")?.example ?? "";
    expect((await ask("volume_usd", { filter: example })).status).toBe(200);
    expect(named("/v1/payments/fees")).toBeUndefined();
  });
});

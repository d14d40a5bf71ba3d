import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verify } from "../../generator/commands/verify.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { ownFolder } from "../support/service.js";
import { clickhouseAddress } from "../../runtime/core/model/clickhouse-address.js";
import { EXPOSURE, exposureDatabase } from "../metrics/exposure-tables.js";
import { sentManifest } from "../metrics/sent-manifest.js";
import { inPay, payClickhouse, payDatabase } from "../metrics/pay-tables.js";
import { queryAt } from "../support/database.js";

interface Difference {
  readonly check: string;
  readonly endpoint: string;
  readonly message: string;
}

async function verified(
  manifest: unknown,
  database: { databaseUrl?: string; clickhouse?: string; plans?: true },
): Promise<readonly Difference[]> {
  const folder = ownFolder();
  const file = join(folder, "manifest.json");
  writeFileSync(file, JSON.stringify(manifest));
  const { output = "" } = await verify({
    revision: file,
    generated: join(folder, "generated"),
    cwd: folder,
    defaultTier: "tier0",
    databaseUrl: database.databaseUrl ?? null,
    clickhouse: database.clickhouse === undefined ? null : clickhouseAddress(database.clickhouse),
    format: "json",
    failOn: "none",
    severities: { "unindexed-filter": database.plans ? "warning" : "off" },
  });
  return (JSON.parse(output) as { differences: readonly Difference[] }).differences;
}

/** Check and message of the differences of some endpoints, each once. */
const textsOf = (differences: readonly Difference[], check: string): readonly string[] => [
  ...new Set(differences.filter((each) => each.check === check).map(({ message }) => message)),
];

interface OfMetrics {
  readonly metadata: object;
  readonly metrics: Readonly<Record<string, { readonly type: string; readonly config: object }>>;
}

/**
 * With endpoints for every so many-th metric of each type, and all conversions: each is a statement by all groups, half a second of ClickHouse. `VERIFY_EACH=1` verifies
 * all; tests/metrics asks both engines for all.
 */
function withSome<T extends OfMetrics>(manifest: T, each: number): T {
  const every = Number(process.env["VERIFY_EACH"] ?? each);
  const seen: Record<string, number> = {};
  const metrics = Object.entries(manifest.metrics).map(([id, metric]) => {
    const nth = (seen[metric.type] = (seen[metric.type] ?? -1) + 1);
    const isLeftOut = metric.type !== "conversion" && nth % every > 0;
    return [
      id,
      isLeftOut ? { ...metric, tags: [], config: { ...metric.config, tags: [] } } : metric,
    ] as const;
  });
  return { ...manifest, metrics: Object.fromEntries(metrics) };
}

describe("verify of metrics and aggregates", () => {
  it("finds nothing where every relation, column, join and period is there", async () => {
    const manifest = withSome(JSON.parse(inPay("manifest.json")) as OfMetrics, 4);
    expect(await verified(manifest, { databaseUrl: await payDatabase("UTC") })).toEqual([]);
  });

  it.skipIf(!hasClickhouse)("on ClickHouse, too, and duplicates and gaps there", async () => {
    const database = await payClickhouse();
    const manifest = JSON.parse(
      inPay("manifest.json")
        .replaceAll('"analytics"', JSON.stringify(database))
        .replace('"adapter_type": "postgres"', '"adapter_type": "clickhouse"'),
    ) as OfMetrics;
    const metadata = { ...manifest.metadata, adapter_type: "clickhouse" };
    const built = { ...withSome(manifest, 8), metadata };
    await clickhouse(`INSERT INTO ${database}.customers SELECT * FROM ${database}.customers LIMIT 2`);
    const found = await verified(built, { clickhouse: clickhouseUrl() });
    const others = ["column-type", "column-nullable", "duplicate-join"];
    expect(found.filter(({ check }) => !others.includes(check))).toEqual([]);
    expect(textsOf(found, "duplicate-join")).toEqual([
      `"${database}.customers" has "2" values of "customer_id" in more than one row: what is joined to them is counted more than once.`,
    ]);
  });

  it("counts duplicates of a joined side, and finds gaps of the time spine and what the database refuses", async () => {
    const databaseUrl = await exposureDatabase();
    await queryAt(
      databaseUrl,
      `INSERT INTO analytics.customers VALUES (10, 'acme', 'US', '+3', 3);
       DELETE FROM analytics.days WHERE day = '2026-01-02';
       ALTER TABLE analytics.payments ALTER COLUMN amount TYPE text USING 'a';`,
    );
    const found = await verified(EXPOSURE, { databaseUrl });
    expect(textsOf(found, "duplicate-join")).toEqual([
      '"analytics.customers" has "1" values of "customer_id" in more than one row: what is joined to them is counted more than once.',
    ]);
    expect(textsOf(found, "time-spine-gaps")).toEqual([
      'The time spine "analytics.days" lacks "1" periods of "day" between "2026-01-01" and "2026-01-04": answers lack them.',
    ]);
    expect(
      found.filter(({ check }) => check === "refused-measure").map(({ endpoint }) => endpoint),
    ).toContain("/v1/pay/revenue");
    expect(textsOf(found, "refused-measure").join(" ")).toContain(
      "function pg_catalog.sum(text) does not exist",
    );
  });

  it("names relations and columns of metrics that the database lacks or the role may not read", async () => {
    const databaseUrl = await exposureDatabase();
    await queryAt(
      databaseUrl,
      `ALTER TABLE analytics.customers DROP COLUMN region; DROP TABLE analytics.days;`,
    );
    const found = await verified(EXPOSURE, { databaseUrl });
    expect(textsOf(found, "missing-column")).toContain(
      '"analytics.customers" has no column "region": rows come without it.',
    );
    expect(found.filter(({ check }) => check === "missing-relation").map(({ endpoint }) => endpoint)).toEqual(
      expect.arrayContaining(["/v1/pay/running", "/v1/pay/share"]),
    );
  });

  it("finds columns that the project writes in another letter case", async () => {
    const written = JSON.stringify(EXPOSURE).replaceAll('"expr":"customer_id"', '"expr":"Customer_ID"');
    const found = await verified(JSON.parse(written), { databaseUrl: await exposureDatabase() });
    expect(found.filter(({ endpoint }) => endpoint === "/v1/pay/sent")).toEqual([]);
  });

  it("finds filters of metrics that no index serves, by the plan of the statement of their groups", async () => {
    const databaseUrl = await exposureDatabase();
    await queryAt(
      databaseUrl,
      `INSERT INTO analytics.payments SELECT n, 'acme', n % 90, n, 'T' || n % 70, 'x', '2024-01-01'::date + n % 900, '1990-01-01' FROM generate_series(4, 30000) n;
       CREATE INDEX ON analytics.payments (token); ANALYZE analytics.payments;`,
    );
    const before = textsOf(await verified(EXPOSURE, { databaseUrl, plans: true }), "unindexed-filter");
    const revenue = (column: string): string =>
      `No index serves "${column}": each request for "payment_count" that filters by it reads the whole relation.`;
    expect(before.filter((text) => text.includes('"payment_count"'))).toEqual([
      revenue("payment__paid_on"),
      revenue("metric_time"),
    ]);
    await queryAt(databaseUrl, "CREATE INDEX ON analytics.payments (paid_on)");
    const after = textsOf(await verified(EXPOSURE, { databaseUrl, plans: true }), "unindexed-filter");
    expect(after.filter((text) => /payment_count|running|share/.test(text))).toEqual([]);
    await queryAt(
      databaseUrl,
      "DELETE FROM analytics.payments WHERE payment_id > 900; ANALYZE; DROP INDEX analytics.payments_token_idx",
    );
    const small = textsOf(await verified(EXPOSURE, { databaseUrl, plans: true }), "unindexed-filter");
    expect(small).toEqual([]);
  });

  it.skipIf(!hasClickhouse)("on ClickHouse by the granules that a filter skips", async () => {
    const database = await ownDatabase([
      "CREATE TABLE @.payments (payment_id Int32, customer_id Int32, amount Int32, token String, paid_on Date) ENGINE = MergeTree ORDER BY paid_on",
      "INSERT INTO @.payments SELECT number, number % 90, number, concat('T', toString(number % 70)), toDate('2020-01-01') + intDiv(number, 200) FROM numbers(200000)",
      "CREATE TABLE @.customers (customer_id Int32, region String) ENGINE = MergeTree ORDER BY customer_id",
    ]);
    const found = textsOf(
      await verified(sentManifest(database, "clickhouse"), { clickhouse: clickhouseUrl(), plans: true }),
      "unindexed-filter",
    );
    expect(found).toEqual([
      'No index serves "payment__token": each request for "sent" that filters by it reads the whole relation.',
    ]);
  });
});

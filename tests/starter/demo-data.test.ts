import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { verify } from "../../generator/commands/verify.js";
import { type BuildResults, buildDemoRelations } from "../../scripts/demo/relations.js";
import { scratchDatabase, SERVER_URL } from "./scratch-database.js";
import { nodes, published, STARTER_DIR } from "./starter-manifest.js";

const LAST_DAY = "2026-06-30";

/** The types that dbt's column documentation abbreviates. */
const FULL_NAMES: Record<string, string> = { timestamptz: "timestamp with time zone" };

/** Columns that may be null by the specification, though this data has a value for each. */
const NEVER_NULL_HERE = ["value", "change_pct", "as_of_date", "turnover_native", "last_paid_on"];

const { endpoints } = JSON.parse(
  readFileSync(new URL("../../generated/catalogue.json", import.meta.url), "utf8"),
) as { endpoints: { model: string; columns: { name: string; notNull?: string }[] }[] };

/** Whether a column is documented as never null: by a constraint that dbt builds, or by a test. */
function isRequired(model: string, column: string): boolean {
  const columns = endpoints.find((endpoint) => endpoint.model === model)?.columns ?? [];
  return columns.some(({ name, notNull }) => name === column && notNull !== undefined);
}

describe.skipIf(!SERVER_URL)("the demo data", () => {
  const database = scratchDatabase("demo_data", "analytics");
  let results: BuildResults = { builds: [], tests: [] };
  const one = async (sql: string) => (await database.rows<Record<string, unknown>>(sql))[0];

  beforeAll(async () => {
    const relations = nodes.filter(({ config }) => config.materialized !== "ephemeral");
    const first = await buildDemoRelations(database.url, STARTER_DIR);
    expect(first).toMatchObject({ built: relations.length });
    results = first.results;
  });

  it("is not built again by a second start, which knows when and how it was built", async () => {
    const second = await buildDemoRelations(database.url, STARTER_DIR);
    expect(second).toEqual({ built: 0, results });
  });

  it("agrees with the catalogue: a server of the demo logs no difference", async () => {
    const { output = "" } = await verify({
      revision: join(STARTER_DIR, "manifest.json"),
      databaseUrl: database.url,
      format: "json",
      failOn: "warning",
      generated: "generated",
      cwd: process.cwd(),
      defaultTier: "tier0",
    });
    const { differences } = JSON.parse(output) as { differences: { check: string }[] };
    // Some filters have no index on purpose, which a server does not check.
    expect(differences.filter(({ check }) => check !== "unindexed-filter")).toEqual([]);
  });

  it("has the rows that its build reports, and passes the tests of the project", async () => {
    const tables = results.builds.filter(({ rows }) => rows !== null);
    expect(tables.length).toBeGreaterThan(published.length);
    for (const { node, rows } of tables) {
      const { alias } = nodes.find(({ unique_id }) => unique_id === node)!;
      expect(await one(`select count(*)::integer as rows from analytics.${alias}`)).toEqual({ rows });
    }
    expect(results.tests.length).toBeGreaterThan(10);
    expect(results.tests.filter(({ status }) => status !== "pass")).toEqual([]);
  });

  it.each(published)(
    "has the columns that $name documents, in their order and with their types",
    async (model) => {
      const columns = await database.rows<{ name: string; type: string }>(
        `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
       where attrelid = 'analytics.${model.name}'::regclass and attnum > 0 order by attnum`,
      );
      const documented = Object.values(model.columns).map(({ name, data_type: type = "" }) => ({
        name,
        type: FULL_NAMES[type] ?? type,
      }));
      expect(columns).toEqual(documented);
    },
  );

  it.each(published)("has rows in $name, with a null only where one may be", async (model) => {
    const columns = Object.values(model.columns);
    const nulls = columns.map(({ name }) => `count(*) - count(${name}) as ${name}`).join(", ");
    const counted = await one(`select count(*) as "rows", ${nulls} from analytics.${model.name}`);
    expect(counted?.["rows"]).not.toBe("0");
    for (const column of columns) {
      if (isRequired(model.name, column.name))
        expect([column.name, counted?.[column.name]]).toEqual([column.name, "0"]);
      else if (!NEVER_NULL_HERE.includes(column.name)) expect(counted?.[column.name]).not.toBe("0");
    }
  });

  it("spans a year of days and ends on the last one everywhere", async () => {
    const span = "count(distinct date)::integer as days, min(date)::text as first, max(date)::text as last";
    const year = { days: 365, first: "2025-07-01", last: LAST_DAY };
    expect(await one(`select ${span} from api_bridges_volume_daily`)).toEqual(year);
    expect(await one(`select ${span} from api_altchain_card_activity_by_action_daily`)).toEqual(year);
    for (const { name } of published.filter(({ columns }) => columns["as_of_date"])) {
      expect(await database.rows(`select distinct as_of_date::text as day from ${name}`)).toEqual([
        { day: LAST_DAY },
      ]);
    }
  });

  it("adds up days to weeks", async () => {
    const volumes = "round(sum(volume_usd::numeric), 2) as volume, sum(transfers) as transfers";
    expect(
      await database.rows(
        `select date_trunc('week', date::timestamp)::date as week, ${volumes} from api_bridges_volume_daily group by 1
         except select week, ${volumes} from api_bridges_volume_weekly group by 1`,
      ),
    ).toEqual([]);
    const activity =
      "sum(activity_count), round(sum(volume_usd::numeric), 2), round(sum(volume_native::numeric), 2)";
    expect(
      await database.rows(
        `select date_trunc('week', date::timestamp)::date, coalesce(action, 'Unclassified'), ${activity}
         from api_altchain_card_activity_by_action_daily group by 1, 2
         except select week, action, ${activity} from api_altchain_card_activity_by_action_weekly group by 1, 2`,
      ),
    ).toEqual([]);
  });

  it("adds up to the all-time figures", async () => {
    expect(
      await one(
        `select value::numeric = (select sum(volume_usd::numeric) from api_bridges_volume_daily) as volume,
           (select value::numeric from api_bridges_netflow_all_time)
             = (select sum((inflow_usd - outflow_usd)::numeric(18,2)) from api_bridges_volume_daily) as netflow,
           (select value::numeric from api_bridges_netflow_all_time) = (select sum(value::numeric)
             from api_bridges_cum_netflow_per_bridge_weekly where date = '2026-06-29') as cumulated
         from api_bridges_volume_all_time`,
      ),
    ).toEqual({ volume: true, netflow: true, cumulated: true });
  });

  it.each(["netflow", "volume"])("compares the last 7 days of %s with the 7 before", async (figure) => {
    const sign = figure === "netflow" ? "-" : "+";
    const week = (from: string, to: string) =>
      `(select sum((inflow_usd ${sign} outflow_usd)::numeric(18,2)) from api_bridges_volume_daily
        where date between '${from}' and '${to}')`;
    expect(
      await one(
        `select value::numeric = ${week("2026-06-24", "2026-06-30")} as value,
           prev_value::numeric = ${week("2026-06-17", "2026-06-23")} as prev_value,
           abs(change_pct - 100 * (value - prev_value) / prev_value) <= 0.005 as change_pct
         from api_bridges_${figure}_last_7d`,
      ),
    ).toEqual({ value: true, prev_value: true, change_pct: true });
  });

  it.each(["inflow", "outflow"])(
    "has %s in five ranges, each holding the shorter ones",
    async (direction) => {
      const ranges = await database.rows<{ range: string; wei: string }>(
        `select range, sum(value)::text as wei from api_bridges_${direction}_in_ranges group by range order by sum(value)`,
      );
      expect(ranges.map(({ range }) => range)).toEqual(["1D", "7D", "30D", "90D", "All"]);
      expect(
        await one(
          `select sum(value)::text as wei from api_bridges_${direction}_per_token_last_7d where token = 'WETH'`,
        ),
      ).toEqual({ wei: ranges[1]?.wei });
    },
  );

  it("has amounts that only an unsigned 64-bit integer holds", async () => {
    const largest = "max(value) > 9223372036854775807 and max(value) <= 18446744073709551615 as is_unsigned";
    expect(await one(`select ${largest} from api_bridges_inflow_in_ranges`)).toEqual({ is_unsigned: true });
    expect(await one("select max(daily_limit_raw)::text as max from api_bridges_tokens")).toEqual({
      max: "18446744073709551615",
    });
  });

  it("sums each token's net flow over bridges into the row of all bridges, which comes last", async () => {
    const table = "api_bridges_netflow_per_token_per_bridge_daily";
    expect(
      await database.rows(
        `select date, token, sum(value) from ${table} where bridge <> 'All' group by 1, 2
         except select date, token, value from ${table} where bridge = 'All'`,
      ),
    ).toEqual([]);
    expect(await one(`select bridge from ${table} order by bridge_order desc limit 1`)).toEqual({
      bridge: "All",
    });
  });

  it("counts every transfer once in days, hours and transactions", async () => {
    const [counts] = await database.rows<Record<string, string>>(
      `select (select sum(transfers) from api_bridges_volume_daily) as days,
         (select sum(inflow_transfers + outflow_transfers) from api_bridges_transfers_hourly) as hours,
         (select count(*) from api_bridges_transactions) as transactions`,
    );
    expect(new Set(Object.values(counts ?? {})).size).toBe(1);
  });

  it("has quieter weekends and a growing business", async () => {
    expect(
      await one(
        `select avg(volume_usd) filter (where extract(isodow from date) > 5)
             < 0.85 * avg(volume_usd) filter (where extract(isodow from date) < 6) as weekends,
           avg(volume_usd) filter (where date >= '2026-04-01') > 1.5 * avg(volume_usd) filter (where date < '2025-10-01') as growth
         from api_bridges_volume_daily`,
      ),
    ).toEqual({ weekends: true, growth: true });
  });
});

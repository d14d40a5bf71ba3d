import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ownRole } from "../support/database-roles.js";
import { byEngine, engine, ownerQuery } from "../support/engines.js";
import { generateInto, ownFolder, startFolder, startManifest } from "../support/service.js";
import { DECLARED, rollUpManifest, rollUpRequests, rollUpTables } from "./roll-up-tables.js";

/** `ROLL_UP_REQUESTS=10000 npm test -- roll-ups` asks so many, `ROLL_UP_SEED` others. */
const COUNT = Number(process.env["ROLL_UP_REQUESTS"] ?? byEngine({ postgres: 120, clickhouse: 40 }));
const SEED = Number(process.env["ROLL_UP_SEED"] ?? 75);

const KEYS = JSON.stringify({
  sk_live_acme: { tier: "tier3", user: "acme", org: "acme" },
  sk_live_other: { tier: "tier3", user: "other", org: "other" },
  sk_live_all: { tier: "tier3", user: "all", org: "*" },
});

const NODES = ["orders", "customers", "days"];
const BUILT = Date.parse("2026-11-01T00:00:00Z");
const MINUTE = 60_000;

/** A server over the tables, whose roll-ups were built a minute after the rest. */
async function started(manifest: unknown, variables: Readonly<Record<string, string>> = {}) {
  const folder = ownFolder();
  generateInto(folder, manifest);
  const service = await startFolder(folder, { API_KEYS: KEYS, RATE_LIMITS: "", ...variables });
  const build = (name: string, startedAt: number): void =>
    service.recordBuilds([{ node: `model.test.${name}`, startedAt, completedAt: startedAt + 1000 }]);
  for (const name of NODES) build(name, BUILT);
  for (const name of ["orders_by_day", "orders_by_month", "orders_by_week"]) build(name, BUILT + MINUTE);
  return { url: service.url, build };
}

async function ask(url: string, request: string, key = "all") {
  const send = () => fetch(url + request, { headers: { "X-API-Key": `sk_live_${key}` } });
  let response = await send();
  // The machine may be busy.
  for (let i = 0; response.status === 503 && i < 10; i++) {
    await setTimeout(1000);
    response = await send();
  }
  const timing = response.headers.get("server-timing") ?? "";
  return { status: response.status, text: await response.text(), isRolledUp: timing.includes("rollup;") };
}

const only = (name: string) => ({ [name]: DECLARED[name] ?? {} });
const sorted = (text: string): readonly string[] => text.split("},{").toSorted();

/** Again where ClickHouse has closed the idle connection meanwhile. */
const changed = (sql: string) => ownerQuery(sql).catch(() => ownerQuery(sql));

const schema = await rollUpTables();
const [own, others] = [await rollUpTables(50), await rollUpTables(50)];
const manifest = rollUpManifest(schema);
const monthly = await started(rollUpManifest(schema, only("orders_by_month")));
const weekly = await started(rollUpManifest(schema, only("orders_by_week")));
const [rolled, plain] = [await started(manifest), await started(manifest, { ROLL_UPS: "false" })];

it("answers random requests from roll-ups as from the rows themselves", async () => {
  let answered = 0;
  const differing: unknown[] = [];
  for (const { request, key } of rollUpRequests(COUNT, SEED)) {
    const [own, other] = [await ask(rolled.url, request, key), await ask(plain.url, request, key)];
    expect(other.isRolledUp).toBe(false);
    if (own.isRolledUp) answered++;
    const isSame = own.status === other.status && String(sorted(own.text)) === String(sorted(other.text));
    if (!isSame) differing.push({ request, key, own, other });
  }
  expect(differing.slice(0, 3)).toEqual([]);
  expect(answered / COUNT).toBeGreaterThan(0.2);
}, 3_600_000);

describe("a roll-up answers", () => {
  it.each([
    ["its own groups", "/v1/shop/revenue?group_by=order__country,metric_time__month"],
    ["a coarser grain", "/v1/shop/revenue?group_by=metric_time__year"],
    ["a week from days", "/v1/shop/fees?group_by=metric_time__week"],
    ["a joined dimension by its entity", "/v1/shop/orders?group_by=customer__region"],
    ["a range of days", "/v1/shop/orders?start_date=2026-01-10&end_date=2026-02-11"],
    ["a filter of the metric", "/v1/shop/late?group_by=order__country"],
    ["a ratio", "/v1/shop/fee_share?group_by=order__country"],
    ["an offset", "/v1/shop/growth?group_by=metric_time__month"],
    ["running totals", "/v1/shop/all_time?group_by=metric_time__month"],
    ["no row", "/v1/shop/orders?order__country=XX"],
    ...byEngine<readonly [string, string][]>({
      postgres: [],
      clickhouse: [
        ["distinct values", "/v1/shop/buyers?group_by=metric_time__month"],
        ["distinct texts", "/v1/shop/countries?customer[in]=10,20"],
        ["distinct values of each day", "/v1/shop/daily_buyers?group_by=metric_time__day"],
        ["distinct values of no row", "/v1/shop/buyers?order__country=XX"],
      ],
    }),
  ])("%s", async (_, request) => {
    const [own, other] = [await ask(rolled.url, request), await ask(plain.url, request)];
    expect(own).toEqual({ ...other, status: 200, isRolledUp: true });
  });
});

const REVENUE = "/v1/shop/revenue?group_by=order__country&sort_by=order__country";

describe("the rows themselves answer", () => {
  it.each([
    ...byEngine<readonly [string, string][]>({
      postgres: [["distinct values", "/v1/shop/buyers"]],
      clickhouse: [["distinct values up to a period", "/v1/shop/all_buyers?group_by=metric_time__month"]],
    }),
    ["averages", "/v1/shop/mean_fee"],
    ["a group that no roll-up has", "/v1/shop/revenue?group_by=order"],
    ["what compares another metric by an entity", "/v1/shop/of_many"],
  ])("%s", async (_, request) => {
    expect(await ask(rolled.url, request)).toMatchObject({ status: 200, isRolledUp: false });
  });

  it.each([
    ["months from weeks", "orders_by_week", "group_by=metric_time__month"],
    ["days from months", "orders_by_month", "group_by=metric_time__day"],
    ["weeks from months", "orders_by_month", "group_by=metric_time__week"],
    ["a range of days from months", "orders_by_month", "start_date=2026-01-01&end_date=2026-01-31"],
    ["a day's condition from months", "orders_by_month", "metric_time[gte]=2026-01-01"],
    ["parts of dates that are shorter", "orders_by_month", "group_by=metric_time__extract_dow"],
    ["what is joined by an entity that it lacks", "orders_by_month", "group_by=customer__region"],
    [
      "an expression on what it lacks",
      "orders_by_month",
      "filter=customer__region eq 'EU' or order__country eq 'CH'",
    ],
  ])("%s", async (_, name, query) => {
    const url = name === "orders_by_week" ? weekly.url : monthly.url;
    expect(await ask(url, `/v1/shop/revenue?${encodeURI(query)}`)).toMatchObject({
      status: 200,
      isRolledUp: false,
    });
  });

  it("where a build is not known, or began before the last one of the rows", async () => {
    const { url, build } = await started(manifest);
    const isRolledUp = async (): Promise<boolean> => (await ask(url, REVENUE)).isRolledUp;
    expect(await isRolledUp()).toBe(true);
    build("orders", BUILT + 10 * MINUTE);
    expect(await isRolledUp()).toBe(false);
    // It began while the rows were built.
    for (const name of Object.keys(DECLARED)) build(name, BUILT + 10 * MINUTE);
    expect(await isRolledUp()).toBe(false);
    for (const name of Object.keys(DECLARED)) build(name, BUILT + 11 * MINUTE);
    expect(await isRolledUp()).toBe(true);
    const unknown = await startManifest(manifest, { API_KEYS: KEYS });
    expect((await ask(unknown.url, REVENUE)).isRolledUp).toBe(false);
  });

  it("where the relation is gone, at once and without an error", async () => {
    const { url } = await started(rollUpManifest(own, only("orders_by_month")));
    const before = await ask(url, REVENUE);
    expect(before.isRolledUp).toBe(true);
    await changed(`DROP TABLE IF EXISTS ${own}.orders_by_month`);
    expect(await ask(url, REVENUE)).toEqual({ ...before, isRolledUp: false });
  });

  it.runIf(engine === "postgres")("where the role may not read the roll-up", async () => {
    const role = await ownRole(schema);
    await ownerQuery(`REVOKE SELECT ON ${schema}.orders_by_month FROM ${role.name}`);
    const monthlyOnly = rollUpManifest(schema, only("orders_by_month"));
    const { url } = await started(monthlyOnly, { DATABASE_URL: role.url });
    const wanted = { ...(await ask(plain.url, REVENUE)), isRolledUp: false };
    expect([await ask(url, REVENUE), await ask(url, REVENUE)]).toEqual([wanted, wanted]);
  });

  it.runIf(engine === "clickhouse").each(["uniqState(country)", "uniqExactState(assumeNotNull(country))"])(
    "where distinct values are %s",
    async (state) => {
      const name = `of_${state.slice(0, state.indexOf("("))}`;
      await changed(`CREATE TABLE IF NOT EXISTS ${schema}.${name} ENGINE = MergeTree ORDER BY tuple() AS
        SELECT org_id, ${state} AS country_states FROM ${schema}.orders GROUP BY org_id`);
      const measures = { countries: "country_states" };
      const declared = { semantic_model: "orders", group_by: { org_id: "org_id" }, measures };
      const { url, build } = await started(rollUpManifest(schema, { [name]: declared }));
      build(name, BUILT + MINUTE);
      const request = "/v1/shop/countries";
      expect(await ask(url, request)).toEqual(await ask(plain.url, request));
    },
  );

  it("where columns have other types", async () => {
    const { url } = await started(rollUpManifest(others, only("orders_by_month")));
    const plainAnswer = await ask(url, REVENUE);
    const change = byEngine({
      postgres: `ALTER TABLE ${others}.orders_by_month ALTER revenue_sum TYPE float8`,
      clickhouse: `ALTER TABLE ${others}.orders_by_month MODIFY COLUMN revenue_sum Nullable(Float64)`,
    });
    await changed(change);
    const restarted = await started(rollUpManifest(others, only("orders_by_month")));
    expect(await ask(restarted.url, REVENUE)).toEqual({ ...plainAnswer, isRolledUp: false });
    expect(await ask(url, REVENUE)).toEqual({ ...plainAnswer, isRolledUp: false });
  });
});

it("no document names a roll-up", async () => {
  for (const path of ["/v1/system/catalogue", "/openapi.json", "/llms.txt", "/v1/system/lineage"])
    expect((await ask(rolled.url, path)).text).not.toContain("orders_by_");
});

describe("own rows", () => {
  it("callers get the totals of their organization", async () => {
    for (const key of ["acme", "other", "all"]) {
      const [own, other] = [await ask(rolled.url, REVENUE, key), await ask(plain.url, REVENUE, key)];
      expect(own).toEqual({ ...other, isRolledUp: true });
    }
  });

  it("a roll-up without the column of own rows answers nobody", async () => {
    const { country, ordered_at } = DECLARED["orders_by_month"]?.["group_by"] as Record<string, unknown>;
    const declared = {
      orders_by_month: { ...DECLARED["orders_by_month"], group_by: { country, ordered_at } },
    };
    const { url } = await started(rollUpManifest(schema, declared));
    for (const key of ["acme", "all"]) expect((await ask(url, REVENUE, key)).isRolledUp).toBe(false);
    // Where all rows are everybody's it answers.
    const open = await started(rollUpManifest(schema, declared, false));
    expect((await ask(open.url, REVENUE)).isRolledUp).toBe(true);
  });
});

import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { clickhouseLibrary, ClickhouseServer } from "../../clickhouse/start-clickhouse.js";
import { columnsOf, generateApi, openDatabase, SCHEMA, serveApi } from "../api.js";
import { compareFigure, type Bar, type Figures, type Findings, type Setting } from "../figures.js";
import { withRollUps } from "./group-roll-ups.js";
import { checkRows, CLICKHOUSE_WARM_UP_MS, compare, getRequests, rowsOf, type Sides } from "../load.js";
import { startServer } from "../process.js";

const ROWS = 100_000;
const CONNECTIONS = 8;
/** Each request differs: identical ones would share one execution. */
const REQUESTS = 2000;
/** Regions by months. */
const GROUPS = 84;

const days = Array.from({ length: REQUESTS }, (_, i) =>
  new Date(Date.UTC(2010, 0, 1 + i)).toISOString().slice(0, 10),
);
const PATHS = days.map(
  (day) => `/v1/shop/payments?group_by=region,day__month&measures=volume,payments&start_date=${day}`,
);

/** Payments of a year in seven regions, served by group only. */
function model(types: Readonly<Record<"day" | "region" | "amount", string>>) {
  const aggregate = {
    group_by: ["region", { column: "day", grains: ["month"] }],
    measures: { volume: { agg: "sum", column: "amount" }, payments: { agg: "count" } },
    rows: false,
  };
  const parameters = [{ name: "start_date", column: "day", operator: ">=", type: "date" }];
  return {
    name: "payments",
    tags: ["production", "shop", "api:payments"],
    columns: columnsOf(types),
    config: {
      materialized: "table",
      meta: { api: { allow_unfiltered: true, parameters }, routewright: { aggregate } },
    },
  };
}

/** Sums and counts by group, beside the hand-written statement. */
export async function groups(setting: Setting): Promise<Findings> {
  const found = [
    await onPostgres(setting),
    ...(clickhouseLibrary() === null ? [] : [await onClickhouse(setting)]),
  ];
  const title = `groups: ${String(GROUPS)} groups of ${String(ROWS)} rows, ${String(CONNECTIONS)} connections`;
  const rows = Object.assign({}, ...found.map(({ rows: each }) => each)) as Record<string, Figures>;
  return {
    tables: [{ title, rows, note: NOTE }],
    bars: found.flatMap(({ bars }) => bars),
  };
}

const NOTE =
  '"bare" is a bare server in Node on PostgreSQL, and ClickHouse\'s own HTTP interface; "passed on" is a bare server in Node in front of that.';

interface GroupFigures {
  readonly rows: Record<string, Figures>;
  readonly bars: readonly Bar[];
}

async function compared<Name extends string>(
  name: string,
  sides: Readonly<Record<Name | keyof Sides, Sides["bare"]>>,
  more: { readonly databasePid?: number; readonly warmUpMs?: number },
): Promise<GroupFigures> {
  const samples = await compare<Name | keyof Sides>(sides, { connections: CONNECTIONS, ...more });
  return {
    rows: rowsOf(samples, `${name}, `),
    bars: [compareFigure(`groups on ${name}, throughput`, samples, "requests/s", { atLeast: 0.9 })],
  };
}

async function onPostgres(setting: Setting): Promise<GroupFigures> {
  const { folder, keep, progress } = setting;
  progress("groups: PostgreSQL");
  const database = keep(await openDatabase(folder));
  await database.query(`CREATE TABLE ${SCHEMA}.payments AS
    SELECT date '2025-01-01' + i % 365 AS day, 'region-' || i % 7 AS region, (i % 1000 / 7.0)::numeric(12,2) AS amount
    FROM generate_series(1, ${String(ROWS)}) AS i; ANALYZE ${SCHEMA}.payments`);
  const statement = `SELECT json_agg(t)::text AS body FROM (
    SELECT region, date_trunc('month', day)::date AS day__month, sum(amount) AS volume, count(*) AS payments
    FROM ${SCHEMA}.payments WHERE day >= $1 GROUP BY 1, 2 ORDER BY 1, 2) t`;
  const args = [resolve("scripts/bench/baselines/bare.js")];
  const environment = { DATABASE_URL: database.url, BENCH_STATEMENT: statement };
  const bare = keep(await startServer({ name: "bare-groups", args, folder, environment }));
  const types = { day: "date", region: "text", amount: "numeric(12,2)" };
  const api = await generateApi(join(folder, "groups-api"), [model(types)]);
  const routewright = keep(await serveApi(api, database.url));
  for (const server of [bare, routewright]) await checkRows(server, PATHS[0] ?? "", GROUPS);
  const requests = getRequests(PATHS);
  const found = await compared(
    "PostgreSQL",
    { bare: { server: bare, requests }, routewright: { server: routewright, requests } },
    { databasePid: database.pid },
  );
  const byHand = async (name: string, table: string, total: string) =>
    keep(
      await startServer({
        name,
        args,
        folder,
        environment: {
          DATABASE_URL: database.url,
          BENCH_STATEMENT: `SELECT json_agg(t)::text AS body FROM (
            SELECT region AS payment__region, date_trunc('month', day)::date AS metric_time__month, sum(${total}) AS volume
            FROM ${SCHEMA}.${table} WHERE day >= $1 GROUP BY 1, 2 ORDER BY 1, 2) t`,
        },
      }),
    );
  await database.query(`CREATE TABLE ${SCHEMA}.payments_by_day AS
    SELECT day, region, sum(amount) AS volume_sum FROM ${SCHEMA}.payments GROUP BY 1, 2; ANALYZE ${SCHEMA}.payments_by_day`);
  const ofMetric = await withRollUps(setting, {
    ...{ name: "PostgreSQL", types, databaseUrl: database.url, databasePid: database.pid },
    ...{ days, groups: GROUPS, connections: CONNECTIONS },
    bare: {
      bare: { server: await byHand("bare-rows", "payments", "amount"), requests },
      "bare of the roll-up": {
        server: await byHand("bare-roll-up", "payments_by_day", "volume_sum"),
        requests,
      },
    },
  });
  return { ...found, rows: { ...found.rows, ...ofMetric } };
}

async function onClickhouse(setting: Setting): Promise<GroupFigures> {
  const { folder, keep, progress } = setting;
  progress("groups: ClickHouse");
  const data = join(folder, "clickhouse-groups");
  rmSync(data, { recursive: true, force: true });
  const database = await ClickhouseServer.start({ folder: data });
  const bare = keep({ port: database.httpPort, pid: database.pid, stop: () => database.kill() });
  await database.query("CREATE DATABASE bench");
  await database.query(`CREATE TABLE bench.payments ORDER BY day AS
    SELECT toDate('2025-01-01') + number % 365 AS day, concat('region-', toString(number % 7)) AS region,
      toDecimal64(number % 1000 / 7, 2) AS amount FROM numbers(${String(ROWS)})`);
  const types = { day: "Date", region: "String", amount: "Decimal(18, 2)" };
  const api = await generateApi(join(folder, "groups-clickhouse-api"), [model(types)], "clickhouse");
  const routewright = keep(await serveApi(api, database.url("bench", "api:secret")));
  const statement = (day: string): string => {
    const query = `SELECT region, toStartOfMonth(day) AS day__month, sum(amount) AS volume, count() AS payments FROM bench.payments WHERE day >= ${day} GROUP BY 1, 2 ORDER BY 1, 2 FORMAT JSONEachRow`;
    return `/?output_format_json_array_of_rows=1&query=${encodeURIComponent(query)}`;
  };
  const direct = days.map((day) => `${statement(`'${day}'`)}&user=api&password=secret`);
  const passedOn = keep(
    await startServer({
      name: "passed-on-groups",
      args: [resolve("scripts/bench/baselines/clickhouse.js")],
      folder,
      environment: {
        BENCH_CLICKHOUSE: `${statement("{day:Date}")}&param_day=`,
        BENCH_CLICKHOUSE_PORT: String(database.httpPort),
      },
    }),
  );
  const passed = days.map((day) => `/?page=${day}`);
  await checkRows(bare, direct[0] ?? "", GROUPS);
  await checkRows(passedOn, passed[0] ?? "", GROUPS);
  await checkRows(routewright, PATHS[0] ?? "", GROUPS);
  const sides = {
    bare: { server: bare, requests: getRequests(direct) },
    "passed on": { server: passedOn, requests: getRequests(passed) },
    routewright: { server: routewright, requests: getRequests(PATHS) },
  };
  const found = await compared("ClickHouse", sides, { warmUpMs: CLICKHOUSE_WARM_UP_MS });
  const byHand = (table: string, total: string) => ({
    server: bare,
    requests: getRequests(
      days.map((day) => {
        const query = `SELECT region AS payment__region, toStartOfMonth(day) AS metric_time__month, sum(${total}) AS volume FROM bench.${table} WHERE day >= '${day}' GROUP BY 1, 2 ORDER BY 1, 2 FORMAT JSONEachRow`;
        return `/?output_format_json_array_of_rows=1&user=api&password=secret&query=${encodeURIComponent(query)}`;
      }),
    ),
  });
  await database.query(`CREATE TABLE bench.payments_by_day ORDER BY day AS
    SELECT day, region, sum(amount) AS volume_sum FROM bench.payments GROUP BY 1, 2`);
  const ofMetric = await withRollUps(setting, {
    ...{ name: "ClickHouse", types, databaseUrl: database.url("bench", "api:secret") },
    ...{ days, groups: GROUPS, connections: CONNECTIONS },
    bare: {
      bare: byHand("payments", "amount"),
      "bare of the roll-up": byHand("payments_by_day", "volume_sum"),
    },
  });
  return { ...found, rows: { ...found.rows, ...ofMetric } };
}

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { clickhouseLibrary, ClickhouseServer } from "../../clickhouse/start-clickhouse.js";
import { columnsOf, generateApi, openDatabase, SCHEMA, serveApi } from "../api.js";
import type { Figures, Findings, Setting } from "../figures.js";
import type { Server } from "../process.js";
import { ask, timed } from "../timed-queries.js";
import { RUN_RESULTS, SEMANTICS, SETTINGS } from "./large-manifest.js";

/** Rows of each engine; a billion take about 5 GB in ClickHouse, 100 million about 5 GB in PostgreSQL. */
const ROWS = {
  clickhouse: Math.min(Number(process.env["LARGE_CLICKHOUSE_ROWS"] ?? 10_000_000), 1_000_000_000),
  postgres: Math.min(Number(process.env["LARGE_POSTGRES_ROWS"] ?? 1_000_000), 100_000_000),
};
/** One round over the largest takes minutes. */
const ROUNDS = ROWS.clickhouse > 100_000_000 || ROWS.postgres > 10_000_000 ? 1 : 3;
/** Rows of one INSERT. */
const AT_ONCE = 50_000_000;
const YEARS = 5;
const DAYS = YEARS * 365;
const FIRST = "2021-01-01";

/** A question, and the same by hand. `month` is the month of `day`. */
interface Question {
  readonly path: string;
  readonly sql: (month: string, table: string) => string;
}

const BY_MONTH = "metric_time__month";
const QUESTIONS: Readonly<Record<string, Question>> = {
  "sum by month and country": {
    path: `volume?group_by=${BY_MONTH},sale__country`,
    sql: (month, table) =>
      `SELECT ${month} AS m, country, sum(amount) AS v FROM ${table} GROUP BY 1, 2 ORDER BY 1, 2`,
  },
  "distinct by month": {
    path: `buyers?group_by=${BY_MONTH}`,
    sql: (month, table) =>
      `SELECT ${month} AS m, count(DISTINCT customer) AS v FROM ${table} GROUP BY 1 ORDER BY 1`,
  },
  "running total by month": {
    path: `running?group_by=${BY_MONTH}`,
    sql: (month, table) =>
      `SELECT m, sum(v) OVER (ORDER BY m) AS v FROM (SELECT ${month} AS m, sum(amount) AS v FROM ${table} GROUP BY 1) AS t ORDER BY 1`,
  },
};

/** An engine with the table `sales` and its roll-up by day and country. */
interface Loaded {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly month: string;
  readonly run: (sql: string) => Promise<unknown>;
  /** Address of a role that may use little memory. */
  readonly smallUrl: string;
}

/** Metrics over large tables, beside statements by hand. Runs only by name. */
export async function large(setting: Setting): Promise<Findings> {
  const rows: Record<string, Figures> = {};
  const notes: string[] = [];
  const engines = [...(clickhouseLibrary() === null ? [] : [onClickhouse]), onPostgres];
  for (const load of engines) {
    const loaded = await load(setting);
    Object.assign(rows, await measured(setting, loaded));
    notes.push(...(await refused(setting, loaded)));
  }
  const title = `large: ${String(ROWS.clickhouse)} rows in ClickHouse, ${String(ROWS.postgres)} in partitions of PostgreSQL`;
  return { tables: [{ title, rows, note: notes.join("\n") }], bars: [] };
}

async function generated({ folder }: Setting, { name }: Loaded): Promise<string> {
  const [adapter, types] =
    name === "ClickHouse"
      ? ([
          "clickhouse",
          { day: "Date", country: "LowCardinality(String)", customer: "UInt32", amount: "UInt32" },
        ] as const)
      : (["postgres", { day: "date", country: "text", customer: "integer", amount: "integer" }] as const);
  const models = [
    { name: "sales", columns: columnsOf(types), config: { materialized: "table" } },
    {
      name: "sales_by_day",
      depends_on: { nodes: ["model.bench.sales"] },
      config: { materialized: "table", meta: { routewright: { rollup_of: SETTINGS } } },
    },
    {
      name: "days",
      columns: columnsOf({ day: types.day }),
      config: { materialized: "table" },
      time_spine: { standard_granularity_column: "day" },
    },
  ];
  const api = await generateApi(join(folder, `large-${adapter}-api`), models, adapter, SEMANTICS);
  writeFileSync(join(api, "run_results.json"), RUN_RESULTS);
  return api;
}

async function measured(setting: Setting, loaded: Loaded): Promise<Readonly<Record<string, Figures>>> {
  const api = await generated(setting, loaded);
  const serve = async (ROLL_UPS: string): Promise<Server> => {
    const variables = {
      DBT_RUN_RESULTS_PATH: join(api, "run_results.json"),
      STATEMENT_TIMEOUT_MS: "0",
      ROLL_UPS,
    };
    return setting.keep(await serveApi(api, loaded.url, { ...variables, CACHE_MAX_BYTES: "0" }));
  };
  const [off, on] = [await serve("false"), await serve("true")];
  const found: Record<string, Figures> = {};
  for (const [name, { path, sql }] of Object.entries(QUESTIONS)) {
    setting.progress(`large: ${loaded.name}, ${name}`);
    const sides: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["by hand", () => loaded.run(sql(loaded.month, `${SCHEMA}.sales`))],
      ["routewright", () => ask(off, path)],
      ...(name.startsWith("sum") ? [["roll-up", () => ask(on, path)] as const] : []),
    ];
    for (const [side, ask] of sides) {
      const figures = await best(() => timed(loaded.pid, ask));
      found[`${loaded.name}, ${name}, ${side}`] = figures;
      // A run may be cut off before its table.
      setting.progress(`large: ${loaded.name}, ${name}, ${side}: ${JSON.stringify(figures)}`);
    }
  }
  return found;
}

/** The round that took least of a processor. */
async function best(round: () => Promise<Figures>): Promise<Figures> {
  const all: Figures[] = [];
  for (let i = 0; i < ROUNDS; i++) all.push(await round());
  return all.reduce((a, b) => ((a["processor s"] ?? 0) <= (b["processor s"] ?? 0) ? a : b));
}

/** The response to a query for which time or memory is too little. */
async function refused(setting: Setting, loaded: Loaded): Promise<readonly string[]> {
  const api = await generated(setting, loaded);
  const cases = {
    "STATEMENT_TIMEOUT_MS=50": [loaded.url, "50"],
    "little memory": [loaded.smallUrl, "0"],
  } as const;
  const told: string[] = [];
  for (const [name, [url, STATEMENT_TIMEOUT_MS]] of Object.entries(cases)) {
    const server = setting.keep(await serveApi(api, url, { STATEMENT_TIMEOUT_MS }));
    const began = performance.now();
    const response = await fetch(
      `http://127.0.0.1:${String(server.port)}/v1/shop/${QUESTIONS["distinct by month"]?.path ?? ""}`,
      {
        headers: { "X-API-Key": "sk_live_bench_0" },
      },
    );
    const text = (await response.text()).slice(0, 200);
    told.push(
      `${loaded.name}, ${name}: ${String(response.status)} after ${((performance.now() - began) / 1000).toFixed(2)} s, ${text}`,
    );
    await server.stop();
  }
  return told;
}

async function onClickhouse({ folder, keep, progress }: Setting): Promise<Loaded> {
  progress(`large: filling ClickHouse with ${String(ROWS.clickhouse)} rows`);
  const data = join(folder, "clickhouse-large");
  rmSync(data, { recursive: true, force: true });
  const server = await ClickhouseServer.start({ folder: data });
  keep({
    stop: async () => {
      await server.kill();
      rmSync(data, { recursive: true, force: true });
    },
  });
  const run = (sql: string): Promise<string> => server.query(sql, { max_execution_time: "0" });
  await run(`CREATE DATABASE ${SCHEMA}`);
  await run(
    `CREATE TABLE ${SCHEMA}.sales (day Date, country LowCardinality(String), customer UInt32, amount UInt32) ORDER BY day`,
  );
  // In the order of the key: blocks need no sorting. A client waits five minutes for a response.
  for (let first = 0; first < ROWS.clickhouse; first += AT_ONCE)
    await run(`INSERT INTO ${SCHEMA}.sales SELECT toDate('${FIRST}') + intDiv(number * ${String(DAYS)}, ${String(ROWS.clickhouse)}),
    ['AT', 'CH', 'DE', 'FR', 'IT', 'PL', 'SE', 'US'][1 + number % 8], intHash32(number) % 100000, intHash32(number + 7) % 10000 FROM numbers_mt(${String(first)}, ${String(Math.min(AT_ONCE, ROWS.clickhouse - first))})`);
  await run(
    `CREATE TABLE ${SCHEMA}.sales_by_day ORDER BY day AS SELECT day, country, sum(amount) AS volume_sum FROM ${SCHEMA}.sales GROUP BY 1, 2`,
  );
  await run(
    `CREATE TABLE ${SCHEMA}.days ORDER BY day AS SELECT toDate('${FIRST}') + number AS day FROM numbers(${String(DAYS)})`,
  );
  const url = server.url(SCHEMA, "api:secret");
  return {
    ...{ name: "ClickHouse", pid: server.pid, url, month: "toStartOfMonth(day)", run },
    smallUrl: server.url(SCHEMA, "small_memory:secret"),
  };
}

async function onPostgres({ folder, keep, progress }: Setting): Promise<Loaded> {
  progress(`large: filling PostgreSQL with ${String(ROWS.postgres)} rows`);
  const parent = join(folder, "large-postgres");
  rmSync(parent, { recursive: true, force: true });
  const database = await openDatabase(parent);
  keep({
    stop: async () => {
      await database.stop();
      rmSync(parent, { recursive: true, force: true });
    },
  });
  await database.query(
    `CREATE TABLE ${SCHEMA}.sales (day date, country text, customer int, amount int) PARTITION BY RANGE (day)`,
  );
  for (let month = 0; month < YEARS * 12; month++) {
    const [from, to] = [month, month + 1].map((each) =>
      new Date(Date.UTC(2021, each, 1)).toISOString().slice(0, 10),
    );
    await database.query(
      `CREATE UNLOGGED TABLE ${SCHEMA}.sales_${String(month)} PARTITION OF ${SCHEMA}.sales FOR VALUES FROM ('${from ?? ""}') TO ('${to ?? ""}')`,
    );
  }
  await database.query(`INSERT INTO ${SCHEMA}.sales SELECT date '${FIRST}' + (i * ${String(DAYS)} / ${String(ROWS.postgres)})::int,
    (ARRAY['AT', 'CH', 'DE', 'FR', 'IT', 'PL', 'SE', 'US'])[1 + i % 8], (i * 7919 % 100000)::int, (i * 104729 % 10000)::int FROM generate_series(0, ${String(ROWS.postgres - 1)}::bigint) AS i`);
  await database.query(`CREATE TABLE ${SCHEMA}.sales_by_day AS SELECT day, country, sum(amount) AS volume_sum FROM ${SCHEMA}.sales GROUP BY 1, 2;
    CREATE TABLE ${SCHEMA}.days AS SELECT date '${FIRST}' + i AS day FROM generate_series(0, ${String(DAYS - 1)}) AS i; ANALYZE`);
  await database.query(
    "CREATE ROLE small LOGIN PASSWORD 'small'; ALTER ROLE small SET temp_file_limit = '1MB'; ALTER ROLE small SET work_mem = '64kB'",
  );
  await database.query(
    `GRANT USAGE ON SCHEMA ${SCHEMA} TO small; GRANT SELECT ON ALL TABLES IN SCHEMA ${SCHEMA} TO small`,
  );
  const small = new URL(database.url);
  [small.username, small.password] = ["small", "small"];
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  keep({ stop: () => pool.end() });
  return {
    ...{ name: "PostgreSQL", pid: database.pid, url: database.url, month: "date_trunc('month', day)::date" },
    ...{ run: (sql: string) => pool.query(sql), smallUrl: small.href },
  };
}

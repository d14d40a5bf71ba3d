import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { columnsOf, generateApi, SCHEMA, serveApi } from "../api.js";
import type { Figures, Setting } from "../figures.js";
import { checkRows, CLICKHOUSE_WARM_UP_MS, compare, getRequests, rowsOf } from "../load.js";
import type { Server } from "../process.js";

/** What is asked of the servers and of the database itself. */
interface RollUpLoad {
  readonly name: "PostgreSQL" | "ClickHouse";
  readonly types: Readonly<Record<"day" | "region" | "amount", string>>;
  readonly databaseUrl: string;
  readonly days: readonly string[];
  readonly groups: number;
  readonly connections: number;
  /** Statements by hand, over the rows and over the roll-up: servers with their requests. */
  readonly bare: Readonly<
    Record<"bare" | "bare of the roll-up", { server: Server; requests: readonly string[] }>
  >;
  readonly databasePid?: number;
}

/** A metric by region and month with roll-ups on and off, beside statements by hand. The roll-up has a row for each day and region. */
export async function withRollUps(
  { folder, keep, progress }: Setting,
  { name, types, databaseUrl, days, groups, connections, bare, databasePid }: RollUpLoad,
): Promise<Readonly<Record<string, Figures>>> {
  progress(`groups: roll-ups, ${name}`);
  const adapter = name === "ClickHouse" ? "clickhouse" : "postgres";
  const api = await generateApi(join(folder, `roll-ups-${adapter}-api`), models(types), adapter, SEMANTICS);
  const builds = join(api, "run_results.json");
  writeFileSync(builds, RUN_RESULTS);
  const serve = async (ROLL_UPS: string): Promise<Server> =>
    keep(await serveApi(api, databaseUrl, { DBT_RUN_RESULTS_PATH: builds, ROLL_UPS }));
  const [on, off] = [await serve("true"), await serve("false")];
  const paths = days.map(
    (day) => `/v1/shop/volume?group_by=payment__region,metric_time__month&start_date=${day}`,
  );
  for (const server of [on, off]) await checkRows(server, paths[0] ?? "", groups);
  await checkAnswered(on, paths[0] ?? "");
  const requests = getRequests(paths);
  const sides = {
    ...bare,
    "roll-ups off": { server: off, requests },
    "roll-ups on": { server: on, requests },
  };
  const samples = await compare(sides, {
    connections,
    ...(adapter === "clickhouse" && { warmUpMs: CLICKHOUSE_WARM_UP_MS }),
    ...(databasePid !== undefined && { databasePid }),
  });
  return rowsOf(samples, `${name}, metric, `);
}

/** No figure of a roll-up that is not read. */
async function checkAnswered({ port }: Server, path: string): Promise<void> {
  const headers = { "X-API-Key": "sk_live_bench_0" };
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}&limit=83`, { headers });
  const timing = response.headers.get("server-timing") ?? "";
  if (!timing.includes("rollup;")) throw new Error(`No roll-up answers ${path}: ${timing}`);
}

function models(types: RollUpLoad["types"]) {
  const settings = {
    semantic_model: "payments",
    group_by: { day: { column: "day", grain: "day" }, region: "region" },
    measures: { volume: "volume_sum" },
  };
  return [
    { name: "payments", columns: columnsOf(types), config: { materialized: "table" } },
    {
      name: "payments_by_day",
      depends_on: { nodes: ["model.bench.payments"] },
      config: { materialized: "table", meta: { routewright: { rollup_of: settings } } },
    },
  ];
}

const SEMANTICS = {
  semantic_models: {
    "semantic_model.bench.payments": {
      name: "payments",
      depends_on: { nodes: ["model.bench.payments"] },
      node_relation: { alias: "payments", schema_name: SCHEMA },
      defaults: { agg_time_dimension: "day" },
      entities: [{ name: "payment", type: "primary", expr: "region" }],
      dimensions: [
        { name: "day", type: "time", type_params: { time_granularity: "day" } },
        { name: "region", type: "categorical" },
      ],
      measures: [{ name: "volume", agg: "sum", expr: "amount" }],
    },
  },
  metrics: {
    "metric.bench.volume": {
      name: "volume",
      type: "simple",
      type_params: { measure: { name: "volume" } },
      config: {
        tags: ["production", "shop", "api:volume"],
        meta: { routewright: { group_by: ["metric_time", "payment__region"] } },
      },
    },
  },
  saved_queries: {},
};

const built = (name: string, second: number) => {
  const at = (add: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second + add)).toISOString();
  return {
    unique_id: `model.bench.${name}`,
    status: "success",
    timing: [{ name: "execute", started_at: at(0), completed_at: at(1) }],
  };
};

const RUN_RESULTS = JSON.stringify({
  metadata: {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
    generated_at: "2026-01-01T00:01:00Z",
  },
  results: [built("payments", 0), built("payments_by_day", 10)],
});

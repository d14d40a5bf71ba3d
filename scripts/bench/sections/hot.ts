import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { API_KEYS, columnsOf, generateApi, openDatabase, ORDINARY, SCHEMA, serveApi } from "../api.js";
import { hits } from "./hit.js";
import { checkRows, compare, getRequests, rowsOf, type Sides } from "../load.js";
import { startServer } from "../process.js";
import {
  type Bar,
  compareFigure,
  type Figures,
  type Findings,
  IS_SHORT,
  medians,
  type Setting,
} from "../figures.js";

const CONNECTIONS = 32;
/** Rows of the table, a day each; requests begin at one of the first days, so that no two at a time share a query. */
const ROWS = 5000;
const DAYS = 3360;
const PATH = "/v1/bench/hot";

/** Rows of a page. Limits: of requests a second, in multiples of each other server's. */
const CASES = [
  { rows: 1, prepared: 1.15, go: 0.85 },
  { rows: 10, go: 0.85 },
  { rows: 100, prepared: 1.35, go: 1 },
  { rows: 1000, prepared: 1.9, go: 1 },
];

type Server = Sides["bare"]["server"];

/** One endpoint that all callers ask, beside bare servers in Node and in Go, Fastify, and a server of the same duties. */
export async function hot(setting: Setting): Promise<Findings> {
  const { folder, keep, progress } = setting;
  progress("hot: starting the database and the servers");
  const database = keep(await openDatabase(folder));
  for (const statement of TABLE) await database.query(statement);
  const fastify = fastifyIn(folder);
  const go = goProgram(folder);
  const api = await hotApi(join(folder, "hit"), { routewright: { changes: "on_build" } });
  const kept = await hits(setting, { database, api, paths: pathsOf(1), fastify, go });
  const start = async (name: string, program: object): Promise<Server> =>
    keep(await startServer({ name, args: [], folder, ...program }));
  const environment = { DATABASE_URL: database.url };
  const bare = resolve("scripts/bench/baselines/bare.js");
  const servers: Record<string, Server> = {
    prepared: await start("bare", { args: [bare], environment: { ...environment, BENCH_HOT: "true" } }),
    routewright: keep(await serveApi(await hotApi(join(folder, "hot")), database.url)),
  };
  const program = resolve("scripts/bench/baselines/duties.js");
  const keyed = { ...environment, API_KEYS: JSON.stringify(API_KEYS) };
  servers["duties"] = await start("duties", { args: [program], environment: keyed });
  if (fastify !== null) {
    const args = [resolve("scripts/bench/baselines/fastify.js")];
    servers["fastify"] = await start("fastify", { args, environment: { ...environment, ...fastify } });
  }
  if (go !== null) {
    servers["go"] = await start("go", { program: go, environment });
    const encoding = { ...environment, BENCH_ROWS: "true" };
    servers["go, rows"] = await start("go", { program: go, environment: encoding });
  }
  const rows: Record<string, Figures> = {};
  const bars: Bar[] = [];
  for (const each of IS_SHORT ? CASES.slice(0, 1) : CASES) {
    progress(`hot: ${String(each.rows)} rows`);
    Object.assign(rows, await measure(servers, each, database.pid, bars));
  }
  const title = `hot: one endpoint over ${String(ROWS)} rows, ${String(CONNECTIONS)} connections, another first day in each request`;
  const note = [
    ...(fastify === null ? ["No Fastify: npm install --prefix .data/bench fastify"] : []),
    ...(go === null ? ["No Go: install it from https://go.dev/dl"] : []),
  ].join("\n");
  const table = { title, rows, ...(note !== "" && { note }) };
  return { tables: [...kept.tables, table], bars: [...kept.bars, ...bars] };
}

async function measure(
  servers: Readonly<Record<string, Server>>,
  { rows: count, prepared, go }: (typeof CASES)[number],
  databasePid: number,
  bars: Bar[],
): Promise<Record<string, Figures>> {
  const requests = getRequests(pathsOf(count));
  for (const server of Object.values(servers)) await checkRows(server, pathsOf(count)[0] ?? "", count);
  const sides = Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, { server, requests }]),
  );
  const job = { connections: CONNECTIONS, databasePid };
  const full = await compare(sides, job);
  const against = (name: string) => ({ bare: full[name] ?? [], routewright: full["routewright"] ?? [] });
  const text = `${String(count)} ${count === 1 ? "row" : "rows"}`;
  const bar = (name: string, atLeast: number): void => {
    if (full[name] !== undefined)
      bars.push(compareFigure(`${text}, beside ${name}`, against(name), "requests/s", { atLeast }));
  };
  bar("fastify", 1);
  bar("go", go);
  bar("go, rows", go);
  const table = rowsOf(full, `${text}, `);
  if (prepared === undefined) return table;
  bar("prepared", prepared);
  if (count === 1) bars.push(compareFigure(`${text}, CPU`, against("prepared"), "CPU µs", { atMost: 1.2 }));
  const perSecond = medians(full["prepared"] ?? [])["requests/s"] / 2;
  const { prepared: bare, routewright } = sides;
  if (bare === undefined || routewright === undefined) return table;
  const half = await compare({ bare, routewright }, { ...job, perSecond });
  bars.push(compareFigure(`${text}, p99 at half load`, half, "p99 ms", { atMost: 1.1 }));
  return { ...table, ...rowsOf(half, `${text}, half load, `) };
}

const COLUMNS = Object.entries(ORDINARY).map(([name, [, sql]]) =>
  name === "day" ? "date '2005-01-01' + i AS day" : `${sql} AS ${name}`,
);
const TABLE = [
  `CREATE TABLE ${SCHEMA}.hot AS SELECT ${COLUMNS.join(", ")} FROM generate_series(1, ${String(ROWS)}) AS i`,
  `CREATE UNIQUE INDEX ON ${SCHEMA}.hot (day)`,
  `VACUUM ANALYZE ${SCHEMA}.hot`,
];

function hotApi(folder: string, meta: object = {}): Promise<string> {
  const types = Object.fromEntries(Object.entries(ORDINARY).map(([name, [type]]) => [name, type]));
  const api = {
    allow_unfiltered: true,
    parameters: [{ name: "start_date", column: "day", operator: ">=", type: "date" }],
    sort: [{ column: "day", direction: "ASC" }],
    pagination: { enabled: true, default_limit: 1000, max_limit: 1000, response: "list" },
  };
  const model = {
    name: "hot",
    tags: ["production", "tier1", "bench", "api:hot"],
    description: "Figures by day.",
    columns: columnsOf(types),
    config: { materialized: "table", meta: { api, ...meta } },
  };
  return generateApi(folder, [model]);
}

function pathsOf(rows: number): string[] {
  return Array.from({ length: DAYS }, (_, i) => {
    // No two requests that run at the same time begin at the same day.
    const day = new Date(Date.UTC(2005, 0, 2 + i)).toISOString().slice(0, 10);
    return `${PATH}?start_date=${day}&limit=${String(rows)}`;
  });
}

/** The environment of the Fastify server; null where Fastify is not installed. */
function fastifyIn(folder: string): Readonly<Record<string, string>> | null {
  const modules = join(folder, "node_modules");
  return existsSync(join(modules, "fastify")) ? { BENCH_FASTIFY: join(folder, "package.json") } : null;
}

/** The compiled Go server; null where Go is not installed. */
function goProgram(folder: string): string | null {
  if (spawnSync("go", ["version"]).error !== undefined) return null;
  const program = join(folder, "go-server");
  const cwd = resolve("scripts/bench/baselines/go");
  execFileSync("go", ["build", "-o", program, "."], { cwd, stdio: ["ignore", "ignore", "inherit"] });
  return program;
}

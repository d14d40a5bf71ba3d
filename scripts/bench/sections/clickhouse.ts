import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { clickhouseLibrary, ClickhouseServer } from "../../clickhouse/start-clickhouse.js";
import { columnsOf, generateApi, serveApi } from "../api.js";
import { checkRows, CLICKHOUSE_WARM_UP_MS, compare, download, getRequests, rowsOf } from "../load.js";
import { residentMiB, type Server, startServer } from "../process.js";
import { type Bar, compareFigure, type Findings, interleave, memoryBar, type Setting } from "../figures.js";

export const ROWS = 1_000_000;
const CONNECTIONS = 8;

/** Limit of the memory above idle. */
const MEMORY_MIB = 128;

/** A table of as many rows, with an index. */
export const MILLION = `CREATE TABLE bench.million ORDER BY (page, id) AS
    SELECT toUInt32(intDiv(number, 1000)) AS page, number AS id, lower(hex(MD5(toString(number)))) AS label,
      toDateTime('2025-01-01 00:00:00', 'UTC') + number * 60 AS observed_at, concat('region-', toString(number % 7)) AS region
    FROM numbers(${String(ROWS)})`;

const STATEMENTS = [
  "CREATE DATABASE bench",
  MILLION,
  "CREATE VIEW bench.view AS SELECT * FROM bench.million",
];

const COLUMNS = {
  ...{ page: "UInt32", id: "UInt64", label: "String" },
  ...{ observed_at: "DateTime('UTC')", region: "String" },
};

export const modelOf = (name: string) => ({
  name,
  tags: ["production", "big", `api:${name}`],
  columns: columnsOf(COLUMNS),
  config: {
    meta: {
      api: {
        allow_unfiltered: true,
        parameters: [{ name: "page", column: "page", operator: "=", type: "string" }],
      },
    },
  },
});

/** The settings without which ClickHouse would print other values. */
const SETTINGS =
  "output_format_json_array_of_rows=1&output_format_json_quote_64bit_integers=0&date_time_output_format=iso&output_format_json_escape_forward_slashes=0";

/** The address of a statement, which ends with its condition. */
const statementPath = (condition: string): string => {
  const query = `SELECT ${Object.keys(COLUMNS).join(", ")} FROM bench.million WHERE ${condition}`;
  return `/?${SETTINGS}&default_format=JSONEachRow&query=${encodeURIComponent(query)}`;
};
const directPath = (condition: string): string => `${statementPath(condition)}&user=api&password=secret`;

/** Pages and streams from ClickHouse, beside its own HTTP interface and a bare server that passes its bytes on. */
export async function clickhouse({ folder, progress, keep }: Setting): Promise<Findings> {
  if (clickhouseLibrary() === null) {
    progress("clickhouse: left out, ClickHouse is not installed");
    return { tables: [], bars: [] };
  }
  progress("clickhouse: a table of 1,000,000 rows");
  const data = join(folder, "clickhouse");
  rmSync(data, { recursive: true, force: true });
  const database = await ClickhouseServer.start({ folder: data });
  const direct = keep({ port: database.httpPort, pid: database.pid, stop: () => database.kill() });
  for (const statement of STATEMENTS) await database.query(statement);
  const api = await generateApi(
    join(folder, "clickhouse-api"),
    ["million", "view"].map(modelOf),
    "clickhouse",
  );
  const servers = {
    clickhouse: direct,
    "passed on": keep(await passThrough(folder, direct)),
    "passed on, piped": keep(await passThrough(folder, direct, { BENCH_PIPED: "true" })),
    routewright: keep(await serveApi(api, database.url("bench", "api:secret"))),
  };
  progress("clickhouse: pages of 1,000 rows");
  const sides = await sidesOf(servers);
  const pages = await compare(sides, {
    connections: CONNECTIONS,
    databasePid: database.pid,
    warmUpMs: CLICKHOUSE_WARM_UP_MS,
  });
  progress("clickhouse: 1,000,000 rows in one response");
  const { routewright } = servers;
  const idle = residentMiB(routewright.pid);
  const downloads = await interleave({
    bare: () => download(direct, directPath("1")),
    routewright: () => download(routewright, "/v1/big/million"),
  });
  const memory = Math.max(...downloads.routewright.map(({ MiB }) => MiB)) - idle;
  const title = `clickhouse: pages of 1,000 rows, ${String(CONNECTIONS)} connections`;
  return {
    tables: [
      { title, rows: rowsOf(pages), note: NOTE },
      { title: "clickhouse: 1,000,000 rows", rows: rowsOf(downloads) },
    ],
    bars: [
      ...pageBars(pages),
      compareFigure("time of ClickHouse's HTTP interface, 1,000,000 rows", downloads, "seconds", {
        atMost: 1.1,
      }),
      memoryBar(memory, MEMORY_MIB),
    ],
  };
}

const NOTE =
  '"clickhouse" is its own HTTP interface, whose processor time includes the query; "passed on" a bare server in Node in front of it; the view reads the table.';

/** A bare server that passes the bytes of ClickHouse on. */
function passThrough(folder: string, { port }: Server, more = {}): Promise<Server> {
  const environment = {
    BENCH_CLICKHOUSE: statementPath("page = "),
    BENCH_CLICKHOUSE_PORT: String(port),
    ...more,
  };
  const args = [resolve("scripts/bench/baselines/clickhouse.js")];
  return startServer({ name: "pass-through", args, folder, environment });
}

type Servers = Readonly<Record<"clickhouse" | "passed on" | "passed on, piped" | "routewright", Server>>;

/** Each request is for another page. */
async function sidesOf(servers: Servers) {
  const side = async (server: Server, pathOf: (page: string) => string) => {
    const paths = Array.from({ length: ROWS / 1000 }, (_, i) => pathOf(String(i)));
    await checkRows(server, paths[3] ?? "", 1000);
    return { server, requests: getRequests(paths) };
  };
  const bare = (page: string) => `/?page=${page}`;
  return {
    clickhouse: await side(servers.clickhouse, (page) => directPath(`page = ${page}`)),
    "passed on": await side(servers["passed on"], bare),
    "passed on, piped": await side(servers["passed on, piped"], bare),
    routewright: await side(servers.routewright, (page) => `/v1/big/million?page=${page}`),
    "routewright, a view": await side(servers.routewright, (page) => `/v1/big/view?page=${page}`),
  };
}

type Pages = Awaited<ReturnType<typeof compare<keyof Awaited<ReturnType<typeof sidesOf>>>>>;

function pageBars({
  clickhouse: own,
  "passed on": bare,
  routewright,
  "routewright, a view": view,
}: Pages): Bar[] {
  return [
    compareFigure("CPU of a bare server, 1,000 rows", { bare, routewright }, "CPU µs", { atMost: 1.5 }),
    compareFigure("CPU of a bare server, 1,000 rows of a view", { bare, routewright: view }, "CPU µs", {
      atMost: 1.5,
    }),
    compareFigure("throughput of a bare server, 1,000 rows", { bare, routewright }, "requests/s", {
      atLeast: 0.9,
    }),
    compareFigure(
      "throughput of ClickHouse's HTTP interface, 1,000 rows",
      { bare: own, routewright },
      "requests/s",
      { atLeast: 0.9 },
    ),
  ];
}

import { rmSync } from "node:fs";
import { join } from "node:path";
import { clickhouseLibrary, ClickhouseServer } from "../../clickhouse/start-clickhouse.js";
import { columnsOf, generateApi, serveApi } from "../api.js";
import { checkRows, compare, download, getRequests, rowsOf, type Sides } from "../load.js";
import { residentMiB, type Server } from "../process.js";
import { compareFigure, type Findings, interleave, memoryBar, type Setting } from "../figures.js";

const ROWS = 1_000_000;
const CONNECTIONS = 8;

/** Limit of the memory above idle. */
const MEMORY_MIB = 128;

const TABLE_SQL = `CREATE TABLE bench.million ORDER BY (page, id) AS
  SELECT toUInt32(intDiv(number, 1000)) AS page, number AS id, lower(hex(MD5(toString(number)))) AS label,
    toDateTime('2025-01-01 00:00:00', 'UTC') + number * 60 AS observed_at, concat('region-', toString(number % 7)) AS region
  FROM numbers(${String(ROWS)})`;

const COLUMNS = {
  ...{ page: "UInt32", id: "UInt64", label: "String" },
  ...{ observed_at: "DateTime('UTC')", region: "String" },
};

const MODEL = {
  name: "million",
  tags: ["production", "big", "api:rows"],
  columns: columnsOf(COLUMNS),
  config: {
    meta: {
      api: {
        allow_unfiltered: true,
        parameters: [{ name: "page", column: "page", operator: "=", type: "string" }],
      },
    },
  },
};

/** The settings without which ClickHouse would print other values. */
const SETTINGS =
  "output_format_json_array_of_rows=1&output_format_json_quote_64bit_integers=0&date_time_output_format=iso&output_format_json_escape_forward_slashes=0";

const directPath = (condition: string): string => {
  const query = `SELECT ${Object.keys(COLUMNS).join(", ")} FROM bench.million WHERE ${condition} FORMAT JSONEachRow`;
  return `/?${SETTINGS}&user=api&password=secret&query=${encodeURIComponent(query)}`;
};

/** Pages and streams from ClickHouse, beside its own HTTP interface. */
export async function clickhouse({ folder, progress, keep }: Setting): Promise<Findings> {
  if (clickhouseLibrary() === null) {
    progress("clickhouse: left out, ClickHouse is not installed");
    return { tables: [], bars: [] };
  }
  progress("clickhouse: a table of 1,000,000 rows");
  const data = join(folder, "clickhouse");
  rmSync(data, { recursive: true, force: true });
  const database = await ClickhouseServer.start({ folder: data });
  const bare = keep({ port: database.httpPort, pid: database.pid, stop: () => database.kill() });
  await database.query("CREATE DATABASE bench");
  await database.query(TABLE_SQL);
  const api = await generateApi(join(folder, "clickhouse-api"), [MODEL], "clickhouse");
  const routewright = keep(await serveApi(api, database.url("bench", "api:secret")));
  progress("clickhouse: pages of 1,000 rows");
  const pages = await compare(await sidesOf(bare, routewright), { connections: CONNECTIONS });
  progress("clickhouse: 1,000,000 rows in one response");
  const idle = residentMiB(routewright.pid);
  const subjects = {
    bare: () => download(bare, directPath("1")),
    routewright: () => download(routewright, "/v1/big/rows"),
  };
  const downloads = await interleave(subjects);
  const title = `clickhouse: pages of 1,000 rows, ${String(CONNECTIONS)} connections`;
  const note = "The bare server is ClickHouse's own HTTP interface; its processor time includes the query.";
  const memory = Math.max(...downloads.routewright.map(({ MiB }) => MiB)) - idle;
  const own = "of ClickHouse's HTTP interface";
  return {
    tables: [
      { title, rows: rowsOf(pages), note },
      { title: "clickhouse: 1,000,000 rows", rows: rowsOf(downloads) },
    ],
    bars: [
      compareFigure(`throughput ${own}, 1,000 rows`, pages, "requests/s", { atLeast: 0.9 }),
      compareFigure(`time ${own}, 1,000,000 rows`, downloads, "seconds", { atMost: 1.15 }),
      memoryBar(memory, MEMORY_MIB),
    ],
  };
}

/** Each request is for another page. */
async function sidesOf(bare: Server, routewright: Server): Promise<Sides> {
  const pages = Array.from({ length: ROWS / 1000 }, (_, i) => String(i));
  const direct = pages.map((page) => directPath(`page = ${page}`));
  const paths = pages.map((page) => `/v1/big/rows?page=${page}`);
  await checkRows(bare, direct[3] ?? "", 1000);
  await checkRows(routewright, paths[3] ?? "", 1000);
  return {
    bare: { server: bare, requests: getRequests(direct) },
    routewright: { server: routewright, requests: getRequests(paths) },
  };
}

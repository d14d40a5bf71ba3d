import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { clickhouseLibrary, ClickhouseServer } from "../../clickhouse/start-clickhouse.js";
import { getRequest, Load, type Sample } from "../load/load.js";
import { cpuSeconds, residentMiB, type Server, timeProgram } from "../process.js";
import type { Findings, Row } from "../report.js";
import { single } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { interleave, median, ratioOf } from "../statistics.js";
import { ROUTEWRIGHT } from "../synthetic-api.js";
import type { Setting } from "./section.js";

const ROWS = 1_000_000;
const CONNECTIONS = 8;

/** Downloads by one client: the query string, and ClickHouse's condition. */
const DOWNLOADS = { "100,000 rows": ["?part=3", "part = 3"], "1,000,000 rows": ["", "1"] } as const;

/** Limit of the memory above idle. */
const MEMORY_MIB = 128;

/** The settings without which ClickHouse would print other values. */
const SETTINGS =
  "output_format_json_array_of_rows=1&output_format_json_quote_64bit_integers=0&date_time_output_format=iso&output_format_json_escape_forward_slashes=0";

interface Download {
  readonly seconds: number;
  readonly megabytes: number;
  readonly cpu: number;
  readonly memory: number;
}

/** Pages and streams from ClickHouse, beside its own HTTP interface. */
export async function clickhouse(setting: Setting): Promise<Findings> {
  const { folder, progress } = setting;
  if (clickhouseLibrary() === null) {
    progress("clickhouse: left out, ClickHouse is not installed");
    return { tables: [], bars: [] };
  }
  progress(`clickhouse: a table of ${ROWS.toLocaleString("en-US")} rows`);
  const data = join(folder, "clickhouse");
  rmSync(data, { recursive: true, force: true });
  const database = await ClickhouseServer.start({ folder: data });
  const load = new Load(database.pid);
  let server: Server | null = null;
  try {
    await database.query("CREATE DATABASE bench");
    await database.query(TABLE_SQL);
    server = await startRoutewright(await generateModel(folder), {
      url: database.url("bench", "api:secret"),
    });
    const direct = { port: database.httpPort, pid: database.pid };
    return findings(await pages(server, direct, load, setting), await downloads(server, direct, setting));
  } finally {
    load.stop();
    await server?.stop();
    await database.kill();
  }
}

const TABLE_SQL = `CREATE TABLE bench.million ORDER BY (part, page, id) AS
  SELECT toUInt32(intDiv(number, 100000)) AS part, toUInt32(intDiv(number, 1000)) AS page, number AS id, lower(hex(MD5(toString(number)))) AS label,
    toDateTime('2025-01-01 00:00:00', 'UTC') + number * 60 AS observed_at, concat('region-', toString(number % 7)) AS region
  FROM numbers(${String(ROWS)})`;

const COLUMNS = {
  ...{ part: "UInt32", page: "UInt32", id: "UInt64" },
  ...{ label: "String", observed_at: "DateTime('UTC')", region: "String" },
};

/** Generates an API of the table. */
async function generateModel(parent: string): Promise<string> {
  const folder = join(parent, "clickhouse-api");
  mkdirSync(folder, { recursive: true });
  const parameters = ["part", "page"].map((name) => ({ name, column: name, operator: "=", type: "string" }));
  const model = {
    resource_type: "model",
    unique_id: "model.bench.million",
    name: "million",
    schema: "bench",
    tags: ["production", "big", "api:rows"],
    columns: Object.fromEntries(
      Object.entries(COLUMNS).map(([name, data_type]) => [name, { name, data_type }]),
    ),
    config: { meta: { api: { allow_unfiltered: true, parameters } } },
  };
  const metadata = {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
    adapter_type: "clickhouse",
  };
  writeFileSync(
    join(folder, "manifest.json"),
    JSON.stringify({ metadata, nodes: { [model.unique_id]: model } }),
  );
  await timeProgram({
    name: "generate",
    args: [ROUTEWRIGHT, "generate", "--manifest", "manifest.json"],
    folder,
  });
  return folder;
}

const directPath = (condition: string): string => {
  const query = `SELECT part, page, id, label, observed_at, region FROM bench.million WHERE ${condition} FORMAT JSONEachRow`;
  return `/?${SETTINGS}&user=api&password=secret&query=${encodeURIComponent(query)}`;
};

type Servers<Measured> = Readonly<Record<"direct" | "routewright", readonly Measured[]>>;
type Address = Pick<Server, "port" | "pid">;

/** Pages of 1,000 rows, each request another one. */
async function pages(
  server: Server,
  direct: Address,
  load: Load,
  { effort: { rounds, roundMs, warmUpMs }, progress }: Setting,
): Promise<Servers<Sample>> {
  progress("clickhouse: pages of 1,000 rows");
  const all = Array.from({ length: ROWS / 1000 }, (_, i) => String(i));
  const requests = {
    direct: all.map((page) => getRequest(directPath(`page = ${page}`), "")),
    routewright: all.map((page, i) => getRequest(`/v1/big/rows?page=${page}`, KEYS[i % KEYS.length] ?? "")),
  };
  const subjects = { direct: { ...direct, stop: () => Promise.resolve() }, routewright: server };
  const run = (name: keyof typeof subjects, milliseconds: number): Promise<Sample> =>
    load.run(subjects[name], { requests: requests[name], connections: CONNECTIONS, milliseconds });
  await checkRows(direct, directPath("page = 3"));
  await checkRows(server, "/v1/big/rows?page=3");
  for (const name of ["direct", "routewright"] as const) await run(name, warmUpMs);
  return interleave(
    { direct: () => run("direct", roundMs), routewright: () => run("routewright", roundMs) },
    rounds,
  );
}

async function checkRows({ port }: Address, path: string): Promise<void> {
  const headers = { "X-API-Key": KEYS[0] ?? "" };
  const text = await (await fetch(`http://127.0.0.1:${String(port)}${path}`, { headers })).text();
  const rows: unknown = text.startsWith("[") ? JSON.parse(text) : null;
  if (!Array.isArray(rows) || rows.length !== 1000) throw new Error(`${path} has ${text.slice(0, 300)}`);
}

async function downloads(
  server: Server,
  direct: Address,
  { effort: { rounds }, progress }: Setting,
): Promise<Readonly<Record<string, Servers<Download>>>> {
  const idle = residentMiB(server.pid);
  const measured: Record<string, Servers<Download>> = {};
  for (const [name, [search, condition]] of Object.entries(DOWNLOADS)) {
    progress(`clickhouse: ${name} by curl`);
    measured[name] = await interleave(
      {
        direct: () => curl(direct, directPath(condition), 0),
        routewright: () => curl(server, `/v1/big/rows${search}`, idle),
      },
      rounds,
    );
  }
  return measured;
}

async function curl({ port, pid }: Address, path: string, idle: number): Promise<Download> {
  let highest = 0;
  const sampler = setInterval(() => (highest = Math.max(highest, residentMiB(pid))), 20);
  const before = cpuSeconds(pid);
  const { stdout } = await promisify(execFile)("curl", [
    ...["--silent", "--fail", "--output", "/dev/null", "--write-out", "%{size_download} %{time_total}"],
    ...["--header", `X-API-Key: ${KEYS[0] ?? ""}`, `http://127.0.0.1:${String(port)}${path}`],
  ]);
  clearInterval(sampler);
  const [bytes = 0, seconds = 0] = stdout.split(" ").map(Number);
  const megabytes = bytes / 1e6;
  return { seconds, megabytes, cpu: ((cpuSeconds(pid) - before) * 1000) / megabytes, memory: highest - idle };
}

function findings(page: Servers<Sample>, whole: Readonly<Record<string, Servers<Download>>>): Findings {
  const rate = (samples: readonly Sample[]): number[] => samples.map((each) => each.requestsPerSecond);
  const of = (samples: readonly Download[], figure: keyof Download): number[] =>
    samples.map((each) => each[figure]);
  const names = ["direct", "routewright"] as const;
  const million = whole["1,000,000 rows"] ?? { direct: [], routewright: [] };
  const memory = Math.max(...Object.values(whole).flatMap(({ routewright }) => of(routewright, "memory")));
  return {
    tables: [
      {
        title: `clickhouse: pages of 1,000 rows, ${String(CONNECTIONS)} connections`,
        columns: [
          { key: "server", head: "server" },
          { key: "rate", head: "requests/s", digits: 0 },
          { key: "p99", head: "p99 ms", digits: 1 },
        ],
        rows: names.map((server) => ({
          server,
          rate: median(rate(page[server])),
          p99: median(page[server].map(({ p99 }) => p99)),
        })),
      },
      {
        title: "clickhouse: one response, by curl",
        columns: [
          { key: "rows", head: "rows" },
          { key: "server", head: "server" },
          { key: "megabytes", head: "MB", digits: 1 },
          { key: "seconds", head: "seconds", digits: 2 },
          { key: "cpu", head: "CPU ms/MB", digits: 2 },
          { key: "memory", head: "MiB above idle", digits: 0 },
        ],
        rows: Object.entries(whole).flatMap(([rows, samples]) =>
          names.map((server): Row => ({
            rows,
            server,
            megabytes: median(of(samples[server], "megabytes")),
            seconds: median(of(samples[server], "seconds")),
            cpu: median(of(samples[server], "cpu")),
            memory: server === "direct" ? NaN : Math.max(...of(samples[server], "memory")),
          })),
        ),
        notes: ["`direct` is ClickHouse's own HTTP interface; its processor time includes the query."],
      },
    ],
    bars: [
      {
        name: "throughput of ClickHouse's HTTP interface, 1,000 rows",
        ratio: ratioOf(rate(page.routewright), rate(page.direct)),
        limit: { atLeast: 0.9 },
      },
      {
        name: "time of ClickHouse's HTTP interface, 1,000,000 rows",
        ratio: ratioOf(of(million.routewright, "seconds"), of(million.direct, "seconds")),
        limit: { atMost: 1.15 },
      },
      {
        name: `memory above idle, to ${String(MEMORY_MIB)} MiB`,
        ratio: single(memory / MEMORY_MIB),
        limit: { atMost: 1 },
      },
    ],
  };
}

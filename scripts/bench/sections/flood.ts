import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { clickhouseLibrary, ClickhouseServer } from "../../clickhouse/start-clickhouse.js";
import { API_KEYS, columnsOf, generateApi, openDatabase, ROUTEWRIGHT, SCHEMA } from "../api.js";
import type { Bar, Figures, Findings, Setting } from "../figures.js";
import { COLUMNS, FLOOD_KINDS, sendFloodRequest } from "../flood-requests.js";
import { residentMiB, type Server, startServer } from "../process.js";

/** How long the flood takes; `FLOOD_SECONDS` shortens it. */
const SECONDS = Number(process.env["FLOOD_SECONDS"] ?? 30 * 60);

/** Requests at a time to each server. */
const CONNECTIONS = 8;

/**
 * Requests of each kind before the first reading: code is compiled, and what a format needs is loaded (Parquet and Arrow from PostgreSQL
 * take 4 MiB, once).
 */
const WARM_UP_ROUNDS = 20;

/** What is kept for a time has expired after this. */
const QUIET_SECONDS = 120;

/** Resident memory that a server with default settings stays below (runtime/docs/limits.md). */
const MOST_MIB = 768;

/** Heap and buffers after the flood, as a part of those before. */
const MOST_KEPT = 1.2;

const MIB = 1024 * 1024;
const ROWS = 5_000;

/** Requests that differ from each other, all caches at once, both engines: what a server keeps is bounded. */
export async function flood({ folder, keep, progress }: Setting): Promise<Findings> {
  progress(`flood: ${String(SECONDS)} s on each engine at a time`);
  const servers = {
    postgres: keep(await onPostgres(folder, keep)),
    ...(clickhouseLibrary() !== null && { clickhouse: keep(await onClickhouse(folder, keep)) }),
  };
  const found = await Promise.all(
    Object.entries(servers).map(async ([name, server]) => [name, await flooded(server, progress)] as const),
  );
  return {
    tables: [{ title: "flood: memory in MiB", rows: Object.fromEntries(found), note: NOTE }],
    bars: found.flatMap(([name, figures]) => barsOf(name, figures)),
  };
}

const NOTE =
  "before and after: heap and buffers after a collection, idle for two minutes; peak: resident memory while requests run; caches: the largest sum of routewright_cache_bytes.";

const barsOf = (name: string, figures: Figures): Bar[] => [
  bar(`${name}: peak, to ${String(MOST_MIB)} MiB`, (figures["peak"] ?? NaN) / MOST_MIB, 1),
  bar(
    `${name}: heap and buffers, after to before`,
    (figures["after"] ?? NaN) / (figures["before"] ?? NaN),
    MOST_KEPT,
  ),
];

const bar = (name: string, ratio: number, atMost: number): Bar => ({
  name,
  ratio: { median: ratio, lowest: ratio, highest: ratio },
  limit: { atMost },
});

interface FloodedServer extends Server {
  readonly memory: () => Promise<number>;
}

async function flooded(server: FloodedServer, progress: Setting["progress"]): Promise<Figures> {
  await warmUp(server);
  await sleep(QUIET_SECONDS * 1000);
  const before = await server.memory();
  const peaks = { resident: 0, caches: 0 };
  const watch = setInterval(() => void note(server, peaks), 2_000);
  const counts = await sendFor(server, SECONDS);
  await note(server, peaks);
  clearInterval(watch);
  progress(`flood: ${JSON.stringify(counts)}, then quiet for ${String(QUIET_SECONDS)} s`);
  await sleep(QUIET_SECONDS * 1000);
  const after = await server.memory();
  const requests = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const resident = residentMiB(server.pid);
  return { requests, before, peak: peaks.resident, caches: peaks.caches, after, "resident after": resident };
}

async function warmUp({ port }: Server): Promise<void> {
  for (let round = 0; round < WARM_UP_ROUNDS; round++)
    await Promise.all(Array.from({ length: FLOOD_KINDS }, (_, kind) => sendFloodRequest(port, kind)));
}

/** Sends requests for some seconds; how many had which status. */
async function sendFor({ port }: Server, seconds: number): Promise<Record<string, number>> {
  const until = Date.now() + seconds * 1000;
  const counts: Record<string, number> = {};
  const sendAll = async (): Promise<void> => {
    while (Date.now() < until) {
      const status = await sendFloodRequest(port);
      counts[status] = (counts[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendAll));
  return counts;
}

async function note({ port, pid }: Server, peaks: { resident: number; caches: number }): Promise<void> {
  peaks.resident = Math.max(peaks.resident, residentMiB(pid));
  const reply = await fetch(`http://127.0.0.1:${String(port)}/metrics`).catch(() => null);
  const text = (await reply?.text().catch(() => "")) ?? "";
  const bytes = [...text.matchAll(/^routewright_cache_bytes\{.*\} (\d+)$/gm)].map(([, value]) =>
    Number(value),
  );
  peaks.caches = Math.max(peaks.caches, bytes.reduce((sum, each) => sum + each, 0) / MIB);
}

const PARAMETERS = [
  { name: "any", column: "status", operator: "IN", type: "string_list" },
  { name: "from", column: "day", operator: ">=", type: "date" },
];

function modelOf(types: Readonly<Record<(typeof COLUMNS)[number], string>>) {
  const api = {
    ...{ methods: ["GET", "POST"], allow_unfiltered: true, parameters: PARAMETERS },
    sort: [{ column: "id", direction: "ASC" }],
    sortable_fields: COLUMNS,
    pagination: { enabled: true, default_limit: 100, max_limit: 1000, response: "list" },
  };
  const tags = ["production", "tier0", "flood", "api:orders"];
  return {
    name: "orders",
    tags,
    columns: columnsOf(types),
    config: { meta: { api, routewright: { fields: true } } },
  };
}

async function onPostgres(folder: string, keep: Setting["keep"]): Promise<FloodedServer> {
  const database = keep(await openDatabase(folder));
  await database.query(`CREATE TABLE ${SCHEMA}.orders AS SELECT i AS id, date '2024-01-01' + i % 28 AS day, 'open' AS status,
    md5(i::text) AS label FROM generate_series(1, ${String(ROWS)}) AS i`);
  const types = { id: "integer", day: "date", status: "text", label: "text" };
  const api = await generateApi(join(folder, "flood-postgres"), [modelOf(types)]);
  return serve(api, database.url);
}

async function onClickhouse(folder: string, keep: Setting["keep"]): Promise<FloodedServer> {
  const data = join(folder, "clickhouse");
  rmSync(data, { recursive: true, force: true });
  const database = await ClickhouseServer.start({ folder: data });
  keep({ stop: () => database.kill() });
  await database.query("CREATE DATABASE bench");
  await database.query(`CREATE TABLE bench.orders ORDER BY id AS SELECT toInt32(number) AS id,
    toDate('2024-01-01') + number % 28 AS day, 'open' AS status, lower(hex(MD5(toString(number)))) AS label FROM numbers(${String(ROWS)})`);
  const types = { id: "Int32", day: "Date", status: "String", label: "String" };
  const api = await generateApi(join(folder, "flood-clickhouse"), [modelOf(types)], "clickhouse");
  return serve(api, database.url("bench", "api:secret"));
}

/** The command with default settings, but for `CACHE_TTL_SECONDS`: by default results are not kept. It says what memory it uses. */
async function serve(folder: string, databaseUrl: string): Promise<FloodedServer> {
  const file = join(folder, "memory.json");
  const preload = resolve("scripts/bench/baselines/collect.js");
  const server = await startServer({
    name: "serve",
    args: ["--expose-gc", "--import", preload, ROUTEWRIGHT, "serve", "--only", "data"],
    folder,
    environment: {
      DATABASE_URL: databaseUrl,
      API_KEYS: JSON.stringify(API_KEYS),
      CACHE_TTL_SECONDS: "60",
      BENCH_MEMORY: file,
    },
  });
  const memory = async (): Promise<number> => {
    rmSync(file, { force: true });
    process.kill(server.pid, "SIGUSR2");
    for (let tries = 0; tries < 300; tries++) {
      await sleep(100);
      const { heapUsed, external } = readMemory(file);
      if (heapUsed > 0) return (heapUsed + external) / MIB;
    }
    throw new Error("The server does not say what memory it uses.");
  };
  return { ...server, memory };
}

function readMemory(file: string): { readonly heapUsed: number; readonly external: number } {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { heapUsed: number; external: number };
  } catch {
    return { heapUsed: 0, external: 0 };
  }
}

import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import {
  createEndpoints,
  type Database,
  endpoints,
  generateEndpoints,
  openDatabase,
  serveApi,
} from "../api.js";
import { costOfCallers } from "../cost.js";
import {
  type Bar,
  type Figures,
  figureText,
  type Findings,
  interleave,
  medians,
  type PageTable,
  ratioOf,
} from "../figures.js";
import type { Setting } from "../figures.js";
import { generate, getRequests, type Job } from "../load.js";
import { childrenOf, cpuSeconds, cpuSecondsWithChildren, residentMiB, type Server } from "../process.js";
import { startPgBouncer, startRedis } from "../services.js";
import { pathsOf } from "./serve.js";

const CONNECTIONS = 32;
const ROUND_MS = 2000;
const WARM_UP_MS = 3000;

/** One way to serve, in as many processes. */
interface Way {
  readonly servers: readonly Server[];
  /** Redis or PgBouncer, where it is beside them. */
  readonly beside?: number;
}

/** Processor time is by request, in µs: of the servers with their workers, of the first process of workers, of PostgreSQL and of what is beside. */
type Sample = Readonly<
  Record<"requests/s" | "CPU µs" | "first µs" | "database µs" | "beside µs" | "p99 ms", number>
>;

/** Limits in multiples of one process's processor time by request, and of the workers' own. */
const MOST = { workers: 1.05, first: 0.02 };

/** Rounds of each way: the whole takes at most 140 s. */
const ROUNDS = 4;
const ENDPOINTS = 500;

/** One process, workers, processes with limits in Redis, a pooler, and results from the cache, in alternating rounds; then what a million callers cost. */
export async function processes(setting: Setting): Promise<Findings> {
  const { folder, keep, progress } = setting;
  const database = keep(await openDatabase(folder));
  await createEndpoints(database, ENDPOINTS);
  const api = await generateEndpoints(folder, ENDPOINTS);
  const requests = getRequests(pathsOf("1 row", endpoints(ENDPOINTS)));
  const ways = await startWays(setting, api, database);
  const runs: Record<string, () => Promise<Sample>> = {};
  for (const [name, way] of Object.entries(ways)) {
    await measureWay(way, requests, database.pid, WARM_UP_MS);
    runs[name] = () => measureWay(way, requests, database.pid, ROUND_MS);
  }
  progress("processes: alternating rounds");
  const samples = await interleave(runs, ROUNDS);
  const rows = Object.fromEntries(
    Object.entries(ways).map(([name, { servers }]) => [
      name,
      { ...medians(samples[name] ?? []), "MiB at end": memoryOf(servers) },
    ]),
  );
  const title = "processes: one row a request, the load and PostgreSQL on the same cores";
  const bytes = await bytesOf(ways["one process"]?.servers[0], requests[0] ?? "");
  return { tables: [{ title, rows }], page: [pageOf(rows), costOf(rows, bytes)], bars: barsOf(samples) };
}

function costOf(rows: Readonly<Record<string, Figures>>, bytes: number): PageTable {
  const alone = rows["one process"];
  return costOfCallers({
    server: alone?.["CPU µs"] ?? NaN,
    database: alone?.["database µs"] ?? NaN,
    kept: rows["one process, results kept"]?.["CPU µs"] ?? NaN,
    memory: alone?.["MiB at end"] ?? NaN,
    bytes,
  });
}

/** Bytes of a response with its head, as they are on the wire. */
async function bytesOf(server: Server | undefined, request: string): Promise<number> {
  const socket = connect(server?.port ?? 0, "127.0.0.1");
  await once(socket, "connect");
  socket.write(request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  let bytes = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) bytes += chunk.length;
  return bytes;
}

async function startWays(
  { folder, keep, progress }: Setting,
  api: string,
  { url }: Database,
): Promise<Readonly<Record<string, Way>>> {
  progress("processes: starting processes");
  const serve = async (address = url, variables = {}, flags: readonly string[] = []): Promise<Server> =>
    keep(await serveApi(api, address, variables, flags));
  const redis = await startRedis();
  const pooler = await startPgBouncer(join(folder, "pgbouncer"), url);
  for (const one of [redis, pooler]) if (one !== null) keep(one);
  const limits = redis === null ? {} : { REDIS_URL: redis.url };
  const kept = { CACHE_TTL_SECONDS: "3600" };
  return {
    "one process": { servers: [await serve()] },
    "two workers": { servers: [await serve(url, {}, ["--workers", "2"])] },
    ...(redis && {
      "one process, limits in Redis": { servers: [await serve(url, limits)], beside: redis.pid },
      "two processes, limits in Redis": {
        servers: [await serve(url, limits), await serve(url, limits)],
        beside: redis.pid,
      },
    }),
    ...(pooler && { "one process, PgBouncer": { servers: [await serve(pooler.url)], beside: pooler.pid } }),
    "one process, results kept": { servers: [await serve(url, kept)] },
  };
}

/** Connections are shared among the servers. */
async function measureWay(
  { servers, beside = NaN }: Way,
  requests: Job["requests"],
  databasePid: number,
  milliseconds: number,
): Promise<Sample> {
  const read = () => ({
    servers: sumOf(servers.map(({ pid }) => cpuSecondsWithChildren(pid))),
    first: sumOf(servers.map(({ pid }) => cpuSeconds(pid))),
    database: cpuSecondsWithChildren(databasePid),
    beside: cpuSeconds(beside),
  });
  const before = read();
  const connections = CONNECTIONS / servers.length;
  const results = await Promise.all(
    servers.map(({ port }) => generate(port, { requests, connections, milliseconds })),
  );
  const after = read();
  const count = sumOf(results.map((result) => result.requests));
  if (count === 0 || results.some(({ failures }) => failures > 0)) throw new Error("Requests failed.");
  const micros = (name: keyof typeof before): number => ((after[name] - before[name]) * 1e6) / count;
  const hasWorkers = servers.some(({ pid }) => childrenOf(pid).length > 0);
  return {
    "requests/s": sumOf(results.map((result) => (result.requests * 1000) / result.milliseconds)),
    "CPU µs": micros("servers"),
    "first µs": hasWorkers ? micros("first") : NaN,
    "database µs": micros("database"),
    "beside µs": micros("beside"),
    "p99 ms": Math.max(...results.map(({ p99 }) => p99)),
  };
}

function barsOf(samples: Readonly<Record<string, readonly Sample[]>>): readonly Bar[] {
  const figures = (name: string, figure: keyof Sample): number[] =>
    (samples[name] ?? []).map((sample) => sample[figure]);
  const workers = figures("two workers", "CPU µs");
  return [
    {
      name: "two workers, processor time by request to one process",
      ratio: ratioOf(workers, figures("one process", "CPU µs")),
      limit: { atMost: MOST.workers },
    },
    {
      name: "first process, of the processor time of its workers",
      ratio: ratioOf(figures("two workers", "first µs"), workers),
      limit: { atMost: MOST.first },
    },
  ];
}

const HEAD = [
  ...["server", "requests a second", "processor time per request", "of it the first process"],
  ...["PostgreSQL", "Redis or PgBouncer", "p99", "memory"],
];

function pageOf(rows: Readonly<Record<string, Figures>>): PageTable {
  const cells = Object.entries(rows).map(([name, figures]) => [
    name,
    figureText(figures["requests/s"]),
    figureText(figures["CPU µs"], "µs"),
    figureText(figures["first µs"], "µs"),
    figureText(figures["database µs"], "µs"),
    figureText(figures["beside µs"], "µs"),
    figureText(figures["p99 ms"], "ms"),
    figureText(figures["MiB at end"], "MiB"),
  ]);
  return { title: "## Several processes", head: HEAD, rows: cells };
}

function memoryOf(servers: readonly Server[]): number {
  const pids = servers.flatMap(({ pid }) => [pid, ...childrenOf(pid)]);
  return sumOf(pids.map(residentMiB));
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

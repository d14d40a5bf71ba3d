import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../clickhouse/start-clickhouse.js";
import {
  createEndpoints,
  type Database,
  endpoints,
  generateEndpoints,
  openDatabase,
  serveApi,
} from "../api.js";
import { type Fleet, simulateDeploy } from "../fleet.js";
import { getRequests, KEYS, putLoad, WARM_UP_MS } from "../load.js";
import { cpuSeconds, residentMiB, type Server } from "../process.js";
import type { Figures, Findings, Setting } from "../figures.js";
import { pathsOf } from "./serve.js";

const MOST_ENDPOINTS = 10_000;
const CONNECTIONS = 32;

/** What an endpoint, a process and Redis add, measured; then a deploy to 100 servers, simulated from these figures. */
export async function scaling(setting: Setting): Promise<Findings> {
  const { folder, keep, progress } = setting;
  // Of its own and new: PostgreSQL has no locks to drop 10,000 views at once.
  const ownFolder = join(folder, "scaling");
  rmSync(ownFolder, { recursive: true, force: true });
  mkdirSync(ownFolder, { recursive: true });
  const database = keep(await openDatabase(ownFolder));
  await createEndpoints(database, MOST_ENDPOINTS);
  const rows: Record<string, Figures> = {};
  const measure = async (name: string, count: number, variables = {}, flags: readonly string[] = []) => {
    progress(`scaling: ${name}`);
    const api = await generateEndpoints(folder, count);
    const started = performance.now();
    const server = await serveApi(api, database.url, variables, flags);
    const seconds = (performance.now() - started) / 1000;
    const memory = residentMiB(server.pid);
    // Of the server and its children, the workers.
    const job = {
      connections: CONNECTIONS,
      requests: getRequests(pathsOf("1 row", endpoints(Math.min(count, ASKED)))),
      databasePid: server.pid,
    };
    await putLoad(server, { ...job, milliseconds: WARM_UP_MS });
    const load = await putLoad(server, { ...job, milliseconds: 2 * WARM_UP_MS });
    rows[name] = {
      "requests/s": load["requests/s"],
      "CPU µs": load["database µs"],
      "MiB at rest": memory,
      "start s": seconds,
    };
    await server.stop();
    return seconds;
  };
  await measure("500 endpoints", 500);
  await measure("5,000 endpoints", 5000);
  const start = await measure("10,000 endpoints", MOST_ENDPOINTS);
  await measure("500 endpoints, two workers", 500, {}, ["--workers", "2"]);
  const redis = await startRedis(setting);
  if (redis !== null) await measure("500 endpoints, limits in Redis", 500, { REDIS_URL: redis });
  progress("scaling: a refresh of 10,000 endpoints");
  const { refresh, manifest, cpu } = await measureRefresh(folder, database);
  const common = { servers: 100, manifest, clients: 60_000, revalidating: 0.5, seed: 1 };
  const fleets: Readonly<Record<string, Fleet>> = {
    "each follows the manifest, every 300 s": { ...common, interval: 300, refresh },
    "each follows the manifest, every 60 s": { ...common, interval: 60, refresh },
    "rolling update, 10 at a time": { ...common, interval: 300, refresh: start, rolling: 10 },
  };
  const note = `Inputs: a refresh of ${refresh.toFixed(1)} s (${cpu.toFixed(1)} s of processor time), a start of ${start.toFixed(1)} s, a manifest of ${manifest.toFixed(0)} MB, 60,000 clients with a request a minute, half of them with an entity tag.`;
  const deploys = Object.entries(fleets).map(([name, fleet]) => [name, simulateDeploy(fleet)] as const);
  return {
    tables: [
      { title: "scaling: one row a request, the load and PostgreSQL on the same cores", rows },
      {
        title: "scaling: a deploy to 100 servers of 10,000 endpoints behind one address, simulated",
        rows: Object.fromEntries(deploys),
        note,
      },
    ],
    bars: [],
  };
}

/** Of so many endpoints some are asked: the first request of each looks its relation up. */
const ASKED = 900;

/** Seconds from the request to refresh until its answer, where one description and one column have changed. */
async function measureRefresh(folder: string, database: Database) {
  const api = await generateEndpoints(folder, MOST_ENDPOINTS);
  const file = join(api, "manifest.json");
  const text = readFileSync(file, "utf8");
  const variables = { DBT_MANIFEST_PATH: file, DBT_MANIFEST_REFRESH_ENABLED: "true" };
  const server = await serveApi(api, database.url, variables, ["--watch"]);
  try {
    await refreshed(server);
    writeFileSync(file, text.replace("Series series_1 by day.", "Series 1 by day."));
    const before = cpuSeconds(server.pid);
    const started = performance.now();
    await refreshed(server);
    const refresh = (performance.now() - started) / 1000;
    return { refresh, cpu: cpuSeconds(server.pid) - before, manifest: statSync(file).size / 1e6 };
  } finally {
    writeFileSync(file, text);
    await server.stop();
  }
}

async function refreshed({ port }: Server): Promise<void> {
  const address = `http://127.0.0.1:${String(port)}/v1/system/manifest/refresh`;
  const response = await fetch(address, { method: "POST", headers: { "X-API-Key": KEYS[0] ?? "" } });
  const { status } = (await response.json()) as { status: string };
  if (status === "error") throw new Error("The refresh failed.");
}

/** The address of a Redis of its own; null where none is installed. */
async function startRedis({ keep }: Setting): Promise<string | null> {
  if (spawnSync("redis-server", ["--version"]).error !== undefined) return null;
  const port = String(await freePort());
  const child = spawn("redis-server", ["--port", port, "--bind", "127.0.0.1", "--save", ""], {
    stdio: "ignore",
  });
  keep({ stop: () => Promise.resolve(void child.kill()) });
  return `redis://127.0.0.1:${port}`;
}

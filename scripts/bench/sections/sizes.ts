import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
import { residentMiB, type Server } from "../process.js";
import { type Figures, figureText, type Findings, type PageTable, type Setting } from "../figures.js";
import { pathsOf } from "./serve.js";

/** Smaller to try the section: the page's figures are of the default. */
const MOST_ENDPOINTS = Number(process.env["BENCH_ENDPOINTS_MOST"] ?? 10_000);
const CONNECTIONS = 32;

/** What more endpoints cost one process; then a deploy to 100 servers, simulated from the measured times. */
export async function sizes(setting: Setting): Promise<Findings> {
  const { folder, keep } = setting;
  // Of its own and new: PostgreSQL has no locks to drop 10,000 views at once.
  const ownFolder = join(folder, "sizes");
  rmSync(ownFolder, { recursive: true, force: true });
  mkdirSync(ownFolder, { recursive: true });
  const database = keep(await openDatabase(ownFolder));
  await createEndpoints(database, MOST_ENDPOINTS);
  const { rows, start, api, page } = await measureSizes(setting, database);
  setting.progress("sizes: a refresh");
  const deploys = deploysOf(start, await measureRefresh(api, database));
  const title = "sizes: one row a request, the load and PostgreSQL on the same cores";
  return { tables: [{ title, rows }], page: [page, deploys], bars: [] };
}

/** Endpoints of the smallest server. All are asked for these: the first request of each looks its relation up. */
const FEW = 500;

/** Servers with more and more endpoints. */
async function measureSizes({ folder, progress }: Setting, database: Database) {
  const rows: Record<string, Figures> = {};
  const job = { connections: CONNECTIONS, requests: getRequests(pathsOf("1 row", endpoints(FEW))) };
  let [start, api] = [0, ""];
  for (const count of [FEW, MOST_ENDPOINTS / 2, MOST_ENDPOINTS]) {
    const name = `${count.toLocaleString("en-US")} endpoints`;
    progress(`sizes: ${name}`);
    api = await generateEndpoints(folder, count);
    const started = performance.now();
    const server = await serveApi(api, database.url);
    start = (performance.now() - started) / 1000;
    const memory = residentMiB(server.pid);
    await putLoad(server, { ...job, milliseconds: WARM_UP_MS });
    const load = await putLoad(server, { ...job, milliseconds: 2 * WARM_UP_MS });
    rows[name] = { ...load, "MiB at rest": memory, "start s": start };
    await server.stop();
  }
  const head = ["server", "requests a second", "processor time per request", "memory at rest", "start"];
  const cells = Object.entries(rows).map(([name, figures]) => [
    name,
    figureText(figures["requests/s"]),
    figureText(figures["CPU µs"], "µs"),
    figureText(figures["MiB at rest"], "MiB"),
    figureText(figures["start s"], "s"),
  ]);
  return { rows, start, api, page: { title: "## One process", head, rows: cells } };
}

function deploysOf(
  start: number,
  { refresh, manifest }: Awaited<ReturnType<typeof measureRefresh>>,
): PageTable {
  const common = { servers: 100, manifest, clients: 60_000, revalidating: 0.5, seed: 1 };
  const fleets: Readonly<Record<string, Fleet>> = {
    "each follows the manifest, every 300 s": { ...common, interval: 300, refresh },
    "each follows the manifest, every 60 s": { ...common, interval: 60, refresh },
    "rolling update, 10 at a time": { ...common, interval: 300, refresh: start, rolling: 10 },
  };
  const rows = Object.entries(fleets).map(([name, fleet]) => {
    const deploy = simulateDeploy(fleet);
    return [
      name,
      figureText(deploy["half after s"], "s"),
      figureText(deploy["all after s"], "s"),
      figureText(deploy["builds after s"], "s"),
      figureText(deploy["old release %"], "%"),
      figureText(deploy["stale 304 %"], "%"),
      figureText(deploy["clients back %"], "%"),
      `${figureText(deploy["most queries/s"])} (${figureText(deploy["queries/s"])} before)`,
      figureText(deploy["most polls/s"]),
    ];
  });
  const inputs = `a refresh of ${refresh.toFixed(1)} s, a start of ${start.toFixed(1)} s, a manifest of ${manifest.toFixed(0)} MB`;
  const head = [
    ...[
      "",
      "half of the servers",
      "all",
      "all know of dbt's build",
      "responses of the old release until then",
    ],
    ...["304 for rows that dbt has replaced until then", "clients that see the old one after the new"],
    ...["queries a second, at most", "polls a second, at most"],
  ];
  return { title: `## A deploy to many servers (${inputs})`, head, rows };
}

/** Seconds from the request to refresh until its answer, where one description has changed, and MB of the manifest. */
async function measureRefresh(api: string, database: Database) {
  const file = join(api, "manifest.json");
  const text = readFileSync(file, "utf8");
  const variables = { DBT_MANIFEST_PATH: file, DBT_MANIFEST_REFRESH_ENABLED: "true" };
  const server = await serveApi(api, database.url, variables, ["--watch"]);
  try {
    await refreshed(server);
    writeFileSync(file, text.replace("Series series_1 by day.", "Series 1 by day."));
    const started = performance.now();
    await refreshed(server);
    const refresh = (performance.now() - started) / 1000;
    return { refresh, manifest: statSync(file).size / 1e6 };
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

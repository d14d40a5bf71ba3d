import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Database, generateEndpoints, openEndpoints, serveApi } from "../api.js";
import { figureText, type Findings, type PageTable, type Setting } from "../figures.js";
import { type Fleet, simulateDeploy } from "../fleet.js";
import { KEYS } from "../load.js";
import type { Server } from "../process.js";

const ENDPOINTS = 10_000;

/** A refresh of one server, measured; then a deploy to 100, simulated from its times. */
export async function deploys({ folder, keep, progress }: Setting): Promise<Findings> {
  const database = keep(await openEndpoints(join(folder, "deploys"), ENDPOINTS));
  const api = await generateEndpoints(folder, ENDPOINTS);
  progress("deploys: a refresh");
  const times = await measure(api, database);
  const title = `deploys: one server, ${String(ENDPOINTS)} endpoints`;
  const rows = {
    seconds: { "start s": times.start, "refresh s": times.refresh, "manifest MB": times.manifest },
  };
  return { tables: [{ title, rows }], page: [pageOf(times)], bars: [] };
}

interface DeployTimes {
  /** Seconds from the start of a process to its first response. */
  readonly start: number;
  /** Seconds from the request to refresh until its answer. */
  readonly refresh: number;
  /** MB of the manifest. */
  readonly manifest: number;
}

function pageOf({ start, refresh, manifest }: DeployTimes): PageTable {
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
      "responses of the old release until all know",
    ],
    ...[
      "304 for rows that dbt has replaced, of all responses until all know",
      "clients that see the old one after the new",
    ],
    ...["queries a second, at most", "polls a second, at most"],
  ];
  return { title: `## A deploy to many servers (${inputs})`, head, rows };
}

/** A refresh where one description has changed. */
async function measure(api: string, database: Database): Promise<DeployTimes> {
  const file = join(api, "manifest.json");
  const text = readFileSync(file, "utf8");
  const variables = { DBT_MANIFEST_PATH: file, DBT_MANIFEST_REFRESH_ENABLED: "true" };
  const started = performance.now();
  const server = await serveApi(api, database.url, variables, ["--watch"]);
  const start = (performance.now() - started) / 1000;
  try {
    await refreshed(server);
    writeFileSync(file, text.replace("Series series_1 by day.", "Series 1 by day."));
    const asked = performance.now();
    await refreshed(server);
    return { start, refresh: (performance.now() - asked) / 1000, manifest: statSync(file).size / 1e6 };
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

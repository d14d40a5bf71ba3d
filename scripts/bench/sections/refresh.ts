import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequest, Load } from "../load/load.js";
import type { Server } from "../process.js";
import { type Findings, single } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { spreadOf } from "../statistics.js";
import {
  ENDPOINTS,
  generateApi,
  openDatabase,
  syntheticEndpoints,
  syntheticManifest,
  type SyntheticManifest,
} from "../synthetic-api.js";
import type { Setting } from "./section.js";

const PER_SECOND = 500;
const REFRESHES = 20;
/** From one refresh to the next. */
const INTERVAL_MS = 500;

/** Refreshes while other programs keep all processors busy. */
const BUSY_REFRESHES = 5;
const BUSY_LOOP = "const end = Date.now() + 60_000; while (Date.now() < end);";

/** Limits: milliseconds of a refresh on an idle server, its time on a busy machine to that, and p99 during refreshes to p99 without. */
const REFRESH_MS = 150;
const ON_BUSY_MACHINE = 15;
const P99_DURING = 2;

/** One changed model among 500: how long the refresh takes, and what it costs concurrent requests. */
export async function refresh({ folder, effort, progress }: Setting): Promise<Findings> {
  progress("refresh: starting the database and the server");
  const database = await openDatabase(folder);
  const api = await generateApi(folder);
  const load = new Load(database.pid);
  const server = await startRoutewright(api, database, {
    environment: { DBT_MANIFEST_PATH: "manifest.json" },
  });
  try {
    const requests = syntheticEndpoints(ENDPOINTS).flatMap(({ path, rows }, i) =>
      rows === 1 ? [getRequest(path, KEYS[i % KEYS.length] ?? "")] : [],
    );
    const job = { requests, connections: 32, perSecond: PER_SECOND };
    await load.run(server, { ...job, milliseconds: effort.warmUpMs });
    const times: number[] = [];
    for (let round = 1; round <= REFRESHES; round++) times.push(await changeModel(server, api, round));
    progress(`refresh: ${String(PER_SECOND)} requests/s without and with refreshes`);
    const milliseconds = REFRESHES * INTERVAL_MS;
    const without = await load.run(server, { ...job, milliseconds });
    const during = load.run(server, { ...job, milliseconds });
    for (let round = 1; round <= REFRESHES; round++) {
      const spent = await changeModel(server, api, round + REFRESHES);
      await sleep(Math.max(0, INTERVAL_MS - spent));
    }
    progress("refresh: beside busy loops");
    const busyTimes = await besideBusyLoops(async () => {
      const each: number[] = [];
      for (let round = 1; round <= BUSY_REFRESHES; round++)
        each.push(await changeModel(server, api, round + 2 * REFRESHES));
      return each;
    });
    const row = (name: string, { requests: count, p50, p99 }: Awaited<typeof during>) => ({
      name,
      count,
      p50,
      p99,
    });
    const { median, lowest, highest } = spreadOf(times);
    const busy = spreadOf(busyTimes);
    return {
      tables: [
        {
          title: `refresh: one model of ${String(ENDPOINTS)} changes, ${String(PER_SECOND)} requests/s`,
          columns: [
            { key: "name", head: "" },
            { key: "count", head: "responses", digits: 0 },
            { key: "p50", head: "p50 ms", digits: 2 },
            { key: "p99", head: "p99 ms", digits: 2 },
          ],
          rows: [row("without refreshes", without), row(`with ${String(REFRESHES)} refreshes`, await during)],
          notes: [
            `A refresh on the idle server: ${median.toFixed(0)} ms; with a busy loop per processor: ${busy.median.toFixed(0)} ms.`,
          ],
        },
      ],
      bars: [
        {
          name: `refresh of one model of ${String(ENDPOINTS)}, to ${String(REFRESH_MS)} ms`,
          ratio: { median: median / REFRESH_MS, lowest: lowest / REFRESH_MS, highest: highest / REFRESH_MS },
          limit: { atMost: 1 },
        },
        {
          name: "refresh with a busy loop per processor, to one on the idle server",
          ratio: {
            median: busy.median / median,
            lowest: busy.lowest / median,
            highest: busy.highest / median,
          },
          limit: { atMost: ON_BUSY_MACHINE },
        },
        {
          name: "p99 during refreshes to p99 without",
          ratio: single((await during).p99 / without.p99),
          limit: { atMost: P99_DURING },
        },
      ],
    };
  } finally {
    load.stop();
    await server.stop();
    await database.stop();
  }
}

/** Calls a function while another program runs on each processor. */
async function besideBusyLoops<T>(measure: () => Promise<T>): Promise<T> {
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", BUSY_LOOP], { stdio: "ignore" }),
  );
  try {
    return await measure();
  } finally {
    for (const loop of loops) loop.kill();
  }
}

/** Changes the description of one model and returns the milliseconds of the refresh. */
function changeModel(server: Server, api: string, round: number): Promise<number> {
  const { nodes, ...rest } = syntheticManifest(ENDPOINTS);
  const models = Object.entries(nodes).map(([id, node], i) => [
    id,
    i === round * 7 ? { ...node, description: `Round ${String(round)}.` } : node,
  ]);
  return publish(server, api, { ...rest, nodes: Object.fromEntries(models) as SyntheticManifest["nodes"] });
}

/** Replaces the manifest, makes the server read it, and returns the milliseconds of the refresh. */
async function publish({ port }: Server, api: string, manifest: SyntheticManifest): Promise<number> {
  writeFileSync(join(api, "manifest.tmp"), JSON.stringify(manifest));
  renameSync(join(api, "manifest.tmp"), join(api, "manifest.json"));
  const started = performance.now();
  const response = await fetch(`http://127.0.0.1:${String(port)}/v1/system/manifest/refresh`, {
    method: "POST",
    headers: { "X-API-Key": KEYS[0] ?? "" },
  });
  const { status, detail } = (await response.json()) as { status: string; detail?: string };
  if (status !== "reloaded") throw new Error(`The refresh responded ${status}: ${detail ?? ""}`);
  return performance.now() - started;
}

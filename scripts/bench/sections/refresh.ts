import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { apiFolder, ROUTEWRIGHT } from "../api-folder.js";
import { startServer, type Server } from "../children.js";
import { KEYS } from "../contestants.js";
import { openDatabase } from "../database.js";
import { steady, type SteadyResult } from "../load/steady.js";
import type { Findings } from "../report.js";
import { syntheticEndpoints, syntheticManifest } from "../synthetic-manifest.js";
import type { Setting } from "./section.js";

/** As many endpoints as the larger of the real catalogues has. */
const ENDPOINTS = 317;
const PER_SECOND = 1000;
const REFRESHES = 20;
/** From one refresh to the next. */
const PAUSE_MS = 500;

/** Answers while the catalogue is exchanged under them, beside answers while nothing happens. */
export async function refresh({ folder, effort, progress }: Setting): Promise<Findings> {
  progress("refresh: starting the database and the server");
  const database = await openDatabase(join(folder, "database"));
  const api = await apiFolder(folder, ENDPOINTS);
  const keys = Object.fromEntries(KEYS.map((key) => [key, "tier3"]));
  const environment = {
    DATABASE_URL: database.url,
    API_KEYS: JSON.stringify(keys),
    DBT_MANIFEST_PATH: "manifest.json",
  };
  const server = await startServer({ name: "serve", args: [ROUTEWRIGHT, "serve"], folder: api, environment });
  try {
    await steady(jobFor(server), sleep(effort.warmUpMs));
    progress(`refresh: ${String(PER_SECOND)} requests/s without a refresh`);
    const calm = await steady(jobFor(server), sleep(REFRESHES * PAUSE_MS));
    progress(`refresh: the same with ${String(REFRESHES)} refreshes`);
    const busy = await steady(jobFor(server), refreshes(server, api));
    return findings(calm, busy);
  } finally {
    await server.stop();
    await database.stop();
  }
}

/** The endpoints of one row: some are there all the time, some come, go and change with each refresh. */
function jobFor({ port }: Server) {
  const endpoints = syntheticEndpoints(ENDPOINTS + REFRESHES).flatMap(({ path, rows }, i) =>
    rows === 1 ? [{ path, i }] : [],
  );
  const calls = endpoints.map(({ path, i }) => ({
    path,
    isRight: (status: number, body: string) =>
      status === 200 ? isRow(body) : status === 404 && comesAndGoes(i) && body === '{"detail":"Not Found"}',
  }));
  return { port, calls, keys: KEYS, perSecond: PER_SECOND };
}

function isRow(body: string): boolean {
  const rows = JSON.parse(body) as { region?: unknown }[];
  return rows.length === 1 && rows[0]?.region === "region-1";
}

const comesAndGoes = (i: number): boolean => i >= ENDPOINTS - REFRESHES;

/** Each time one endpoint more is gone from the end, another has come, and some have changed. */
async function refreshes({ port }: Server, api: string): Promise<void> {
  for (let round = 1; round <= REFRESHES; round++) {
    const started = performance.now();
    writeFileSync(join(api, "manifest.tmp"), JSON.stringify(manifestAt(round)));
    renameSync(join(api, "manifest.tmp"), join(api, "manifest.json"));
    const headers = { "X-API-Key": KEYS[round] ?? "" };
    const answer = await fetch(`http://127.0.0.1:${String(port)}/v1/system/manifest/refresh`, {
      method: "POST",
      headers,
    });
    const { status, detail } = (await answer.json()) as { status: string; detail?: string };
    if (status !== "reloaded")
      throw new Error(`Refresh ${String(round)} answered ${status}: ${detail ?? ""}`);
    await sleep(Math.max(0, PAUSE_MS - (performance.now() - started)));
  }
}

function manifestAt(round: number): unknown {
  const { nodes, ...rest } = syntheticManifest(ENDPOINTS + round) as {
    nodes: Record<string, { description: string }>;
  };
  const kept = Object.entries(nodes).filter((_, i) => i < ENDPOINTS - round || i >= ENDPOINTS);
  const changed = kept.map(([id, node], i) => [
    id,
    i % 20 === round % 20 ? { ...node, description: `Round ${String(round)}.` } : node,
  ]);
  return { ...rest, nodes: Object.fromEntries(changed) as unknown };
}

function findings(calm: SteadyResult, busy: SteadyResult): Findings {
  const ratio = percentile(busy, 0.99) / percentile(calm, 0.99);
  const wrong = calm.wrong.length + busy.wrong.length;
  if (wrong > 0)
    throw new Error(
      `${String(wrong)} wrong answers during the refreshes, such as ${[...calm.wrong, ...busy.wrong][0] ?? ""}`,
    );
  return {
    tables: [
      {
        title: `refresh: ${String(ENDPOINTS)} endpoints at ${String(PER_SECOND)} requests/s, ${String(REFRESHES)} refreshes that add, remove and change some`,
        columns: [
          { key: "when", head: "" },
          { key: "answers", head: "answers", digits: 0 },
          { key: "wrong", head: "wrong", digits: 0 },
          { key: "p50", head: "p50 ms", digits: 2 },
          { key: "p99", head: "p99 ms", digits: 2 },
        ],
        rows: [row("without", calm), row("during", busy)],
      },
    ],
    bars: [
      {
        what: "p99 during refreshes to p99 without",
        median: ratio,
        lowest: ratio,
        highest: ratio,
        expected: { atMost: 2 },
      },
    ],
  };
}

function row(when: string, result: SteadyResult) {
  const { latencies, wrong } = result;
  return {
    when,
    answers: latencies.length,
    wrong: wrong.length,
    p50: percentile(result, 0.5),
    p99: percentile(result, 0.99),
  };
}

function percentile({ latencies }: SteadyResult, share: number): number {
  return latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * share)] ?? NaN;
}

import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequest, Load } from "../load/load.js";
import { residentMiB, type Server } from "../process.js";
import { type Findings, type Row, single } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import {
  ENDPOINTS,
  generateApi,
  openDatabase,
  syntheticEndpoints,
  syntheticManifest,
} from "../synthetic-api.js";
import { publish } from "./refresh.js";
import type { Setting } from "./section.js";
import { type Counts, swappedModels, Traffic } from "./soak-traffic.js";

const CONNECTIONS = 50;
const SHARE_OF_CAPACITY = 0.7;
const CAPACITY_MS = 10_000;
const REFRESH_MS = 10_000;
const SAMPLE_MS = 1000;
/** The first half of the time is for the heap to find its size. */
const SETTLED_FROM = 0.5;

/** Limit of the growth of memory, by the slope over the settled time. */
const GROWTH_MIB_PER_HOUR = 30;
const GROWTH_DESCRIPTORS_PER_HOUR = 10;

/** A swap of the table under its readers takes at most this long. */
const SWAP_LIMIT_MS = 2000;

/** A long time under mixed load with refreshes, table swaps, bad requests, downloads, aborts and slow readers. */
export async function soak({ folder, minutes, progress }: Setting): Promise<Findings> {
  const database = await openDatabase(folder);
  const api = await generateApi(folder);
  const load = new Load(database.pid);
  await Traffic.prepare(database);
  const environment = { DBT_MANIFEST_PATH: "manifest.json" };
  const server = await startRoutewright(api, database, { environment });
  try {
    await publish(server, api, manifestOf(0));
    progress("soak: measuring the capacity");
    const job = { ...mix(), connections: CONNECTIONS };
    const capacity = (await load.run(server, { ...job, milliseconds: CAPACITY_MS })).requestsPerSecond;
    const perSecond = capacity * SHARE_OF_CAPACITY;
    progress(
      `soak: ${perSecond.toFixed(0)} of ${capacity.toFixed(0)} requests/s for ${String(minutes)} minutes`,
    );
    const end = new AbortController();
    const samples: Row[] = [];
    const traffic = new Traffic(server, database);
    const refreshing = refreshAll(server, api, end.signal);
    const disturbing = [refreshing, traffic.run(end.signal), sample(server, samples, end.signal)];
    const result = await load
      .run(server, { ...job, perSecond, milliseconds: minutes * 60_000 })
      .finally(() => end.abort());
    await Promise.all(disturbing);
    const title = `soak: ${String(result.requests)} requests, p99 ${result.p99.toFixed(0)} ms, ${String(await refreshing)} refreshes`;
    return findings(title, samples, traffic.counts);
  } finally {
    load.stop();
    await server.stop();
    await database.stop();
  }
}

/** Of a hundred requests: how many of each kind, and the statuses that are right. */
function mix(): { requests: string[]; statuses: number[][] } {
  const one = syntheticEndpoints(400).filter(({ rows }) => rows === 1);
  const hundred = syntheticEndpoints(400).filter(({ rows }) => rows === 100);
  const path = (of: typeof one, i: number): string => of[i % of.length]?.path ?? "";
  const kinds = [
    { share: 58, statuses: [200], text: (i: number, key: string) => getRequest(path(one, i), key) },
    { share: 14, statuses: [200], text: (i: number, key: string) => getRequest(path(hundred, i), key) },
    {
      share: 5,
      statuses: [200],
      text: (i: number, key: string) => getRequest(path(one, i), key, "Accept: text/csv"),
    },
    {
      share: 10,
      statuses: [200, 304],
      text: (i: number, key: string) => getRequest(path(one, i), key, "If-None-Match: *"),
    },
    {
      share: 5,
      statuses: [400],
      text: (i: number, key: string) => getRequest(`${path(one, i)}?start_date=2026-02-30`, key),
    },
    // Unknown keys share the rate limit of this machine's address.
    {
      share: 4,
      statuses: [401, 403, 429],
      text: (i: number) => getRequest(path(one, i), `sk_live_unknown_${String(i)}`),
    },
    { share: 4, statuses: [404], text: (i: number, key: string) => getRequest(`/v1/none/${String(i)}`, key) },
  ];
  const order = kinds
    .flatMap((kind) => Array.from({ length: kind.share }, (_, i) => ({ kind, at: (i + 0.5) / kind.share })))
    .sort((a, b) => a.at - b.at);
  const cycle = KEYS.flatMap((key, i) => {
    const kind = order[i % order.length]?.kind;
    return kind ? [{ text: kind.text(i, key), statuses: kind.statuses }] : [];
  });
  return { requests: cycle.map(({ text }) => text), statuses: cycle.map(({ statuses }) => statuses) };
}

/** The manifest of a round: the last endpoints come and go, a description changes. */
function manifestOf(round: number) {
  const { nodes, ...rest } = syntheticManifest(ENDPOINTS - (round % 50));
  const changed = Object.entries(nodes).map(([id, node], i) => [
    id,
    i === round % 100 ? { ...node, description: `Round ${String(round)}.` } : node,
  ]);
  const all = [...changed, ...swappedModels()];
  return { ...rest, nodes: Object.fromEntries(all) as typeof nodes };
}

async function refreshAll(server: Server, api: string, signal: AbortSignal): Promise<number> {
  let round = 0;
  while (!signal.aborted) {
    await publish(server, api, manifestOf(++round));
    await sleep(REFRESH_MS, undefined, { signal }).catch(() => undefined);
  }
  return round;
}

async function sample({ pid, port }: Server, samples: Row[], signal: AbortSignal): Promise<void> {
  const start = performance.now();
  while (!signal.aborted) {
    const descriptors = readdirSync(`/proc/${String(pid)}/fd`).length;
    const seconds = (performance.now() - start) / 1000;
    samples.push({ seconds, memory: residentMiB(pid), heap: await heapMiB(port), descriptors });
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** The heap of the server's main thread, by its metrics. */
async function heapMiB(port: number): Promise<number> {
  const text = await fetch(`http://127.0.0.1:${String(port)}/metrics`).then((response) => response.text());
  return Number(/^nodejs_heap_size_used_bytes\S* (\S+)$/m.exec(text)?.[1]) / 1024 / 1024;
}

function findings(title: string, samples: readonly Row[], counts: Counts): Findings {
  const settled = samples.slice(Math.floor(samples.length * SETTLED_FROM));
  const growth = (key: string): number => slopeOf(settled, key) * 3600;
  const { wrong, longestSwapMs, ...rest } = counts;
  const counted = Object.entries(rest).map(([name, count]) => `${String(count)} ${name}`);
  return {
    tables: [
      {
        title,
        columns: [
          { key: "minute", head: "minute", digits: 0 },
          { key: "memory", head: "memory MiB", digits: 0 },
          { key: "highest", head: "highest", digits: 0 },
          { key: "heap", head: "heap MiB", digits: 0 },
          { key: "descriptors", head: "descriptors", digits: 0 },
        ],
        rows: minutesOf(samples),
        notes: [
          `Second half, by least squares, an hour: memory ${growth("memory").toFixed(0)} MiB, heap ${growth("heap").toFixed(0)} MiB, descriptors ${growth("descriptors").toFixed(0)}.`,
          `${counted.join(", ")}; the longest swap ${longestSwapMs.toFixed(0)} ms.`,
          ...wrong.slice(0, 10).map((text) => `WRONG: ${text}`),
        ],
      },
    ],
    bars: [
      { name: "wrong answers", ratio: single(wrong.length), limit: { atMost: 0 } },
      {
        name: `growth of memory, to ${String(GROWTH_MIB_PER_HOUR)} MiB an hour`,
        ratio: single(growth("memory") / GROWTH_MIB_PER_HOUR),
        limit: { atMost: 1 },
      },
      {
        name: `growth of open descriptors, to ${String(GROWTH_DESCRIPTORS_PER_HOUR)} an hour`,
        ratio: single(growth("descriptors") / GROWTH_DESCRIPTORS_PER_HOUR),
        limit: { atMost: 1 },
      },
      {
        name: `longest table swap, to ${String(SWAP_LIMIT_MS)} ms`,
        ratio: single(longestSwapMs / SWAP_LIMIT_MS),
        limit: { atMost: 1 },
      },
    ],
  };
}

/** Means of each minute, and its highest memory. */
function minutesOf(samples: readonly Row[]): Row[] {
  const minuteOf = ({ seconds }: Row): number => Math.floor(Number(seconds) / 60);
  return [...new Set(samples.map(minuteOf))].map((minute) => {
    const of = samples.filter((one) => minuteOf(one) === minute);
    const mean = (key: string): number => of.reduce((sum, one) => sum + Number(one[key]), 0) / of.length;
    const highest = Math.max(...of.map(({ memory }) => Number(memory)));
    return { minute, memory: mean("memory"), highest, heap: mean("heap"), descriptors: mean("descriptors") };
  });
}

/** Growth per second: the slope of the least-squares line. */
function slopeOf(samples: readonly Row[], key: string): number {
  const mean = (of: (sample: Row) => number): number =>
    samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const seconds = (one: Row): number => Number(one["seconds"]);
  const [x, y] = [mean(seconds), mean((one) => Number(one[key]))];
  const covariance = mean((one) => (seconds(one) - x) * (Number(one[key]) - y));
  return covariance / mean((one) => (seconds(one) - x) ** 2);
}

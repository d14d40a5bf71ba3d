import { readdirSync } from "node:fs";
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequest, Load } from "../load/load.js";
import { residentMiB, type Server } from "../process.js";
import { type Findings, type Row, single } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import {
  ENDPOINTS,
  generateApi,
  openDatabase,
  SCHEMA,
  syntheticEndpoints,
  syntheticManifest,
} from "../synthetic-api.js";
import { publish } from "./refresh.js";
import type { Setting } from "./section.js";

const CONNECTIONS = 50;
const SHARE_OF_CAPACITY = 0.7;
const CAPACITY_MS = 10_000;
const REFRESH_MS = 10_000;
const SAMPLE_MS = 1000;
/** Downloads and aborted downloads run one after the other, with this pause. */
const DOWNLOAD_PAUSE_MS = 50;
const LONG_PATH = "/v1/soak/long";
const LONG_ROWS = 20_000;

/** The first part of the time is for the heap to find its size. */
const SETTLED_FROM = 0.3;

/** Limit of the growth of memory, by the slope over the settled time. */
const GROWTH_MIB_PER_HOUR = 30;

/** A long time under mixed load with refreshes, bad requests, downloads and aborted downloads. */
export async function soak({ folder, minutes, progress }: Setting): Promise<Findings> {
  const database = await openDatabase(folder);
  const api = await generateApi(folder);
  const load = new Load(database.pid);
  await database.query(
    `CREATE TABLE ${SCHEMA}.long AS SELECT i AS id, md5(i::text) AS label FROM generate_series(1, ${String(LONG_ROWS)}) i`,
  );
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
    const disturbing = [
      refreshAll(server, api, end.signal),
      downloadAll(server, end.signal),
      sample(server, samples, end.signal),
    ];
    const result = await load
      .run(server, { ...job, perSecond, milliseconds: minutes * 60_000 })
      .finally(() => end.abort());
    const [refreshes = 0, downloads = 0] = await Promise.all(disturbing);
    const title = `soak: ${String(result.requests)} requests, p99 ${result.p99.toFixed(0)} ms, ${String(downloads)} downloads, ${String(refreshes)} refreshes`;
    return findings(title, samples);
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
  const tags = ["production", "soak", "api:long"];
  const long = { resource_type: "model", unique_id: "model.bench.long", name: "long", schema: SCHEMA, tags };
  const changed = Object.entries(nodes).map(([id, node], i) => [
    id,
    i === round % 100 ? { ...node, description: `Round ${String(round)}.` } : node,
  ]);
  const all = [...changed, [long.unique_id, { ...long, description: "", config: { tags }, columns: {} }]];
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

/** Every other download is aborted by its client. */
async function downloadAll({ port }: Server, signal: AbortSignal): Promise<number> {
  let count = 0;
  for (; !signal.aborted; count++) {
    await download(port, count);
    await sleep(DOWNLOAD_PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
  return count;
}

function download(port: number, n: number): Promise<void> {
  const isAborted = n % 2 === 1;
  return new Promise((resolve, reject) => {
    const headers = { "X-API-Key": KEYS[n % KEYS.length] ?? "" };
    const fail = (error: Error): void => (isAborted ? resolve() : reject(error));
    const request = get({ host: "127.0.0.1", port, path: LONG_PATH, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`download: status ${String(response.statusCode)}`));
      response.resume().on("error", fail).on("end", resolve);
    }).on("error", fail);
    if (isAborted) setTimeout(() => request.destroy(), 5 + (n % 40));
  });
}

async function sample({ pid }: Server, samples: Row[], signal: AbortSignal): Promise<number> {
  while (!signal.aborted) {
    const descriptors = readdirSync(`/proc/${String(pid)}/fd`).length;
    samples.push({ seconds: performance.now() / 1000, memory: residentMiB(pid), descriptors });
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined);
  }
  return samples.length;
}

function findings(title: string, samples: readonly Row[]): Findings {
  const settled = samples.slice(Math.floor(samples.length * SETTLED_FROM));
  const row = (name: string, key: string): Row => {
    const values = settled.map((one) => Number(one[key]));
    const growth = slopeOf(settled, key) * 3600;
    return {
      name,
      first: values[0] ?? NaN,
      last: values.at(-1) ?? NaN,
      highest: Math.max(...values),
      growth,
    };
  };
  return {
    tables: [
      {
        title,
        columns: [
          { key: "name", head: "server, settled time" },
          { key: "first", head: "first", digits: 1 },
          { key: "last", head: "last", digits: 1 },
          { key: "highest", head: "highest", digits: 1 },
          { key: "growth", head: "slope per hour", digits: 1 },
        ],
        rows: [row("memory, MiB", "memory"), row("open descriptors", "descriptors")],
      },
    ],
    bars: [
      {
        name: `growth of memory, to ${String(GROWTH_MIB_PER_HOUR)} MiB an hour`,
        ratio: single((slopeOf(settled, "memory") * 3600) / GROWTH_MIB_PER_HOUR),
        limit: { atMost: 1 },
      },
    ],
  };
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

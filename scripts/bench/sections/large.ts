import { setTimeout as sleep } from "node:timers/promises";
import { residentMiB, type Server } from "../process.js";
import { type Findings, type Row, single } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { generateApi, openDatabase } from "../synthetic-api.js";
import type { Setting } from "./section.js";

const ENDPOINTS = 15_000;
const VIEWS = 10;

/** Limits: the longest that another request waits, and the server's memory. */
const STALL_MS = 200;
const MEMORY_MIB = 1024;

/** From one short request to the next. */
const PAUSE_MS = 5;
/** The server compares its relations with the database after its start. */
const AFTER_START_MS = 5000;

const DOCUMENTS = ["/openapi.json", "/openapi.json?tier=tier1", "/v1/system/catalogue", "/explore"];

/** How long the documents of a large API take, and how long other requests wait meanwhile. */
export async function large({ folder, progress }: Setting): Promise<Findings> {
  progress(`large: generating ${String(ENDPOINTS)} endpoints`);
  const database = await openDatabase(folder);
  let server: Server | null = null;
  try {
    server = await startRoutewright(await generateApi(folder, ENDPOINTS, VIEWS), database);
    const { port, pid } = server;
    const rows: Row[] = [];
    const step = async (name: string, work: () => Promise<void>): Promise<void> => {
      progress(`large: ${name}`);
      rows.push({ name, ...(await stallDuring(port, work)), memory: residentMiB(pid) });
    };
    await step("after the start", () => sleep(AFTER_START_MS));
    for (const path of DOCUMENTS) {
      await step(path, () => download(port, path));
      await step(`${path}, again`, () => download(port, path));
    }
    return findings(rows);
  } finally {
    await server?.stop();
    await database.stop();
  }
}

async function stallDuring(port: number, work: () => Promise<void>) {
  const started = performance.now();
  let stall = 0;
  const end = new AbortController();
  const ended = work().finally(() => end.abort());
  while (!end.signal.aborted) {
    const sent = performance.now();
    await download(port, "/health");
    stall = Math.max(stall, performance.now() - sent);
    await sleep(PAUSE_MS);
  }
  await ended;
  return { took: performance.now() - started, stall };
}

/** Reads a response piece by piece: a large one as one text would stall this process. */
async function download(port: number, path: string): Promise<void> {
  const headers = { "X-API-Key": KEYS[0] ?? "", "Accept-Encoding": "gzip" };
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, { headers });
  if (response.status !== 200) throw new Error(`${path}: status ${String(response.status)}`);
  await response.body?.pipeTo(new WritableStream());
}

function findings(rows: readonly Row[]): Findings {
  const highest = (key: string): number => Math.max(...rows.map((row) => Number(row[key])));
  return {
    tables: [
      {
        title: `large: ${String(ENDPOINTS)} endpoints`,
        columns: [
          { key: "name", head: "" },
          { key: "took", head: "took ms", digits: 0 },
          { key: "stall", head: "longest wait of others ms", digits: 0 },
          { key: "memory", head: "memory MiB", digits: 0 },
        ],
        rows,
      },
    ],
    bars: [
      {
        name: `longest wait of other requests, to ${String(STALL_MS)} ms`,
        ratio: single(highest("stall") / STALL_MS),
        limit: { atMost: 1 },
      },
      {
        name: `memory, to ${String(MEMORY_MIB)} MiB`,
        ratio: single(highest("memory") / MEMORY_MIB),
        limit: { atMost: 1 },
      },
    ],
  };
}

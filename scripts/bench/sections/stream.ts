import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { residentMiB, type Server } from "../process.js";
import { type Findings, type Row, single } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { generateModel, openDatabase, SCHEMA } from "../synthetic-api.js";
import type { Setting } from "./section.js";

const ROWS = 1_000_000;
const PATH = "/v1/big/rows";

/** Limit of the memory above idle. */
const MEMORY_MIB = 64;

/** Milliseconds that a client pauses after each chunk. */
const CLIENTS = { fast: 0, slow: 2 } as const;

/** The whole table, without parameters. */
const MODEL = { name: "million", tags: ["production", "big", "api:rows"], columns: {}, config: {} };

/** A response of a million rows: its duration and the server's memory. */
export async function stream({ folder, progress }: Setting): Promise<Findings> {
  progress(`stream: a table of ${ROWS.toLocaleString("en-US")} rows`);
  const database = await openDatabase(folder);
  let server: Server | null = null;
  try {
    await database.query(TABLE_SQL);
    server = await startRoutewright(await generateModel(folder, "stream", MODEL), database);
    await sleep(1000);
    const idle = residentMiB(server.pid);
    const rows: Row[] = [];
    for (const [client, pauseMs] of Object.entries(CLIENTS)) {
      for (const format of ["application/json", "text/csv"]) {
        progress(`stream: a ${client} client, ${format}`);
        rows.push({ client, format, ...(await download(server, format, pauseMs, idle)) });
      }
    }
    return findings(rows);
  } finally {
    await server?.stop();
    await database.stop();
  }
}

const TABLE_SQL = `CREATE TABLE ${SCHEMA}.million AS SELECT i AS id, md5(i::text) AS label,
    timestamptz '2025-01-01 00:00:00Z' + i * interval '1 minute' AS observed_at,
    'region-' || i % 7 AS region, (i * 18446744073709.0)::numeric(20,0) AS amount
  FROM generate_series(1, ${String(ROWS)}) AS i`;

/** Reads the whole response and samples the server's memory meanwhile. */
async function download({ port, pid }: Server, accept: string, pauseMs: number, idle: number) {
  let highest = 0;
  const sampler = setInterval(() => (highest = Math.max(highest, residentMiB(pid))), 20);
  const started = performance.now();
  let firstByteMs = 0;
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    const headers = { Accept: accept, "X-API-Key": KEYS[0] ?? "" };
    get({ host: "127.0.0.1", port, path: PATH, headers }, (response) => {
      response.on("data", (chunk: Buffer) => {
        firstByteMs ||= performance.now() - started;
        bytes += chunk.length;
        if (pauseMs === 0) return;
        response.pause();
        setTimeout(() => response.resume(), pauseMs);
      });
      response.on("error", reject).on("end", resolve);
    }).on("error", reject);
  });
  clearInterval(sampler);
  const seconds = (performance.now() - started) / 1000;
  return { megabytes: bytes / 1e6, seconds, firstByteMs, memory: highest - idle };
}

function findings(rows: readonly Row[]): Findings {
  const highest = Math.max(...rows.map(({ memory }) => Number(memory)));
  return {
    tables: [
      {
        title: `stream: ${ROWS.toLocaleString("en-US")} rows in one response`,
        columns: [
          { key: "client", head: "client" },
          { key: "format", head: "format" },
          { key: "megabytes", head: "MB", digits: 0 },
          { key: "seconds", head: "seconds", digits: 1 },
          { key: "firstByteMs", head: "first byte ms", digits: 0 },
          { key: "memory", head: "MiB above idle", digits: 1 },
        ],
        rows,
      },
    ],
    bars: [
      {
        name: `memory above idle, to ${String(MEMORY_MIB)} MiB`,
        ratio: single(highest / MEMORY_MIB),
        limit: { atMost: 1 },
      },
    ],
  };
}

import { get } from "node:http";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { ROUTEWRIGHT } from "../api-folder.js";
import { startServer, timeProgram, type Server } from "../children.js";
import { openDatabase } from "../database.js";
import { residentBytes } from "../resident-memory.js";
import type { Findings, Row } from "../report.js";
import { SCHEMA } from "../synthetic-manifest.js";
import type { Setting } from "./section.js";

const ROWS = 1_000_000;
const MEMORY_MB = 64;
const PATH = "/v1/big/rows";

/** How a client may read: as fast as it can, or pausing all the time. */
const READERS = { fast: 0, slow: 2 } as const;

/** An answer of a million rows: what it takes of time and of the server's memory. */
export async function stream({ folder, progress }: Setting): Promise<Findings> {
  progress(`stream: a table of ${ROWS.toLocaleString("en-US")} rows`);
  const database = await openDatabase(join(folder, "database"));
  let server: Server | null = null;
  try {
    await fill(database.url);
    server = await start(folder, database.url);
    await sleep(1000);
    const idle = residentBytes(server.pid);
    const rows: Row[] = [];
    for (const [reader, pauseMs] of Object.entries(READERS)) {
      for (const format of ["application/json", "text/csv"]) {
        progress(`stream: a ${reader} reader, ${format}`);
        rows.push({ reader, format, ...(await read(server, format, pauseMs, idle)) });
      }
    }
    return findings(rows);
  } finally {
    await server?.stop();
    await database.stop();
  }
}

async function fill(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE TABLE ${SCHEMA}.million AS SELECT i AS id, md5(i::text) AS label,
      timestamptz '2025-01-01 00:00:00Z' + i * interval '1 minute' AS observed_at,
      'region-' || i % 7 AS region, (i * 18446744073709.0)::numeric(20,0) AS amount
    FROM generate_series(1, ${String(ROWS)}) AS i`);
  } finally {
    await client.end();
  }
}

async function start(parent: string, databaseUrl: string): Promise<Server> {
  const folder = join(parent, "stream");
  mkdirSync(folder, { recursive: true });
  const model = {
    resource_type: "model",
    unique_id: "model.bench.million",
    name: "million",
    schema: SCHEMA,
    tags: ["production", "big", "api:rows"],
    columns: {},
    config: {},
  };
  const metadata = { dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json" };
  writeFileSync(
    join(folder, "manifest.json"),
    JSON.stringify({ metadata, nodes: { "model.bench.million": model } }),
  );
  const generate = [ROUTEWRIGHT, "generate", "--manifest", "manifest.json"];
  await timeProgram({ name: "generate", args: generate, folder });
  const environment = { DATABASE_URL: databaseUrl };
  return startServer({ name: "serve", args: [ROUTEWRIGHT, "serve", "--only", "data"], folder, environment });
}

/** Reads the whole answer and watches the server's memory meanwhile. */
async function read({ port, pid }: Server, accept: string, pauseMs: number, idle: number) {
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, residentBytes(pid))), 20);
  const started = performance.now();
  let firstByte = 0;
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    get({ host: "127.0.0.1", port, path: PATH, headers: { Accept: accept } }, (response) => {
      response.on("data", (chunk: Buffer) => {
        firstByte ||= performance.now() - started;
        bytes += chunk.length;
        if (pauseMs === 0) return;
        response.pause();
        setTimeout(() => response.resume(), pauseMs);
      });
      response.on("error", reject).on("end", resolve);
    }).on("error", reject);
  });
  clearInterval(watch);
  const seconds = (performance.now() - started) / 1000;
  return { megabytes: bytes / 1e6, seconds, firstByte, memory: (most - idle) / 1024 / 1024 };
}

function findings(rows: readonly Row[]): Findings {
  const most = Math.max(...rows.map(({ memory }) => Number(memory)));
  return {
    tables: [
      {
        title: `stream: ${ROWS.toLocaleString("en-US")} rows in one answer`,
        columns: [
          { key: "reader", head: "reader" },
          { key: "format", head: "format" },
          { key: "megabytes", head: "MB", digits: 0 },
          { key: "seconds", head: "seconds", digits: 1 },
          { key: "firstByte", head: "first byte ms", digits: 0 },
          { key: "memory", head: "MiB above idle", digits: 1 },
        ],
        rows,
      },
    ],
    bars: [
      {
        what: `memory above idle, of ${String(MEMORY_MB)} MiB`,
        ...{ median: most / MEMORY_MB, lowest: most / MEMORY_MB, highest: most / MEMORY_MB },
        expected: { atMost: 1 },
      },
    ],
  };
}

import { setTimeout as sleep } from "node:timers/promises";
import { generateApi, openDatabase, SCHEMA, serveApi } from "../api.js";
import { download } from "../load.js";
import { residentMiB } from "../process.js";
import { type Figures, type Findings, memoryBar, type Setting } from "../figures.js";

const ROWS = 1_000_000;

/** Limit of the memory above idle. */
const MEMORY_MIB = 32;

/** Milliseconds that a client pauses after each chunk. */
const CLIENTS = { fast: 0, slow: 2 } as const;

/** The whole table, without parameters. */
const MODEL = { name: "million", tags: ["production", "big", "api:rows"], columns: {}, config: {} };

const TABLE_SQL = `CREATE TABLE ${SCHEMA}.million AS SELECT i AS id, md5(i::text) AS label,
    timestamptz '2025-01-01 00:00:00Z' + i * interval '1 minute' AS observed_at,
    'region-' || i % 7 AS region, (i * 18446744073709.0)::numeric(20,0) AS amount
  FROM generate_series(1, ${String(ROWS)}) AS i`;

/** A response of a million rows: its duration and the server's memory. */
export async function stream({ folder, progress, keep }: Setting): Promise<Findings> {
  progress("stream: a table of 1,000,000 rows");
  const database = keep(await openDatabase(folder));
  await database.query(TABLE_SQL);
  const server = keep(await serveApi(await generateApi(`${folder}/stream`, [MODEL]), database.url));
  await sleep(1000);
  const idle = residentMiB(server.pid);
  const rows: Record<string, Figures> = {};
  let highest = 0;
  for (const [client, pauseMs] of Object.entries(CLIENTS)) {
    for (const accept of ["application/json", "text/csv"]) {
      progress(`stream: a ${client} client, ${accept}`);
      const { MiB, ...figures } = await download(server, "/v1/big/rows", { accept, pauseMs });
      rows[`${client} client, ${accept}`] = { ...figures, "MiB above idle": MiB - idle };
      highest = Math.max(highest, MiB - idle);
    }
  }
  return {
    tables: [{ title: "stream: 1,000,000 rows in one response", rows }],
    bars: [memoryBar(highest, MEMORY_MIB)],
  };
}

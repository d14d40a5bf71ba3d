import { mkdirSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { getRequest, Load } from "../load/load.js";
import { type Server, timeProgram } from "../process.js";
import { type Findings, type Row, single } from "../report.js";
import { KEYS, startRoutewright } from "../servers.js";
import { type Database, openDatabase, ROUTEWRIGHT, SCHEMA } from "../synthetic-api.js";
import type { Setting } from "./section.js";

/** The tier3 caller: its connections, its requests a second, and how long it is measured. */
const CONNECTIONS = 10;
const PER_SECOND = 100;
const MEASURED_MS = 10_000;
/** The first requests of a process are slow: its code is not compiled yet. */
const WARM_UP_MS = 10_000;

/** Limit of the caller's p99 under attack, as a multiple of its p99 without. */
const MOST_TIMES = 3;

/** What attackers do; each attack is bounded by the section's end. */
const COSTLY_REQUESTS = 22;
const SLOW_READERS = 10;
const LOCKED_REQUESTS = 20;

/** Callers whose own queries wait for a lock, and how long it is held: a full refresh of dbt. */
const WAITING_CALLERS = 40;
const LOCK_MS = 8000;

/**
 * A tier3 caller's latency on a table of its own while anonymous callers load, stall and wait for other tables; and that of
 * callers who wait for a locked table themselves.
 */
export async function fairness({ folder, progress }: Setting): Promise<Findings> {
  const database = await openDatabase(folder);
  const load = new Load(database.pid);
  let server: Server | null = null;
  try {
    await database.query(TABLES);
    const environment = { STATEMENT_TIMEOUT_MS: "tier0=5000,tier3=30000" };
    server = await startRoutewright(await generateModels(folder), database, { environment });
    await measure(load, server, WARM_UP_MS);
    const rows: Row[] = [];
    progress("fairness: without attackers");
    rows.push({ attackers: "none", ...(await measure(load, server, MEASURED_MS)) });
    for (const [attackers, attack] of Object.entries(ATTACKS)) {
      progress(`fairness: ${attackers}`);
      const stop = await attack(server.port, database);
      await sleep(500);
      rows.push({ attackers, ...(await measure(load, server, MEASURED_MS)) });
      await stop();
      await sleep(1000);
    }
    const quiet = {
      attackers: "none, 40 callers",
      ...(await measure(load, server, LOCK_MS, WAITING_CALLERS)),
    };
    progress("fairness: callers that wait for a lock");
    const stop = await lockWithCallers(server.port, database);
    const waiting = {
      attackers: LOCK_OF_CALLERS,
      ...(await measure(load, server, LOCK_MS, WAITING_CALLERS)),
    };
    await stop();
    return findings(rows, [quiet, waiting]);
  } finally {
    load.stop();
    await server?.stop();
    await database.stop();
  }
}

const TABLES = `DROP TABLE IF EXISTS ${SCHEMA}.fair, ${SCHEMA}.locked, ${SCHEMA}.long CASCADE;
  CREATE TABLE ${SCHEMA}.fair AS SELECT i AS id, md5(i::text) AS label FROM generate_series(1, 100) i;
  CREATE TABLE ${SCHEMA}.locked AS TABLE ${SCHEMA}.fair;
  CREATE TABLE ${SCHEMA}.long AS SELECT i AS id, repeat(md5(i::text), 4) AS label FROM generate_series(1, 500000) i;
  CREATE VIEW ${SCHEMA}.costly AS SELECT id, md5(label || id) AS label FROM ${SCHEMA}.long ORDER BY md5(label) LIMIT 5000`;

type Attack = (port: number, database: Database) => Promise<() => Promise<void>>;

const costly: Attack = (port) => {
  const paths = Array.from(
    { length: COSTLY_REQUESTS },
    (_, i) => `/v1/bench/costly?label=${"a".repeat(i + 1)}`,
  );
  return Promise.resolve(hold(port, paths));
};

const slowReaders: Attack = (port) =>
  Promise.resolve(hold(port, Array(SLOW_READERS).fill("/v1/bench/long") as string[]));

const lockFor =
  (callers: number, keys: readonly string[] = []): Attack =>
  async (port, database) => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE ${SCHEMA}.locked IN ACCESS EXCLUSIVE MODE`);
    const paths = Array.from({ length: callers }, (_, i) => `/v1/bench/locked?label=${"a".repeat(i + 1)}`);
    const stop = hold(port, paths, keys);
    return async () => {
      await client.end();
      await stop();
    };
  };
const lock = lockFor(LOCKED_REQUESTS);
const lockWithCallers = lockFor(WAITING_CALLERS, KEYS);
const LOCK_OF_CALLERS = `a lock of ${String(LOCK_MS / 1000)} s that these ${String(WAITING_CALLERS)} callers wait for`;

const all: Attack = async (port, database) => {
  const stops = await Promise.all([costly, slowReaders, lock].map((attack) => attack(port, database)));
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
};

const ATTACKS: Readonly<Record<string, Attack>> = {
  [`${String(COSTLY_REQUESTS)} costly queries`]: costly,
  [`${String(SLOW_READERS)} slow readers`]: slowReaders,
  [`a lock and ${String(LOCKED_REQUESTS)} queries for it`]: lock,
  "all of these": all,
};

/** Sends each request with a key of its own or without one, reads the head of its response only, and sends it again when it ends. */
function hold(port: number, paths: readonly string[], keys: readonly string[] = []): () => Promise<void> {
  let isOver = false;
  const open = new Set<() => void>();
  const send = (path: string, key: string | undefined): void => {
    if (isOver) return;
    const headers = key === undefined ? {} : { "X-API-Key": key };
    const request = get({ host: "127.0.0.1", port, path, headers, agent: false }, (response) => {
      if (response.statusCode !== 200 || path.includes("?")) response.resume();
    });
    const close = (): void => void request.destroy();
    open.add(close);
    request
      .on("error", () => undefined)
      .on("close", () => {
        open.delete(close);
        setTimeout(() => send(path, key), 50);
      });
  };
  for (const [i, path] of paths.entries()) send(path, keys[i]);
  return async () => {
    isOver = true;
    for (const close of open) close();
    await sleep(100);
  };
}

/** Latencies of tier3 callers, from a process of its own. Fails when a request is refused. */
async function measure(load: Load, server: Server, milliseconds: number, callers = 1) {
  const requests = Array.from({ length: 100 }, (_, i) =>
    getRequest(`/v1/bench/fair?id=${String(i + 1)}`, KEYS[i % callers] ?? ""),
  );
  const job = { requests, connections: CONNECTIONS, milliseconds, perSecond: PER_SECOND };
  const { requests: count, p50, p99 } = await load.run(server, job);
  return { requests: count, p50, p99 };
}

const API = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  parameters: [
    { name: "id", column: "id", operator: "=", type: "string" },
    { name: "label", column: "label", operator: "ILIKE", type: "string" },
  ],
};

async function generateModels(parent: string): Promise<string> {
  const folder = join(parent, "fairness");
  mkdirSync(folder, { recursive: true });
  const models = ["fair", "locked", "long", "costly"].map((name) => ({
    resource_type: "model",
    unique_id: `model.bench.${name}`,
    name,
    schema: SCHEMA,
    tags: ["production", "bench", `api:${name}`],
    columns: Object.fromEntries(
      Object.entries({ id: "integer", label: "text" }).map(([column, type]) => [
        column,
        { name: column, data_type: type },
      ]),
    ),
    config: name === "long" ? {} : { meta: { api: API } },
  }));
  const metadata = { dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json" };
  const nodes = Object.fromEntries(models.map((model) => [model.unique_id, model]));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify({ metadata, nodes }));
  const args = [ROUTEWRIGHT, "generate", "--manifest", "manifest.json"];
  await timeProgram({ name: "generate", args, folder });
  return folder;
}

/** Each list begins with the row without attackers. */
function findings(...lists: readonly (readonly Row[])[]): Findings {
  const bars = lists.flatMap(([without, ...attacked]) =>
    attacked.map((row) => ({
      name: `p99 under ${String(row["attackers"])}, to without`,
      ratio: single(Number(row["p99"]) / Number(without?.["p99"])),
      limit: { atMost: MOST_TIMES },
    })),
  );
  return {
    tables: [
      {
        title: "fairness: tier3 callers on their own table while others are attacked or locked",
        columns: [
          { key: "attackers", head: "attackers" },
          { key: "requests", head: "requests", digits: 0 },
          { key: "p50", head: "p50 ms", digits: 1 },
          { key: "p99", head: "p99 ms", digits: 1 },
        ],
        rows: lists.flat(),
      },
    ],
    bars,
  };
}

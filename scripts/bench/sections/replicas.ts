import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import {
  createEndpoints,
  type Database,
  endpoints,
  generateApi,
  generateEndpoints,
  openDatabase,
  serveApi,
} from "../api.js";
import { type Figures, figureText, type Findings, median, type PageTable, type Setting } from "../figures.js";
import { generate, getRequests, KEYS } from "../load.js";
import type { Server } from "../process.js";
import { copyCluster, type Service, startBalancer, startReplica } from "../services.js";
import { pathsOf } from "./serve.js";

const ENDPOINTS = 60;

const BUILDS = 5;

/**
 * Builds of dbt: of an incremental model, and of a table that takes the place of the old one. A replica that waits before it
 * replays a commit holds the lock of the latter meanwhile: readers wait for the new rows.
 */
const BUILD = {
  incremental: `BEGIN; DELETE FROM bench.built;
    INSERT INTO bench.built SELECT $n, i FROM generate_series(1, 10000) AS i; COMMIT`,
  table: `BEGIN; CREATE TABLE bench.fresh AS SELECT $n AS build, i FROM generate_series(1, 10000) AS i;
    DROP TABLE bench.built; ALTER TABLE bench.fresh RENAME TO built; COMMIT`,
};
const MODEL = {
  name: "built",
  tags: ["production", "tier1", "replicas", "api:built"],
  columns: { build: { name: "build", data_type: "int" }, i: { name: "i", data_type: "int" } },
  config: {
    materialized: "table",
    meta: {
      api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: 1, max_limit: 1 } },
      routewright: { changes: "on_build" },
    },
  },
};
const PATH = "/v1/replicas/built";

/** What a replica that is far away, or behind a long query, lags. */
const LAG = "1s";

/** What is built, when dbt's report of it is published, and what its commit waits for. */
interface Publication {
  readonly kind?: keyof typeof BUILD;
  readonly lag?: string;
  readonly isReplayedFirst?: boolean;
  readonly commit?: "local" | "remote_apply";
}

const PUBLICATIONS: Readonly<Record<string, Publication>> = {
  "at once": {},
  [`at once, a replica that lags by ${LAG}`]: { lag: LAG },
  "the same, a table that replaces the old one": { lag: LAG, kind: "table" },
  "once the replica has replayed it, the same replica": { lag: LAG, isReplayedFirst: true },
  "at once, `synchronous_commit = remote_apply` for dbt, the same replica": {
    lag: LAG,
    commit: "remote_apply",
  },
};

const LOAD_MS = 9000;
const KILL_AFTER_MS = 3000;

/** A replica of PostgreSQL: how it lags, whether rows are old under the tag of a new build, and what fails when it dies. */
export async function replicas(setting: Setting): Promise<Findings> {
  const { folder, keep, progress } = setting;
  const [own, copy] = [join(folder, "replicas"), join(folder, "replica")];
  const database = keep(await primaryOf(own, copy));
  const api = await generateApi(join(folder, "replicas-api"), [MODEL]);
  const rows: Record<string, Figures> = {};
  for (const [name, way] of Object.entries(PUBLICATIONS)) {
    progress(`replicas: builds that are published ${name}`);
    const settings = way.lag === undefined ? {} : { recovery_min_apply_delay: way.lag };
    const replica = keep(await startReplica(copy, database.url, settings));
    rows[name] = await builds({ database, replica, api, way });
    await replica.stop();
  }
  progress("replicas: one that dies");
  const failed = await failover(setting, database, keep(await startReplica(copy, database.url, {})));
  const table = { title: "replicas: builds, and a replica that dies", rows: { ...rows, ...failed.rows } };
  return { tables: [table], page: [pageOf(rows), failed.page], bars: [] };
}

/** A new database, and a copy of it that a replica can start from. */
async function primaryOf(own: string, copy: string): Promise<Database> {
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  const empty = await openDatabase(own);
  await empty.stop();
  copyCluster(join(own, "database"), copy);
  const database = await openDatabase(own);
  await database.query("CREATE TABLE bench.built AS SELECT 0 AS build, 0 AS i");
  await createEndpoints(database, ENDPOINTS);
  // The replica is the one that `remote_apply` waits for; sessions that do not ask for it wait for nothing.
  await database.query("ALTER SYSTEM SET synchronous_standby_names = 'replica'");
  await database.query("ALTER SYSTEM SET synchronous_commit = 'local'");
  await database.query("SELECT pg_reload_conf()");
  return database;
}

interface ReplicaSetup {
  readonly database: Database;
  readonly replica: Service;
  readonly api: string;
  readonly way: Publication;
}

/** Builds, when the replica has the rows of each, and which rows the server sends under its tag. */
async function builds({ database, replica, api, way }: ReplicaSetup): Promise<Figures> {
  const [dbt, reader] = [database.url, replica.url].map((url) => new pg.Client({ connectionString: url }));
  if (dbt === undefined || reader === undefined) return {};
  await Promise.all([dbt.connect(), reader.connect()]);
  await dbt.query(`SET synchronous_commit = ${way.commit ?? "local"}`);
  await publish(api);
  const variables = { DBT_RUN_RESULTS_PATH: "run_results.json", USAGE_ENABLED: "false" };
  const server = await serveApi(api, replica.url, variables);
  const [times, lags, waits]: [number[], number[], number[]] = [[], [], []];
  let [old, kept] = [0, 0];
  const last = await lastBuild(dbt);
  for (let n = last + 1; n <= last + BUILDS; n++) {
    const { tag } = await ask(server);
    const started = performance.now();
    await dbt.query(BUILD[way.kind ?? "incremental"].replace("$n", String(n)));
    const committed = performance.now();
    times.push(committed - started);
    const arrival = arrived(reader, n).then(() => lags.push(performance.now() - committed));
    if (way.isReplayedFirst === true) await replayed(dbt, reader);
    await publish(api);
    const next = await nextOf(server, tag);
    if (next.build !== n) old++;
    waits.push(next.milliseconds);
    await arrival;
    if ((await ask(server)).build !== n) kept++;
  }
  await server.stop();
  await Promise.all([dbt.end(), reader.end()]);
  return {
    "build ms": median(times),
    "lag ms": median(lags),
    "longest lag ms": Math.max(...lags),
    "response ms": median(waits),
    old,
    kept,
  };
}

/** dbt's report of a build that has just ended. */
async function publish(api: string): Promise<void> {
  // A build of the same millisecond would have the same tag.
  await sleep(2);
  const generated_at = new Date().toISOString();
  const timing = [{ name: "execute", completed_at: generated_at }];
  const results = [{ unique_id: "model.bench.built", status: "success", timing }];
  const dbt_schema_version = "https://schemas.getdbt.com/dbt/run-results/v6.json";
  const report = { metadata: { dbt_schema_version, generated_at }, results, args: { which: "build" } };
  writeFileSync(join(api, "run_results.json"), JSON.stringify(report));
}

interface BuildSeen {
  readonly tag: string;
  /** The build of its rows. */
  readonly build: number | undefined;
  readonly milliseconds: number;
}

async function ask({ port }: Server): Promise<BuildSeen> {
  const headers = { "X-API-Key": KEYS[0] ?? "" };
  const started = performance.now();
  const response = await fetch(`http://127.0.0.1:${String(port)}${PATH}`, { headers });
  const rows = (await response.json()) as readonly { readonly build: number }[];
  const milliseconds = performance.now() - started;
  if (!response.headers.has("x-data-as-of")) throw new Error("The server knows no build.");
  return { tag: response.headers.get("etag") ?? "", build: rows[0]?.build, milliseconds };
}

/** The first response under another tag. */
async function nextOf(server: Server, tag: string): Promise<BuildSeen> {
  for (let tries = 0; tries < 1000; tries++) {
    const answer = await ask(server);
    if (answer.tag !== tag) return answer;
    await sleep(10);
  }
  throw new Error("The server does not know of the build.");
}

/** The build of the rows that a session finds. */
async function lastBuild(session: pg.Client): Promise<number> {
  const { rows } = await session.query<{ build: number }>("SELECT build FROM bench.built LIMIT 1");
  return rows[0]?.build ?? NaN;
}

/** The replica has the rows of a build. */
async function arrived(reader: pg.Client, n: number): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if ((await lastBuild(reader)) === n) return;
    await sleep(5);
  }
  throw new Error("The replica does not follow.");
}

/** What an operator's script waits for between `dbt build` and the publication of its report. */
async function replayed(dbt: pg.Client, reader: pg.Client): Promise<void> {
  const { rows } = await dbt.query<{ place: string }>("SELECT pg_current_wal_flush_lsn() AS place");
  for (let tries = 0; tries < 2000; tries++) {
    const asked = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done";
    const { rows: found } = await reader.query<{ done: boolean }>(asked, [rows[0]?.place]);
    if (found[0]?.done === true) return;
    await sleep(20);
  }
  throw new Error("The replica does not replay.");
}

/** A server behind a balancer that prefers the replica, which is killed under load. */
async function failover({ folder, keep }: Setting, database: Database, replica: Service) {
  const ports = [replica.url, database.url].map((url) => Number(new URL(url).port));
  const balancer = keep(await startBalancer(ports, true));
  const address = Object.assign(new URL(database.url), { port: String(balancer.port) }).href;
  const api = await generateEndpoints(folder, ENDPOINTS);
  const server = keep(await serveApi(api, address, { USAGE_ENABLED: "false" }));
  const requests = getRequests(pathsOf("1 row", endpoints(ENDPOINTS)));
  await generate(server.port, { requests, connections: 8, milliseconds: 1000 });
  const load = generate(server.port, { requests, connections: 8, milliseconds: LOAD_MS });
  await sleep(KILL_AFTER_MS);
  process.kill(replica.pid, "SIGQUIT");
  const { requests: count, failures, p99 } = await load;
  const figures = { requests: count, failures, "p99 ms": p99 };
  const cells = ["the replica ends at once", figureText(count), figureText(failures), figureText(p99, "ms")];
  return {
    rows: { "a replica ends": figures },
    page: { title: "### A replica that dies", head: ["", "requests", "failed", "p99"], rows: [cells] },
  };
}

function pageOf(rows: Readonly<Record<string, Figures>>): PageTable {
  const head = [
    ...["dbt's report is published", "a build, median", "the replica has it after, median", "longest"],
    ...[
      "the first response of it",
      `of ${String(BUILDS)} builds, old rows under the new tag`,
      "the same once the replica has the new rows",
    ],
  ];
  const cells = Object.entries(rows).map(([name, figures]) => [
    name,
    figureText(figures["build ms"], "ms"),
    figureText(figures["lag ms"], "ms"),
    figureText(figures["longest lag ms"], "ms"),
    figureText(figures["response ms"], "ms"),
    figureText(figures["old"]),
    figureText(figures["kept"]),
  ]);
  return { title: "## Replicas of PostgreSQL", head, rows: cells };
}

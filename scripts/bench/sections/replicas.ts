import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import {
  createEndpoints,
  type Database,
  endpoints,
  generateEndpoints,
  openDatabase,
  serveApi,
} from "../api.js";
import { type Figures, figureText, median, type PageTable, type Setting } from "../figures.js";
import { generate, getRequests } from "../load.js";
import { copyCluster, type Service, startBalancer, startReplica } from "../services.js";
import { pathsOf } from "./serve.js";

const ENDPOINTS = 60;

/** Builds of dbt: a new table takes the place of the old one. */
const BUILDS = 20;
const BUILD = `BEGIN; CREATE TABLE bench.fresh AS SELECT $n AS build, i FROM generate_series(1, 100000) AS i;
  DROP TABLE bench.built; ALTER TABLE bench.fresh RENAME TO built; COMMIT`;

/** What a replica that is far away, or behind a long query, lags. */
const LAG = "500ms";

const LOAD_MS = 9000;
const KILL_AFTER_MS = 3000;

/** A replica of PostgreSQL: how it lags, whether rows are old right after a build, and what fails when it dies. */
export async function measureReplica({ folder, keep, progress }: Setting): Promise<{
  readonly rows: Readonly<Record<string, Figures>>;
  readonly page: readonly PageTable[];
}> {
  progress("scaling: a replica of PostgreSQL");
  const [own, copy] = [join(folder, "replicas"), join(folder, "replica")];
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  const empty = await openDatabase(own);
  await empty.stop();
  copyCluster(join(own, "database"), copy);
  const database = keep(await openDatabase(own));
  await database.query("CREATE TABLE bench.built AS SELECT 0 AS build, 0 AS i");
  await createEndpoints(database, ENDPOINTS);
  let replica = keep(await startReplica(copy, database.url, {}));
  const rows: Record<string, Figures> = {};
  rows["a build waits for nothing (default)"] = await builds(database, replica);
  await follow(database);
  rows["`synchronous_commit = remote_apply`"] = await builds(database, replica, "remote_apply");
  await replica.stop();
  replica = keep(await startReplica(copy, database.url, { recovery_min_apply_delay: LAG }));
  rows[`default, a replica that lags by ${LAG}`] = await builds(database, replica);
  rows["`remote_apply`, the same replica"] = await builds(database, replica, "remote_apply");
  await replica.stop();
  replica = keep(await startReplica(copy, database.url, {}));
  const failed = await failover({ folder, keep, database, replica });
  const head = ["", "a build, median", "longest", `of ${String(BUILDS)} builds, old rows at its end`];
  const cells = Object.entries(rows).map(([name, figures]) => [
    name,
    figureText(figures["build ms"], "ms"),
    figureText(figures["longest ms"], "ms"),
    figureText(figures["old"]),
  ]);
  return {
    rows: { ...rows, ...failed.rows },
    page: [{ title: "## Replicas", head, rows: cells }, failed.page],
  };
}

/** The primary names the replica as the one that `remote_apply` waits for; other sessions wait for nothing. */
async function follow(database: Database): Promise<void> {
  await database.query("ALTER SYSTEM SET synchronous_standby_names = 'replica'");
  await database.query("ALTER SYSTEM SET synchronous_commit = 'local'");
  await database.query("SELECT pg_reload_conf()");
  await sleep(1000);
}

/** Builds, and what the replica has at the end of each. */
async function builds(database: Database, replica: Service, wait = "local"): Promise<Figures> {
  const [dbt, reader] = [database.url, replica.url].map((url) => new pg.Client({ connectionString: url }));
  if (dbt === undefined || reader === undefined) return {};
  await Promise.all([dbt.connect(), reader.connect()]);
  const times: number[] = [];
  let old = 0;
  await dbt.query(`SET synchronous_commit = ${wait}`);
  for (let n = 1; n <= BUILDS; n++) {
    const started = performance.now();
    await dbt.query(BUILD.replace("$n", String(n)));
    times.push(performance.now() - started);
    const { rows } = await reader.query<{ build: number }>("SELECT build FROM bench.built LIMIT 1");
    if (rows[0]?.build !== n) old++;
    await caughtUp(reader, n);
  }
  await Promise.all([dbt.end(), reader.end()]);
  return { "build ms": median(times), "longest ms": Math.max(...times), old };
}

/** The next build begins once the replica has this one. */
async function caughtUp(reader: pg.Client, n: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const { rows } = await reader.query<{ build: number }>("SELECT build FROM bench.built LIMIT 1");
    if (rows[0]?.build === n) return;
    await sleep(50);
  }
  throw new Error("The replica does not follow.");
}

interface Parts extends Pick<Setting, "folder" | "keep"> {
  readonly database: Database;
  readonly replica: Service;
}

/** A server behind a balancer that prefers the replica, which is killed under load. */
async function failover({ folder, keep, database, replica }: Parts) {
  const ports = [replica.url, database.url].map((url) => Number(new URL(url).port));
  const balancer = keep(await startBalancer(ports, true));
  const address = Object.assign(new URL(database.url), { port: String(balancer.port) }).href;
  const api = await generateEndpoints(folder, ENDPOINTS);
  const server = keep(await serveApi(api, address));
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
    page: { title: "### Failover", head: ["", "requests", "failed", "p99"], rows: [cells] },
  };
}

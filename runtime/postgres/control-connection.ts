import { once } from "node:events";
import pg from "./connection/pg.js";
import { DatabaseSocket, PostgresClient } from "./connection/postgres-client.js";
import { connectionConfig } from "./connect.js";
import { StreamBlocksLock } from "./errors.js";
import type { ConnectionPool } from "./pool.js";
import type { Run } from "./run.js";
import type { SessionSetup } from "./session.js";
import { shared, signalAfter } from "../core/model/timer.js";

/** How long a health check waits for the database. */
const TIMEOUT_MS = 2000;

/** Timers of `pg` also count the time in which this process is busy and reads nothing. A check that fails ends its session before them. */
const PG_TIMEOUT_MS = 10_000;

/** Interval of the checks. Two in a row that find a session waiting for a stream's locks end the stream. */
const CHECK_MS = 500;

/** A query that runs for so long raises the question whether the database responds at all. */
const SUSPICION_MS = 3000;

const BLOCKING_PIDS = `SELECT DISTINCT blocking.pid FROM pg_catalog.pg_locks waiting,
  pg_catalog.unnest(pg_catalog.pg_blocking_pids(waiting.pid)) AS blocking(pid)
  WHERE NOT waiting.granted AND blocking.pid OPERATOR(pg_catalog.=) ANY($1::pg_catalog.int4[])`;

/** As an error of the network: no other way to speak to the server is tried. */
class Late extends Error {
  readonly syscall = "connect";
  constructor() {
    super("no answer in time");
  }
}

/** False where the answer comes too late for a health check. */
export const inTime = (answer: Promise<boolean>): Promise<boolean> =>
  Promise.race([answer, once(signalAfter(TIMEOUT_MS), "abort").then(() => false)]);

export interface ControlOptions {
  readonly url: string;
  readonly setup: SessionSetup;
  /** Those whose transactions are open. */
  readonly cursors: ReadonlySet<Run>;
  readonly onIdleError: (error: Error) => void;
}

/**
 * A connection for what must not queue behind queries: health checks, cancellation, and two checks. A stream may not block a
 * table swap of dbt (runtime/docs/limits.md, Streams). While the database does not respond, such as on a frozen host, whose
 * connections stay open, queries fail at once: each would wait for its own time limit.
 */
export class ControlConnection {
  readonly #pool: pg.Pool;
  readonly #cursors: ReadonlySet<Run>;
  /** Cursors that another session waited for at the last check. Bounded by the connections. */
  #blocking: ReadonlySet<Run> = new Set();
  /** The last one that began to connect. */
  #socket: DatabaseSocket | null = null;
  #isResponding = true;
  #isChecking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor({ url, setup, cursors, onIdleError }: ControlOptions) {
    this.#cursors = cursors;
    this.#pool = new pg.Pool({
      ...connectionConfig(url),
      Client: PostgresClient,
      max: 1,
      connectionTimeoutMillis: PG_TIMEOUT_MS,
      query_timeout: PG_TIMEOUT_MS,
      // Idle connections must not keep the process alive.
      allowExitOnIdle: true,
      application_name: "routewright health",
      stream: () => new DatabaseSocket({}, (socket) => (this.#socket = socket)),
      // A server that refuses the set-up of queries is not healthy. The pool awaits it; the declared type omits that.
      onConnect: (client) => setup.prepare(client) as unknown as undefined,
    });
    this.#pool.on("error", onIdleError);
  }

  /** Begins the checks. */
  watch(queries: ConnectionPool): void {
    const check = (): void => {
      void this.#endBlockingStreams();
      void this.#checkResponding(queries);
    };
    this.#timer = setInterval(check, CHECK_MS).unref();
  }

  /** Whether the database responds in time, if only to refuse the connection: queries may have others. One ping at a time for all who ask: what cancels never waits behind more. */
  readonly ping = shared(() => this.#ping());

  async #ping(): Promise<boolean> {
    const responds = await inTime(
      this.#pool.query("SELECT 1").then(
        () => true,
        (error: unknown) => error instanceof pg.DatabaseError,
      ),
    );
    // The session, or the attempt to connect, may be lost although the database responds: the next check has another.
    if (!responds) this.#socket?.destroy(new Late());
    return responds;
  }

  /** Cancels the query of a backend. */
  cancel(pid: number): void {
    this.#pool.query("SELECT pg_catalog.pg_cancel_backend($1)", [pid]).catch(() => undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pool.end();
  }

  async #endBlockingStreams(): Promise<void> {
    const cursors = [...this.#cursors];
    if (cursors.length === 0) return;
    const pids = await this.#pool
      .query<{ pid: number }>(BLOCKING_PIDS, [cursors.map(({ backendPid }) => backendPid)])
      .then(({ rows }) => new Set(rows.map(({ pid }) => pid)))
      .catch(() => new Set<number>());
    const blocking = new Set(cursors.filter(({ backendPid }) => pids.has(backendPid)));
    for (const cursor of blocking) if (this.#blocking.has(cursor)) cursor.cancel(new StreamBlocksLock());
    this.#blocking = blocking;
  }

  async #checkResponding(queries: ConnectionPool): Promise<void> {
    const isSuspicious = queries.longestSilenceMs >= SUSPICION_MS;
    if (this.#isChecking || (this.#isResponding && !isSuspicious)) return;
    this.#isChecking = true;
    this.#isResponding = await this.ping();
    this.#isChecking = false;
    if (this.#isResponding) queries.resume();
    else queries.suspend(SUSPICION_MS);
  }
}

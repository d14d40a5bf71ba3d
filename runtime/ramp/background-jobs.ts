import { QUEUE_SCHEMA } from "./database/migrate.js";
import { Logger as QueueLogger, run, type Runner, type TaskList } from "graphile-worker";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Logger } from "../server/logger.js";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { processIntent } from "./intents/process-intent.js";
import { projectId } from "./database/id.js";
import type { RampContext } from "./context.js";
import { check } from "./json-schema.js";
import type { OperatorTransaction, RampDatabase } from "./database/ramp-database.js";
import { refreshCapabilities } from "./providers/provider-connections.js";

/** Jobs of one process at a time; most of the time they wait for a provider. */
const CONCURRENCY = 10;
/** The database notifies of new jobs; polling finds those whose notification was lost. */
const POLL_MS = 2_000;
/** Pause before the queue is restarted after an error, such as a database restart. */
const RESTART_MS = 1_000;

/** Runs jobs once and soon. The queue holds no state: rows with a due time do. */
interface Queue {
  stop(): Promise<void>;
}

/** Runs jobs until stopped; continues after the database was unreachable. */
export function startQueue(databaseUrl: string, taskList: TaskList, log: Logger): Queue {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: CONCURRENCY + 2,
    application_name: "routewright-ramp queue",
    connectionTimeoutMillis: 10_000,
  });
  pool.on("error", (error) => log.warn({ err: error }, "queue connection lost"));
  // The queue listens on one connection and reports its loss itself; without this listener the process would end.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const shutdown = new AbortController();
  const loop = keepRunning(() => startRunner(pool, taskList, log), shutdown.signal, log);
  return {
    async stop() {
      shutdown.abort();
      await loop;
      await pool.end();
    },
  };
}

async function keepRunning(begin: () => Promise<Runner>, shutdown: AbortSignal, log: Logger): Promise<void> {
  const isOver = (): boolean => shutdown.aborted;
  while (!isOver()) {
    try {
      const runner = await begin();
      const stop = (): void => void runner.stop().catch(() => undefined);
      shutdown.addEventListener("abort", stop);
      // A worker that cannot record its job's result ends and is not replaced.
      runner.events.once("worker:fatalError", stop);
      if (isOver()) stop();
      await runner.promise.finally(() => shutdown.removeEventListener("abort", stop));
    } catch (error) {
      log.warn({ err: error }, "queue failed; restarting");
    }
    await sleep(RESTART_MS, undefined, { signal: shutdown }).catch(() => undefined);
  }
}

function startRunner(pgPool: pg.Pool, taskList: TaskList, log: Logger): Promise<Runner> {
  return run({
    pgPool,
    taskList,
    schema: QUEUE_SCHEMA,
    concurrency: CONCURRENCY,
    pollInterval: POLL_MS,
    noHandleSignals: true,
    logger: new QueueLogger(() => (level, message) => {
      if ((level as string) === "error") log.warn({ queue: message }, "queue");
    }),
  });
}

const ProcessJob = Type.Object({ projectId: Type.String(), intentId: Type.String() });

/** The jobs of the queue. A failed job is not repeated: its row stays due, and the scheduler finds it. */
export function taskList(ramp: RampContext): TaskList {
  return {
    process_intent: (payload) => {
      const job = parseJob(ProcessJob, payload);
      return processIntent(ramp, projectId(job.projectId), job.intentId);
    },
  };
}

function parseJob<S extends TSchema>(schema: S, payload: unknown): Static<S> {
  if (!check(schema, payload)) throw new Error("The job has an unknown payload.");
  return payload;
}

/** How often each process looks for due intents. */
const INTERVAL_MS = 1_000;
/** Intents enqueued at a time; the next run finds more. */
const BATCH = 200;
/** An enqueued intent is not enqueued again for this long. */
const ENQUEUE_INTERVAL = "interval '10 s'";
/** Interval of housekeeping. */
const HOUSEKEEPING_MS = 60_000;

/**
 * Enqueues due intents. Everything that happens later is a row with a due time: expiry, look-ups at a provider that sent no
 * callback, and what a crash left undone. Each process runs it; no row is enqueued twice at once.
 */
export function startScheduler(ramp: RampContext): { stop(): Promise<void> } {
  let stopped = false;
  let housekeptAt = 0;
  let running: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    await ramp.database.asOperator(enqueueDue);
    if (Date.now() - housekeptAt < HOUSEKEEPING_MS) return;
    housekeptAt = Date.now();
    await housekeep(ramp);
  };
  const timer = setInterval(() => {
    running = running.then(async () => {
      if (stopped) return;
      await run().catch((error: unknown) => ramp.log.warn({ err: error }, "scheduler run failed"));
    });
  }, INTERVAL_MS);
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

async function enqueueDue(tx: OperatorTransaction): Promise<void> {
  await tx.rows(
    `WITH due AS (
       SELECT project_id, id FROM ramp.intents WHERE next_poll_at <= now() ORDER BY next_poll_at LIMIT $1 FOR UPDATE SKIP LOCKED),
     moved AS (
       UPDATE ramp.intents i SET next_poll_at = now() + ${ENQUEUE_INTERVAL} FROM due
       WHERE i.project_id = due.project_id AND i.id = due.id RETURNING i.project_id, i.id)
     SELECT ramp.enqueue('process_intent', json_build_object('projectId', project_id, 'intentId', id), 'process_intent:' || id) FROM moved`,
    [BATCH],
  );
}

/** Deletes expired rows and refreshes the capabilities of providers. */
async function housekeep(ramp: RampContext): Promise<void> {
  await deleteExpired(ramp.database);
  const projects = await ramp.database.asOperator((tx) =>
    tx.rows<{ project_id: string }>(
      "SELECT DISTINCT project_id FROM ramp.provider_connections WHERE enabled AND capabilities_at < now() - interval '5 min'",
    ),
  );
  for (const { project_id } of projects) await refreshCapabilities(ramp, projectId(project_id));
}

/** Rows deleted in one transaction: a large backlog must not hold locks or fill the write-ahead log at once. */
const DELETE_BATCH = 1_000;

/** Tables with rows that expire. Revocations are kept for as long as a token can live, 30 days (`max_token_seconds`). */
const EXPIRED = [
  { table: "idempotency_claims", where: "expires_at < now()" },
  { table: "wallet_nonces", where: "expires_at < now()" },
  // For a day an expired quote gets another error than an unknown one.
  { table: "quotes", where: "expires_at < now() - interval '1 day'" },
  { table: "token_revocations", where: "revoked_at < now() - interval '31 days'" },
] as const;

/** Deletes expired rows in batches. */
export async function deleteExpired(database: RampDatabase, batch = DELETE_BATCH): Promise<void> {
  for (const { table, where } of EXPIRED)
    for (;;) {
      const deleted = await database.asOperator((tx) =>
        tx.rows(
          `DELETE FROM ramp.${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ramp.${table} WHERE ${where} LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1`,
          [batch],
        ),
      );
      if (deleted.length < batch) break;
    }
}

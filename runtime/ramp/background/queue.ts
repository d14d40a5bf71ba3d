import { QUEUE_SCHEMA } from "../database/migrate.js";
import { Logger as QueueLogger, run, type Runner, type TaskList } from "graphile-worker";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Logger } from "../../http/logger.js";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { deliver } from "../webhooks/deliver.js";
import { processIntent } from "../intents/process-intent.js";
import { projectId } from "../database/id.js";
import type { RampContext } from "../context.js";
import { check } from "../json-schema.js";

/** Jobs done at once by one process; each waits for somebody else's server most of the time. */
const CONCURRENCY = 10;
/** New jobs are announced by the database; this is for those that were announced while nobody listened. */
const POLL_MS = 2_000;
/** Pause before the queue is taken up again after it broke, as when the database restarts. */
const RESTART_MS = 1_000;

/** Work that is done soon and by one process: the queue holds no state of its own, rows with a due time do (sweep.ts). */
export interface Queue {
  stop(): Promise<void>;
}

/** Takes jobs from the queue until it is stopped; goes on by itself after the database was away. */
export function startQueue(databaseUrl: string, taskList: TaskList, log: Logger): Queue {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: CONCURRENCY + 2,
    application_name: "routewright-ramp queue",
    connectionTimeoutMillis: 10_000,
  });
  pool.on("error", (error) => log.warn({ err: error }, "queue connection lost"));
  // The queue keeps one to listen on and reports its loss itself: without a listener here the process would end.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const life = new AbortController();
  const loop = keepRunning(() => start(pool, taskList, log), life.signal, log);
  return {
    async stop() {
      life.abort();
      await loop;
      await pool.end();
    },
  };
}

async function keepRunning(begin: () => Promise<Runner>, life: AbortSignal, log: Logger): Promise<void> {
  const isOver = (): boolean => life.aborted;
  while (!isOver()) {
    try {
      const runner = await begin();
      const stop = (): void => void runner.stop().catch(() => undefined);
      life.addEventListener("abort", stop);
      // A worker that could not write down how its job ended is gone for good, and no other takes its place.
      runner.events.once("worker:fatalError", stop);
      if (isOver()) stop();
      await runner.promise.finally(() => life.removeEventListener("abort", stop));
    } catch (error) {
      log.warn({ err: error }, "queue broke and is taken up again");
    }
    await sleep(RESTART_MS, undefined, { signal: life }).catch(() => undefined);
  }
}

function start(pgPool: pg.Pool, taskList: TaskList, log: Logger): Promise<Runner> {
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

const AttendJob = Type.Object({ projectId: Type.String(), intentId: Type.String() });
const DeliverJob = Type.Object({ projectId: Type.String(), deliveryId: Type.String() });

/** What the queue does. A job that fails is not repeated: its row is still due, and the sweep finds it. */
export function taskList(ramp: RampContext): TaskList {
  return {
    process_intent: (payload) => {
      const job = parseJob(AttendJob, payload);
      return processIntent(ramp, projectId(job.projectId), job.intentId);
    },
    deliver: (payload) => {
      const job = parseJob(DeliverJob, payload);
      return deliver(ramp, projectId(job.projectId), job.deliveryId);
    },
  };
}

function parseJob<S extends TSchema>(schema: S, payload: unknown): Static<S> {
  if (!check(schema, payload)) throw new Error("The job is not of our making.");
  return payload;
}

import { QUEUE_SCHEMA } from "../database/migrate.js";
import { Logger as QueueLogger, run, type Runner, type TaskList } from "graphile-worker";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Logger } from "../../http/logger.js";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { processIntent } from "../intents/process-intent.js";
import { projectId } from "../database/id.js";
import type { RampContext } from "../context.js";
import { check } from "../json-schema.js";

/** Jobs of one process at a time; most of the time they wait for a provider. */
const CONCURRENCY = 10;
/** The database announces new jobs; polling finds those announced while nothing listened. */
const POLL_MS = 2_000;
/** Pause before the queue is restarted after an error, such as a database restart. */
const RESTART_MS = 1_000;

/** Runs jobs once and soon. The queue holds no state: rows with a due time do (scheduler.ts). */
export interface Queue {
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
      // A worker that cannot record its job's result ends and is not replaced.
      runner.events.once("worker:fatalError", stop);
      if (isOver()) stop();
      await runner.promise.finally(() => life.removeEventListener("abort", stop));
    } catch (error) {
      log.warn({ err: error }, "queue failed; restarting");
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

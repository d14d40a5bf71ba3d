import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import pino from "pino";
import { WorkerPool } from "../../../runtime/operations/workers/worker-pool.js";
import { WorkerProcess } from "../../../runtime/operations/workers/worker-process.js";
import type { WorkerFunctions } from "../../../runtime/operations/workers/messages.js";
import { FakeWorker } from "./fake-worker.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ASSIGNMENT = { role: "ramp", variables: {}, port: 1, dataDir: "" } as const;
const notCalled = () => Promise.reject(new Error("not called"));
const NO_CALLS = { refresh: notCalled, metricsText: notCalled };
const EXITS: Partial<WorkerFunctions> = { start: () => new Promise(() => undefined) };

/** A pool of fake workers; `next` changes the functions of those that start from now on. */
function poolOf(size: number) {
  const forked: { readonly fake: FakeWorker; readonly at: number }[] = [];
  const logged: { readonly msg: string; readonly worker: number; readonly detail?: string }[] = [];
  const given: string[] = [];
  let functions: Partial<WorkerFunctions> | "exit 7" = {};
  const log = pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const launch = (): WorkerProcess => {
    const fake = new FakeWorker(forked.length + 1, functions === "exit 7" ? EXITS : functions);
    forked.push({ fake, at: Date.now() });
    if (functions === "exit 7") fake.end(7, null);
    return new WorkerProcess(fake.worker, ASSIGNMENT, NO_CALLS);
  };
  const onUnrecoverable = (reason: string): boolean => given.push(reason) > 0;
  const pool = new WorkerPool({ role: "ramp", size, launch, onUnrecoverable, log });
  return {
    pool,
    forked,
    logged,
    given,
    fake: (number: number): FakeWorker => forked[number - 1]!.fake,
    next: (behaviour: typeof functions) => void (functions = behaviour),
    serving: () => pool.serving.map(({ id }) => id),
  };
}

/** Lets pending messages arrive. */
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe("a pool that starts", () => {
  it("rejects when no worker starts, with the reason", async () => {
    const { pool, next } = poolOf(2);
    next("exit 7");
    await expect(pool.start()).rejects.toThrow("No worker process starts: it ended with code 7.");
    const { pool: other, next: then, fake } = poolOf(1);
    then({ start: () => Promise.reject(new Error("served/fast.ts: no")) });
    await expect(other.start()).rejects.toThrow("No worker process starts: served/fast.ts: no.");
    expect(fake(1).hasEnded).toBe(true);
  });

  it("serves when some start, and starts the others again", async () => {
    const { pool, serving, fake } = poolOf(2);
    const started = pool.start();
    fake(2).end(7, null);
    await started;
    await vi.advanceTimersByTimeAsync(100);
    expect(serving()).toEqual([1, 3]);
  });
});

describe("workers that end", () => {
  it("are replaced at once, once each, with one line in the log per event", async () => {
    const { pool, serving, fake, logged } = poolOf(2);
    await pool.start();
    fake(1).end(null, "SIGKILL");
    await settle();
    expect(serving()).toEqual([2, 3]);
    expect(logged.map(({ msg, worker }) => [msg, worker])).toEqual([
      ["worker starting", 1],
      ["worker starting", 2],
      ["worker serves", 1],
      ["worker serves", 2],
      ["worker died", 1],
      ["worker starting", 3],
      ["worker serves", 3],
    ]);
  });

  it("again and again are replaced ever later, and given up after five starts per worker", async () => {
    const { pool, forked, fake, next, given, logged } = poolOf(2);
    await pool.start();
    next("exit 7");
    const start = Date.now();
    for (const number of [1, 2]) fake(number).end(null, "SIGKILL");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(new Set(given)).toEqual(new Set(["it ended with code 7"]));
    expect(forked.slice(2).map(({ at }) => at - start)).toEqual([
      0, 0, 100, 200, 500, 1000, 2100, 4200, 7100, 9200, 12_100,
    ]);
    expect(logged.filter(({ msg }) => msg === "worker did not start")).toHaveLength(11);
  });

  it("are tried on as long as one serves; a start that holds resets the wait", async () => {
    const { pool, forked, fake, next, given, serving } = poolOf(2);
    await pool.start();
    next("exit 7");
    fake(1).end(null, "SIGKILL");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(given).toEqual([]);
    next({});
    await vi.advanceTimersByTimeAsync(10_000);
    expect(serving()).toEqual([2, forked.length]);
    fake(2).end(null, "SIGKILL");
    await settle();
    expect(serving()).toHaveLength(2);
  });

  it("are not replaced by a pool that stops", async () => {
    const { pool, forked, fake, next } = poolOf(1);
    await pool.start();
    next("exit 7");
    fake(1).end(null, "SIGKILL");
    await vi.advanceTimersByTimeAsync(150);
    const tries = forked.length;
    await pool.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(forked).toHaveLength(tries);
  });
});

describe("a worker that does not respond", () => {
  it("is killed within 5 s, and replaced", async () => {
    const { pool, fake, serving, logged } = poolOf(2);
    await pool.start();
    fake(1).isFrozen = true;
    await vi.advanceTimersByTimeAsync(5000);
    expect(serving()).toEqual([2, 3]);
    expect(logged.find(({ msg }) => msg === "worker died")).toMatchObject({
      worker: 1,
      signal: "SIGKILL",
      detail: "it did not respond to two pings and was killed",
    });
  });

  it("is killed when it does not stop in time", async () => {
    const { pool, next, fake } = poolOf(1);
    next({ stop: () => new Promise(() => undefined) });
    await pool.start();
    const stopped = pool.stop();
    await vi.advanceTimersByTimeAsync(30_000);
    await stopped;
    expect(fake(1).hasEnded).toBe(true);
  });
});

describe("a rolling restart", () => {
  it("stops each worker only after its replacement serves", async () => {
    const { pool, fake, next, serving, logged } = poolOf(2);
    await pool.start();
    let release: () => void = () => undefined;
    next({ start: () => new Promise((resolve) => (release = resolve)) });
    const restarted = pool.restartAll();
    await settle();
    expect([serving(), fake(1).isStopped]).toEqual([[1, 2], false]);
    release();
    await settle();
    expect([serving(), fake(1).isStopped, fake(2).isStopped]).toEqual([[2, 3], true, false]);
    release();
    expect(await restarted).toEqual({ replaced: 2, problem: null });
    expect(serving()).toEqual([3, 4]);
    expect(logged.filter(({ msg }) => msg === "worker ended")).toHaveLength(2);
  });

  it("ends at the first worker that does not start, and the others keep serving", async () => {
    const { pool, next, serving } = poolOf(3);
    await pool.start();
    next("exit 7");
    expect(await pool.restartAll()).toEqual({ replaced: 0, problem: "it ended with code 7" });
    expect(serving()).toEqual([1, 2, 3]);
  });

  it("leaves as many workers as before when one dies meanwhile", async () => {
    const { pool, fake, next, serving } = poolOf(2);
    await pool.start();
    let release: () => void = () => undefined;
    next({ start: () => new Promise((resolve) => (release = resolve)) });
    const restarted = pool.restartAll();
    await settle();
    fake(1).end(null, "SIGKILL");
    await settle();
    next({});
    release();
    await restarted;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(serving()).toHaveLength(2);
  });

  it("fills the place of one that died while its replacement did not start", async () => {
    const { pool, fake, next, serving } = poolOf(2);
    await pool.start();
    next({ start: () => new Promise(() => undefined) });
    const restarted = pool.restartAll();
    await settle();
    next({});
    fake(1).end(null, "SIGKILL");
    await settle();
    fake(3).end(7, null);
    expect((await restarted).problem).toBe("it ended with code 7");
    await vi.advanceTimersByTimeAsync(1000);
    expect(serving()).toEqual([2, 4]);
  });
});

import { setTimeout as sleep } from "node:timers/promises";
import type { WorkerProcess } from "./worker-process.js";

/** What a worker may have above its share: a quarter, at least two, so that connections for one request cause no pauses. */
const limitOf = (share: number): number => share + Math.max(2, share / 4);

/**
 * How long a worker above its limit leaves new connections to the others: the pause of one ends sooner when another is above its
 * own. It bounds what a new connection waits where the others freeze meanwhile.
 */
const PAUSE_MS = 50;

/** A worker that does not respond within this time is not counted: a frozen one would have the others pause for nothing. */
const RESPONSE_MS = 250;

/** How often workers get their limits: until then callers that keep their connections do not reach a new worker. */
const CHECK_MS = 1_000;

/**
 * Gives each worker its share of the connections. All wait on one port, and the kernel wakes the same idle one first: of 24
 * kept connections that were opened 50 ms apart one of two workers had 23. At most one pauses at a time, and only while
 * another has just responded: the port has a listener, unless that one is killed in this moment.
 */
export class ConnectionBalance {
  readonly #serving: () => readonly WorkerProcess[];
  readonly #timer = setInterval(() => void this.#check(), CHECK_MS).unref();
  #paused: WorkerProcess | null = null;
  /** One change of who pauses after the other. */
  #changes: Promise<unknown> = Promise.resolve();

  constructor(serving: () => readonly WorkerProcess[]) {
    this.#serving = serving;
  }

  /** A worker has so many connections. Resolves to its limit; above it, the worker pauses before. */
  async shareOf(worker: WorkerProcess, open: number): Promise<number> {
    const others = this.#serving().filter((other) => other !== worker);
    const counts = await countsOf(others);
    const limit = limitOf(average([open, ...counts.values()]));
    if (open > limit) await this.#change(worker);
    return limit;
  }

  /** Ends a pause. */
  resume(): Promise<unknown> {
    return this.#change(null);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #change(paused: WorkerProcess | null): Promise<unknown> {
    const before = this.#changes;
    const change = async (): Promise<void> => {
      await before;
      if (this.#paused !== null && this.#paused !== paused) await pause(this.#paused, 0);
      this.#paused = paused;
      if (paused !== null) await pause(paused, PAUSE_MS);
    };
    return (this.#changes = change());
  }

  async #check(): Promise<void> {
    const counts = await countsOf(this.#serving());
    const limit = limitOf(average([...counts.values()]));
    // One that has ended meanwhile needs no limit.
    for (const worker of counts.keys()) worker.call("limitConnections", limit).catch(() => null);
  }
}

/** Of the workers that respond. */
async function countsOf(workers: readonly WorkerProcess[]): Promise<ReadonlyMap<WorkerProcess, number>> {
  const counts = new Map<WorkerProcess, number>();
  const count = async (worker: WorkerProcess): Promise<void> => {
    const late = sleep(RESPONSE_MS, null, { ref: false });
    const open = await Promise.race([worker.call("connections").catch(() => null), late]);
    if (open !== null) counts.set(worker, open);
  };
  await Promise.all(workers.map(count));
  return counts;
}

/** Never rejects: one that has ended accepts nothing. */
async function pause(worker: WorkerProcess, milliseconds: number): Promise<void> {
  await worker.call("pauseAccepting", milliseconds).catch(() => null);
}

function average(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0) / Math.max(1, counts.length);
}

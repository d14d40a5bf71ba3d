import type { Logger } from "../../server/logger.js";
import type { Assignment } from "./messages.js";
import { reasonOf, type WorkerProcess } from "./worker-process.js";

/** Failed starts in a row, per worker, after which the pool gives up. */
const MAX_FAILED_STARTS = 5;

export interface WorkerPoolOptions {
  /** For the log. */
  readonly role: Assignment["role"];
  /** Number of workers. */
  readonly size: number;
  /** Starts a process with what is to be served now. */
  readonly launch: () => WorkerProcess;
  readonly onEnded?: (worker: WorkerProcess) => void;
  /** Called when no worker serves and none can be started; returns whether the pool should give up. */
  readonly onUnrecoverable: (reason: string) => boolean;
  readonly log: Logger;
}

/** The worker processes of one role: starts them, replaces those that end, and restarts them without an interruption. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #members = new Set<WorkerProcess>();
  /** The worker whose replacement is starting: if it dies, it is not replaced a second time. */
  #beingReplaced: WorkerProcess | null = null;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  /** Since the last successful start. */
  #failedStarts = 0;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.size);
  }

  /** All processes that have not ended. */
  get members(): readonly WorkerProcess[] {
    return [...this.#members];
  }

  /** Those that accept connections. */
  get serving(): readonly WorkerProcess[] {
    return this.members.filter(({ state }) => state === "serving");
  }

  /** Resolves once some serve. Rejects, and leaves none running, when none starts. */
  async start(): Promise<void> {
    const workers = Array.from({ length: this.#options.size }, () => this.#launch());
    const up = await Promise.all(workers.map(({ ready }) => ready));
    const [first] = workers;
    if (first && !up.includes(true))
      throw new Error(`No worker process starts: ${reasonOf(await first.ended)}.`);
    for (const isUp of up) if (!isUp) void this.#fill(0);
  }

  /**
   * Replaces all workers, one at a time: the new one serves before the old one stops. Ends at the first that does not
   * start; the remaining old ones keep serving. Returns how many it replaced, and why not all.
   */
  async restartAll(): Promise<{ readonly replaced: number; readonly problem: string | null }> {
    let replaced = 0;
    for (const old of this.members) {
      await old.ready;
      if (old.state !== "serving") continue;
      const problem = await this.#replace(old);
      if (problem !== null) return { replaced, problem };
      replaced++;
    }
    return { replaced, problem: null };
  }

  /** Stops all workers gracefully. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.members.map((worker) => worker.stop()));
  }

  /** Null, or why no new worker started; then the old one keeps serving. */
  async #replace(old: WorkerProcess): Promise<string | null> {
    if (this.#stopping.signal.aborted) return "the server is stopping";
    this.#beingReplaced = old;
    const fresh = this.#launch();
    const isUp = await fresh.ready;
    this.#beingReplaced = null;
    if (isUp) {
      await old.stop();
      return null;
    }
    if (old.state === "ended") void this.#fill(0);
    return reasonOf(await fresh.ended);
  }

  #launch(): WorkerProcess {
    const { launch, role, log } = this.#options;
    const worker = launch();
    const fields = { worker: worker.id, pid: worker.pid, role };
    this.#members.add(worker);
    log.info(fields, "worker starting");
    void worker.ready.then((isUp) => {
      if (!isUp) return;
      this.#failedStarts = 0;
      log.info(fields, "worker serves");
    });
    void worker.ended.then(() => this.#onEnded(worker));
    return worker;
  }

  async #onEnded(worker: WorkerProcess): Promise<void> {
    const { role, log, onEnded } = this.#options;
    this.#members.delete(worker);
    onEnded?.(worker);
    const ending = await worker.ended;
    const { id, pid, isStopRequested, hasServed, servedMs } = worker;
    if (isStopRequested && ending.code === 0) return log.info({ worker: id, pid, role }, "worker ended");
    log.error({ worker: id, pid, role, ...ending }, hasServed ? "worker died" : "worker did not start");
    if (hasServed && !isStopRequested && worker !== this.#beingReplaced) void this.#fill(servedMs);
  }

  /** Starts processes until one serves, after one that served for `servedMs`. */
  async #fill(servedMs: number): Promise<void> {
    const { signal } = this.#stopping;
    let delay = this.#backoff.delayAfter(servedMs);
    for (;;) {
      await pause(delay, signal);
      if (signal.aborted) return;
      const worker = this.#launch();
      if (await worker.ready) return;
      if (this.#isUnrecoverable(reasonOf(await worker.ended))) return;
      delay = this.#backoff.delayAfter(0);
    }
  }

  #isUnrecoverable(reason: string): boolean {
    const { size, onUnrecoverable } = this.#options;
    this.#failedStarts++;
    if (this.#failedStarts < MAX_FAILED_STARTS * size || this.serving.length > 0) return false;
    return onUnrecoverable(reason);
  }
}

/** Ends early when the signal aborts. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
  });
}

/** After this time an exit says nothing about the next process. */
const STABLE_MS = 5000;
const FIRST_MS = 100;
const LONGEST_MS = 5000;

/** How long to wait before a process is replaced. */
class Backoff {
  readonly #free: number;
  #early = 0;

  /** `free`: early exits without a wait: each worker may have one. */
  constructor(free: number) {
    this.#free = free;
  }

  /** Milliseconds to wait after a process that served for `servedMs`; 0: it did not start. */
  delayAfter(servedMs: number): number {
    this.#early = servedMs < STABLE_MS ? this.#early + 1 : 0;
    const beyond = this.#early - this.#free;
    return beyond <= 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (beyond - 1));
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../server/logger.js";
import type { ConnectionDispatcher } from "./connection-dispatcher.js";
import type { Assignment, WorkerMessage } from "./messages.js";
import { type Ending, WorkerProcess } from "./worker-process.js";

/** Failed starts in a row, per worker, after which the pool gives up. */
const MAX_FAILED_STARTS = 5;

export interface WorkerPoolOptions {
  /** For the log. */
  readonly role: Assignment["role"];
  /** Number of workers. */
  readonly size: number;
  readonly dispatcher: ConnectionDispatcher;
  /** Script of a worker process. */
  readonly script: string;
  /** For the process that starts next. */
  readonly assignment: () => Assignment;
  /** Receives the messages that do not concern connections. */
  readonly receive: (worker: WorkerProcess, message: WorkerMessage) => void;
  readonly ended: (worker: WorkerProcess) => void;
  /** Called when no worker serves and none can be started; returns whether the pool should give up. */
  readonly onUnrecoverable: (reason: string) => boolean;
  readonly log: Logger;
}

/** The result of replacing all workers one by one. */
export type RollingRestart =
  { readonly ok: true } | { readonly ok: false; readonly replaced: number; readonly detail: string };

/** The worker processes of one role: starts them, replaces those that end, and restarts them without an interruption. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #members = new Set<WorkerProcess>();
  /** Workers whose replacements are starting: if they die, they are not replaced a second time. */
  readonly #beingReplaced = new Set<WorkerProcess>();
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
    if (!up.includes(true))
      throw new Error(`No worker process starts: ${reasonOf(await workers[0]?.ended)}.`);
    for (const isUp of up) if (!isUp) void this.#fill(0);
  }

  /**
   * Replaces all workers, one at a time: the new one serves before the old one stops. Ends at the first that does not
   * start; the remaining old ones keep serving.
   */
  async restartAll(): Promise<RollingRestart> {
    let replaced = 0;
    for (const old of this.members) {
      await old.ready;
      if (old.state !== "serving" || this.#beingReplaced.has(old)) continue;
      const problem = await this.#replaceOne(old);
      if (problem !== null) return { ok: false, replaced, detail: problem };
      replaced++;
    }
    return { ok: true };
  }

  /** Stops all workers gracefully. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.members.map((worker) => worker.stop()));
  }

  /** Null, or why no new worker started; then the old one keeps serving. */
  async #replaceOne(old: WorkerProcess): Promise<string | null> {
    if (this.#stopping.signal.aborted) return "the server is stopping";
    this.#beingReplaced.add(old);
    const fresh = this.#launch();
    const isUp = await fresh.ready;
    this.#beingReplaced.delete(old);
    if (!isUp) {
      if (old.state === "ended") void this.#fill(0);
      return reasonOf(await fresh.ended);
    }
    this.#options.dispatcher.stopDispatching(old);
    await old.stop();
    return null;
  }

  #launch(): WorkerProcess {
    const { script, assignment, role, log } = this.#options;
    const worker = new WorkerProcess(script, assignment(), (from, message) => this.#receive(from, message));
    this.#members.add(worker);
    log.info({ worker: worker.id, pid: worker.pid, role }, "worker starting");
    void worker.ready.then((isUp) => isUp && this.#onReady(worker));
    void worker.ended.then((ending) => this.#onEnded(worker, ending));
    return worker;
  }

  #onReady(worker: WorkerProcess): void {
    const { dispatcher, log, role } = this.#options;
    this.#failedStarts = 0;
    dispatcher.add(worker);
    log.info({ worker: worker.id, pid: worker.pid, role }, "worker serves");
  }

  #receive(worker: WorkerProcess, message: WorkerMessage): void {
    const { dispatcher, receive } = this.#options;
    switch (message.kind) {
      case "accepted":
        dispatcher.accepted(worker, message.id);
        dispatcher.opened(worker, message.open);
        return;
      case "open":
        return dispatcher.opened(worker, message.open);
      case "leaving":
        return void this.#replace(worker);
      case "request":
      case "metrics":
        return receive(worker, message);
    }
  }

  async #replace(worker: WorkerProcess): Promise<void> {
    const isLeaving = worker.state !== "serving" || this.#beingReplaced.has(worker);
    if (isLeaving || this.#stopping.signal.aborted) return;
    const detail = await this.#replaceOne(worker);
    const { id, pid } = worker;
    if (detail !== null)
      this.#options.log.error({ worker: id, pid, detail }, "worker not replaced: it keeps serving");
  }

  #onEnded(worker: WorkerProcess, ending: Ending): void {
    const { dispatcher, role, log, ended } = this.#options;
    this.#members.delete(worker);
    dispatcher.remove(worker);
    ended(worker);
    const { id, pid, isStopRequested, hasServed, servedMs } = worker;
    if (isStopRequested && ending.code === 0) return log.info({ worker: id, pid, role }, "worker ended");
    log.error({ worker: id, pid, role, ...ending }, hasServed ? "worker died" : "worker did not start");
    if (hasServed && !isStopRequested && !this.#beingReplaced.has(worker)) void this.#fill(servedMs);
  }

  /** Starts processes until one serves, after one that served for `servedMs`. */
  async #fill(servedMs: number): Promise<void> {
    const { signal } = this.#stopping;
    let delay = this.#backoff.delayAfter(servedMs);
    for (;;) {
      if (delay > 0) await sleep(delay, null, { signal }).catch(() => null);
      if (signal.aborted) return;
      const worker = this.#launch();
      if (await worker.ready) return;
      if (this.#isUnrecoverable(await worker.ended)) return;
      delay = this.#backoff.delayAfter(0);
    }
  }

  #isUnrecoverable(ending: Ending): boolean {
    const { size, onUnrecoverable } = this.#options;
    this.#failedStarts++;
    if (this.#failedStarts < MAX_FAILED_STARTS * size || this.serving.length > 0) return false;
    return onUnrecoverable(reasonOf(ending));
  }
}

function reasonOf(ending: Ending | undefined): string {
  const { code = null, signal = null, detail = null } = ending ?? {};
  if (detail !== null) return detail;
  return signal === null ? `it ended with code ${String(code)}` : `it was ended by ${signal}`;
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

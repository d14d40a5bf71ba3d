import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../http/logger.js";
import type { ConnectionDispatcher } from "./listener.js";
import type { Assignment, News } from "./messages.js";
import { type Ending, WorkerProcess } from "./worker-process.js";

/** So often may every place fail to be filled, one after the other, before it is given up. */
const ROUNDS = 5;

export interface WorkerPoolOptions {
  /** What its workers do, for the log. */
  readonly role: Assignment["role"];
  /** How many workers there are to be. */
  readonly size: number;
  readonly front: ConnectionDispatcher;
  /** What a worker process runs. */
  readonly script: string;
  /** For the process that starts next. */
  readonly assignment: () => Assignment;
  /** Takes what a worker tells; its connections are seen to here. */
  readonly receive: (worker: WorkerProcess, news: News) => void;
  readonly ended: (worker: WorkerProcess) => void;
  /** Told when none serves and none comes up any more; returns whether that is the end. */
  readonly givesUp: (reason: string) => boolean;
  readonly log: Logger;
}

/** What came of replacing all workers one by one. */
export type Rolled =
  { readonly ok: true } | { readonly ok: false; readonly replaced: number; readonly detail: string };

/** The worker processes of one role: starts them, replaces those that end, and renews them without a gap. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #members = new Set<WorkerProcess>();
  /** Those whose successors are starting: were they to die just then, nobody else must take their places. */
  readonly #succeeded = new Set<WorkerProcess>();
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  /** Since the last one that came up. */
  #failedStarts = 0;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.size);
  }

  /** All processes that have not ended. */
  get members(): readonly WorkerProcess[] {
    return [...this.#members];
  }

  /** Those that take connections. */
  get serving(): readonly WorkerProcess[] {
    return this.members.filter(({ state }) => state === "serving");
  }

  /** Resolves once some serve. Rejects, and leaves none running, when none comes up. */
  async start(): Promise<void> {
    const workers = Array.from({ length: this.#options.size }, () => this.#launch());
    const up = await Promise.all(workers.map(({ ready }) => ready));
    if (!up.includes(true))
      throw new Error(`No worker process comes up: ${reasonOf(await workers[0]?.ended)}.`);
    for (const isUp of up) if (!isUp) void this.#fill(0);
  }

  /**
   * Renews all workers, one at a time: the next one serves before the old one leaves. Ends at the first that does not
   * come up; the old ones then go on.
   */
  async roll(): Promise<Rolled> {
    let replaced = 0;
    for (const old of this.members) {
      await old.ready;
      if (old.state !== "serving" || this.#succeeded.has(old)) continue;
      const problem = await this.#renew(old);
      if (problem !== null) return { ok: false, replaced, detail: problem };
      replaced++;
    }
    return { ok: true };
  }

  /** Lets all finish what is under way, and end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.members.map((worker) => worker.leave()));
  }

  /** Null, or why there is no new one; then the old one stays. */
  async #renew(old: WorkerProcess): Promise<string | null> {
    if (this.#stopping.signal.aborted) return "it is being stopped";
    this.#succeeded.add(old);
    const fresh = this.#launch();
    const isUp = await fresh.ready;
    this.#succeeded.delete(old);
    if (!isUp) {
      if (old.state === "ended") void this.#fill(0);
      return reasonOf(await fresh.ended);
    }
    this.#options.front.leave(old);
    await old.leave();
    return null;
  }

  #launch(): WorkerProcess {
    const { script, assignment, role, log } = this.#options;
    const worker = new WorkerProcess(script, assignment(), (from, news) => this.#hear(from, news));
    this.#members.add(worker);
    log.info({ worker: worker.id, pid: worker.pid, role }, "worker starting");
    void worker.ready.then((isUp) => isUp && this.#joined(worker));
    void worker.ended.then((ending) => this.#left(worker, ending));
    return worker;
  }

  #joined(worker: WorkerProcess): void {
    const { front, log, role } = this.#options;
    this.#failedStarts = 0;
    front.join(worker);
    log.info({ worker: worker.id, pid: worker.pid, role }, "worker serves");
  }

  #hear(worker: WorkerProcess, news: News): void {
    const { front, receive } = this.#options;
    switch (news.kind) {
      case "taken":
        front.taken(worker, news.id);
        front.opened(worker, news.open);
        return;
      case "open":
        return front.opened(worker, news.open);
      case "leaving":
        return void this.#letGo(worker);
      case "question":
      case "metrics":
        return receive(worker, news);
    }
  }

  async #letGo(worker: WorkerProcess): Promise<void> {
    const isLeaving = worker.state !== "serving" || this.#succeeded.has(worker);
    if (isLeaving || this.#stopping.signal.aborted) return;
    const detail = await this.#renew(worker);
    const { id, pid } = worker;
    if (detail !== null)
      this.#options.log.error({ worker: id, pid, detail }, "worker not replaced, it goes on");
  }

  #left(worker: WorkerProcess, ending: Ending): void {
    const { front, role, log, ended } = this.#options;
    this.#members.delete(worker);
    front.lost(worker);
    ended(worker);
    const { id, pid, wasToLeave, wasUp, servedMs } = worker;
    if (wasToLeave && ending.code === 0) return log.info({ worker: id, pid, role }, "worker ended");
    log.error({ worker: id, pid, role, ...ending }, wasUp ? "worker died" : "worker did not come up");
    if (wasUp && !wasToLeave && !this.#succeeded.has(worker)) void this.#fill(servedMs);
  }

  /** Starts processes until one comes up, in the place of one that has served for `servedMs`. */
  async #fill(servedMs: number): Promise<void> {
    const { signal } = this.#stopping;
    let delay = this.#backoff.delayAfter(servedMs);
    for (;;) {
      if (delay > 0) await sleep(delay, null, { signal }).catch(() => null);
      if (signal.aborted) return;
      const worker = this.#launch();
      if (await worker.ready) return;
      if (this.#isHopeless(await worker.ended)) return;
      delay = this.#backoff.delayAfter(0);
    }
  }

  #isHopeless(ending: Ending): boolean {
    const { size, givesUp } = this.#options;
    this.#failedStarts++;
    if (this.#failedStarts < ROUNDS * size || this.serving.length > 0) return false;
    return givesUp(reasonOf(ending));
  }
}

function reasonOf(ending: Ending | undefined): string {
  const { code = null, signal = null, detail = null } = ending ?? {};
  if (detail !== null) return detail;
  return signal === null ? `it ended with code ${String(code)}` : `it was ended by ${signal}`;
}

/** A process that has served for so long came up well: its end is no sign that the next one will end too. */
const WELL_MS = 5000;
const FIRST_MS = 100;
const LONGEST_MS = 5000;

/** How long to wait before a process that has ended is replaced. */
class Backoff {
  readonly #free: number;
  #early = 0;

  /** `free`: so many may end early before there is any wait, so that all may once. */
  constructor(free: number) {
    this.#free = free;
  }

  /** Told how long a process has served; 0: it did not come up. In milliseconds. */
  delayAfter(servedMs: number): number {
    this.#early = servedMs < WELL_MS ? this.#early + 1 : 0;
    const beyond = this.#early - this.#free;
    return beyond <= 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (beyond - 1));
  }
}

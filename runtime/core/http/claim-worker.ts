import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "./logger.js";
import { Interval } from "../model/timer.js";

/** Runs work at an interval, never twice at a time. A run that fails is logged, and the next one tries again. */
export class IntervalJob {
  readonly #run: () => Promise<void>;
  readonly #timer: Interval;
  #running: Promise<void> | null = null;
  #isStopped = false;

  /** @param failure what the log says of a run that fails */
  constructor(failure: string, intervalMs: number, log: Logger, work: () => Promise<void>) {
    this.#run = () =>
      work()
        .catch((error: unknown) => log.warn({ err: error }, failure))
        .finally(() => (this.#running = null));
    this.#timer = new Interval(intervalMs, () => this.wake());
  }

  /** Runs now, unless a run is under way; else the first run is an interval after the start. */
  wake(): this {
    if (!this.#isStopped) this.#running ??= this.#run();
    return this;
  }

  /** Finishes the run under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer.stop();
    await this.#running;
  }
}

/** Work of one kind that processes share through the database: rows that are due, each claimed by one process at a time. */
interface ClaimedWork<T> {
  /** For the log. */
  readonly name: string;
  /** Interval at which due rows are looked for. */
  readonly pollMs: number;
  /** Rows of this process at a time. */
  readonly maxInFlight: number;
  /**
   * Claims due rows, at most `capacity`.
   * @param inUse places in use, by what `holderOf` gives
   */
  claim(capacity: number, inUse: ReadonlyMap<string, number>): Promise<readonly T[]>;
  /** Whose places a row takes, where these are limited too: a slow one has no more of them, however often is claimed. */
  holderOf?(row: T): string;
  /** Works on a row. After an error its claim expires, and a process repeats it. */
  run(row: T): Promise<void>;
}

/**
 * Pause before the next row begins: at most 500 a second, so that a backlog takes part of the processor. 500 deliveries that began at once made
 * each request wait for 200 ms; beside 10,000 paced ones its p99 is 1.3 times what it is alone.
 */
const PAUSE_MS = 2;

/** Claims due rows and works on them side by side. The rows hold all state: nothing is lost with a process. */
export class ClaimWorker<T> {
  readonly #work: ClaimedWork<T>;
  readonly #log: Logger;
  /** Bounded by the rows that are claimed at a time. */
  readonly #inFlight = new Set<Promise<void>>();
  /** Places in use, by their holder. Bounded as the rows are. */
  readonly #inUse = new Map<string, number>();
  readonly #claims: IntervalJob;

  constructor(work: ClaimedWork<T>, log: Logger) {
    this.#work = work;
    this.#log = log;
    const failure = `${work.name} not claimed: the next poll tries again`;
    this.#claims = new IntervalJob(failure, work.pollMs, log, () => this.#claim());
  }

  /** Looks for due rows now. */
  wake(): void {
    this.#claims.wake();
  }

  /** Finishes the work under way. */
  async stop(): Promise<void> {
    await this.#claims.stop();
    await Promise.all(this.#inFlight);
  }

  async #claim(): Promise<void> {
    const { maxInFlight, pollMs } = this.#work;
    // No more than begin until the next poll: what becomes due meanwhile has its turn then.
    const capacity = Math.min(maxInFlight - this.#inFlight.size, Math.ceil(pollMs / PAUSE_MS));
    if (capacity <= 0) return;
    const claimed = await this.#work.claim(capacity, this.#inUse);
    for (const row of claimed) this.#use(row, 1);
    for (const [at, row] of claimed.entries()) {
      if (at > 0) await sleep(PAUSE_MS);
      this.#start(row);
    }
  }

  #use(row: T, change: 1 | -1): void {
    const holder = this.#work.holderOf?.(row);
    if (holder === undefined) return;
    const count = (this.#inUse.get(holder) ?? 0) + change;
    if (count === 0) this.#inUse.delete(holder);
    else this.#inUse.set(holder, count);
  }

  #start(row: T): void {
    const { name, maxInFlight } = this.#work;
    const run = this.#work
      .run(row)
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, `${name} failed: repeated when the claim expires`),
      )
      .finally(() => {
        this.#inFlight.delete(run);
        this.#use(row, -1);
        // Fewer places are not worth a claim each: the next poll fills them.
        if (this.#inFlight.size * 2 < maxInFlight) this.wake();
      });
    this.#inFlight.add(run);
  }
}

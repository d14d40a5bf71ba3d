import type { Logger } from "../../core/http/logger.js";
import { Interval } from "../../core/model/timer.js";

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
  /** Claims due rows, at most `capacity`. */
  claim(capacity: number): Promise<readonly T[]>;
  /** Works on a row. After an error its claim expires, and a process repeats it. */
  run(row: T): Promise<void>;
}

/** Claims due rows and works on them side by side. The rows hold all state: nothing is lost with a process. */
export class ClaimWorker<T> {
  readonly #work: ClaimedWork<T>;
  readonly #log: Logger;
  /** Bounded by the rows that are claimed at a time. */
  readonly #inFlight = new Set<Promise<void>>();
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
    const { name, maxInFlight } = this.#work;
    const capacity = maxInFlight - this.#inFlight.size;
    if (capacity <= 0) return;
    for (const row of await this.#work.claim(capacity)) {
      const run = this.#work
        .run(row)
        .catch((error: unknown) =>
          this.#log.warn({ err: error }, `${name} failed: repeated when the claim expires`),
        )
        .finally(() => {
          this.#inFlight.delete(run);
          this.wake();
        });
      this.#inFlight.add(run);
    }
  }
}

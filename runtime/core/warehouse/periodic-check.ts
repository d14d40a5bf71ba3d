import { Interval } from "../model/timer.js";

/**
 * Runs a check at an interval, from `start` on until it finds nothing left to check: an idle server has no timer. Ten checks a
 * second of each pool and queue took 3 ms of processor time of every second without this.
 */
export class PeriodicCheck {
  readonly #intervalMs: number;
  readonly #check: () => boolean;
  #timer: Interval | null = null;
  #isClosed = false;

  /** `check` returns whether something is left to check. */
  constructor(intervalMs: number, check: () => boolean) {
    this.#intervalMs = intervalMs;
    this.#check = check;
  }

  start(): void {
    if (this.#isClosed) return;
    // Results that arrived while the event loop was blocked are read before they are checked.
    this.#timer ??= new Interval(this.#intervalMs, () => void setImmediate(() => this.#run())).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #run(): void {
    if (!this.#isClosed && !this.#check()) this.#stop();
  }

  #stop(): void {
    this.#timer?.stop();
    this.#timer = null;
  }
}

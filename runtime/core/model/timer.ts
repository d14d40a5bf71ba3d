/** The longest time of Node's timers, 24.8 days: a longer one ends at once. */
const MAX_MS = 2 ** 31 - 1;

/** A timer of a computed time, of any length. Lint refuses Node's own for them. */
export class Timer {
  readonly #act: () => void;
  #left: number;
  #isUnref = false;
  #timer: NodeJS.Timeout;

  constructor(milliseconds: number, act: () => void) {
    this.#act = act;
    this.#left = milliseconds;
    this.#timer = this.#next();
  }

  /** The process may end before it. */
  unref(): this {
    this.#isUnref = true;
    this.#timer.unref();
    return this;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #next(): NodeJS.Timeout {
    const part = Math.min(this.#left, MAX_MS);
    this.#left -= part;
    const timer = setTimeout(() => {
      if (this.#left > 0) this.#timer = this.#next();
      else this.#act();
    }, part);
    return this.#isUnref ? timer.unref() : timer;
  }
}

/** Runs again and again, with a computed time between, until it is stopped. */
export class Interval {
  #timer: Timer;
  #isUnref = false;

  constructor(milliseconds: number, act: () => void) {
    const next = (): Timer =>
      new Timer(milliseconds, () => {
        this.#timer = this.#isUnref ? next().unref() : next();
        act();
      });
    this.#timer = next();
  }

  /** The process may end while it runs. */
  unref(): this {
    this.#isUnref = true;
    this.#timer.unref();
    return this;
  }

  stop(): void {
    this.#timer.stop();
  }
}

/** Waits a computed time. Rejects with the reason of the signal where that ends it. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const end = (): void => {
      timer.stop();
      reject(signal?.reason as Error);
    };
    const timer = new Timer(milliseconds, () => {
      signal?.removeEventListener("abort", end);
      resolve();
    });
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** What `make` makes now, for all who ask meanwhile. */
export function shared<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let pending: Promise<Value> | null = null;
  return () => (pending ??= make().finally(() => (pending = null)));
}

const RECENT_MS = 1000;

/**
 * What `make` makes now, or has made within a second, for all callers: of what costs something and is asked for without a limit, such
 * as a check of the database for `/health`.
 */
export function recent<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let kept: Promise<Value> | null = null;
  let until = Infinity;
  return () => {
    if (kept === null || performance.now() >= until) {
      until = Infinity;
      kept = make();
      kept.then(
        () => (until = performance.now() + RECENT_MS),
        () => (kept = null),
      );
    }
    return kept;
  };
}

/** A wait for an answer has as many parts. */
const PARTS = 20;

/**
 * A signal that is aborted with a `TimeoutError` after a computed time. The time in which this process is busy and reads nothing does not
 * count, but for a part: answers that have come meanwhile are read before the next part begins.
 */
export function signalAfter(milliseconds: number): AbortSignal {
  const controller = new AbortController();
  const wait = (parts: number): void => {
    if (parts > 0) new Timer(milliseconds / PARTS, () => void setImmediate(wait, parts - 1)).unref();
    else controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  };
  wait(PARTS);
  return controller.signal;
}

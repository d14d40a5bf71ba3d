import { hash, randomBytes } from "node:crypto";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";

/** Snapshot of a caller's window. */
export interface RateWindow {
  /** Requests counted so far, including this one. Above the limit the request is refused. */
  readonly count: number;
  /** When the window ends, in milliseconds since 1970. */
  readonly resetAt: number;
}

/** Counts requests in fixed windows. A store in memory returns the window itself: a promise costs more than counting. */
export interface RateLimitStore {
  /** Counts one request of the caller `name`, opening a window if none is open. */
  hit(name: string): RateWindow | Promise<RateWindow>;
  /** The caller's window, without counting a request. */
  peek(name: string): RateWindow | Promise<RateWindow>;
  /** Why the store is degraded, as a sentence for `/health`; null while it is not. */
  readonly degraded: string | null;
  close(): void;
}

/** A store shared by all processes. Its promises reject while it is unreachable. */
export interface SharedStore extends RateLimitStore {
  hit(name: string): Promise<RateWindow>;
  peek(name: string): Promise<RateWindow>;
  /** Resolves once the store counts; rejects with the reason, within about a second, when it does not. */
  probe(): Promise<void>;
}

interface OpenWindow {
  count: number;
  readonly resetAt: number;
}

/** Frequent, so that each sweep is short: deleting 100,000 windows at once would block the event loop. */
const SWEEP_MS = 1000;

/** Past this many windows anonymous callers share some. One takes about 160 bytes: 16 MB in all. */
export const MAX_WINDOWS = 100_000;

/** Callers with a valid key or project. Their number is bounded, so they always have windows of their own. */
const IDENTIFIED_CALLER = /^(key|project):/;

/**
 * Counts windows in this process. An open window is never evicted, so a flood of addresses cannot reset a limit. Past
 * `MAX_WINDOWS` anonymous callers share windows, which bounds the memory.
 */
export class MemoryStore implements RateLimitStore {
  readonly degraded = null;
  readonly #windows = new Map<string, OpenWindow>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #now: () => number;
  #overflow: OverflowWindows | null = null;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  hit(name: string): RateWindow {
    const now = this.#now();
    const open = this.#windows.get(name);
    if (open && open.resetAt > now) {
      return { count: ++open.count, resetAt: open.resetAt };
    }
    return this.#hitShared(name, now) ?? this.#open(name, now);
  }

  peek(name: string): RateWindow {
    const now = this.#now();
    const open = this.#windows.get(name);
    if (open && open.resetAt > now) return { count: open.count, resetAt: open.resetAt };
    return this.#peekShared(name, now) ?? { count: 0, resetAt: now + WINDOW_MS };
  }

  /** Number of windows, without the shared ones. */
  get size(): number {
    return this.#windows.size;
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  #open(name: string, now: number): RateWindow {
    // Deleting first keeps the map in order of `resetAt`, which the sweep relies on.
    this.#windows.delete(name);
    const resetAt = now + WINDOW_MS;
    this.#windows.set(name, { count: 1, resetAt });
    return { count: 1, resetAt };
  }

  /** Null when the caller gets a window of its own: only after the shared one it may be counted in has ended. */
  #hitShared(name: string, now: number): RateWindow | null {
    const isFull = this.#windows.size >= MAX_WINDOWS && !this.#windows.has(name);
    if (isFull && !IDENTIFIED_CALLER.test(name)) this.#overflow ??= new OverflowWindows();
    else if (!this.#peekShared(name, now)) return null;
    return this.#overflow?.hit(name, now) ?? null;
  }

  #peekShared(name: string, now: number): RateWindow | null {
    return this.#overflow && !IDENTIFIED_CALLER.test(name) ? this.#overflow.peek(name, now) : null;
  }

  #sweep(): void {
    const now = this.#now();
    if (!this.#overflow?.isInUse(now)) this.#overflow = null;
    for (const [name, window] of this.#windows) {
      if (isAhead(window.resetAt, now)) return;
      this.#windows.delete(name);
    }
  }
}

const WINDOW_MS = RATE_WINDOW_SECONDS * 1000;

/**
 * 3 MB for any number of callers. At 25,000 requests/s, each from a new address, a window counts 6 requests a minute: too
 * few to use up the limit of a regular caller.
 */
const WINDOWS = 2 ** 18;

/**
 * A fixed number of windows for callers past the memory bound, each shared by all callers whose names have the same hash.
 * A caller's count may include requests of others, but no caller gets more than its limit.
 */
class OverflowWindows {
  readonly #counts = new Uint32Array(WINDOWS);
  readonly #resetAts = new Float64Array(WINDOWS);
  /** Keeps callers from choosing names that share a window. */
  readonly #secret = randomBytes(16).toString("base64");
  #lastResetAt = 0;

  hit(name: string, now: number): RateWindow {
    const index = this.#indexOf(name);
    if (!this.#isOpen(index, now)) {
      this.#counts[index] = 0;
      this.#lastResetAt = this.#resetAts[index] = now + WINDOW_MS;
    }
    const count = (this.#counts[index] ?? 0) + 1;
    this.#counts[index] = count;
    return { count, resetAt: this.#resetAts[index] ?? 0 };
  }

  /** Null when the caller has no open window here. */
  peek(name: string, now: number): RateWindow | null {
    const index = this.#indexOf(name);
    if (!this.#isOpen(index, now)) return null;
    return { count: this.#counts[index] ?? 0, resetAt: this.#resetAts[index] ?? 0 };
  }

  /** Whether any window is open. */
  isInUse(now: number): boolean {
    return isAhead(this.#lastResetAt, now);
  }

  #indexOf(name: string): number {
    return hash("sha256", this.#secret + name, "buffer").readUInt32LE() % WINDOWS;
  }

  #isOpen(index: number, now: number): boolean {
    return isAhead(this.#resetAts[index] ?? 0, now);
  }
}

/** A reset more than one window away means that the clock has been set back since: the window counts as ended. */
function isAhead(resetAt: number, now: number): boolean {
  return resetAt > now && resetAt <= now + WINDOW_MS;
}

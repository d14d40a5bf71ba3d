import type { RateWindow } from "../../model/caller.js";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import { WindowTable } from "./window-table.js";

/** Whole seconds until a window ends, at least one: the `Retry-After` of a 429. */
export function secondsLeft({ resetAt }: RateWindow): number {
  return Math.max(1, Math.ceil((resetAt - Date.now()) / 1000));
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

export const WINDOW_MS = RATE_WINDOW_SECONDS * 1000;

/** Frequent, so that each sweep is short: deleting 100,000 windows at once would block the event loop. */
const SWEEP_MS = 1000;

/** Past this many windows anonymous callers share some. */
export const MAX_WINDOWS = 100_000;

/**
 * Shared windows. At 25,000 requests/s, each from a new address, one counts 23 requests a minute: too few to use up the
 * limit of a regular caller.
 */
const SHARED_WINDOWS = 2 ** 16;

/** Callers with a valid key or project. Their number is bounded, so they always have windows of their own. */
const IDENTIFIED_CALLER = /^(key|project):/;

/**
 * Counts windows in this process. Against floods of addresses (a million took 559 MB in the library's store, 5 here)
 * anonymous callers past `MAX_WINDOWS` share windows by the hash of their name. An open window is never evicted and a
 * caller stays in its window until that ends: a flood resets no limit, and no caller gets more than its own.
 */
export class MemoryStore implements RateLimitStore {
  readonly degraded = null;
  /** Bounded by the keys and projects of a minute; names are ids of at most 45 characters. */
  readonly #identified = new Map<string, { count: number; readonly resetAt: number }>();
  readonly #anonymous = new WindowTable(MAX_WINDOWS);
  readonly #sharedCounts = new Uint32Array(SHARED_WINDOWS);
  readonly #sharedResets = new Float64Array(SHARED_WINDOWS);
  readonly #sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  readonly #now: () => number;
  /** When the last shared window ends. */
  #sharedUntil = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  hit(caller: string): RateWindow {
    return this.#count(caller, 1);
  }

  peek(caller: string): RateWindow {
    return this.#count(caller, 0);
  }

  /** Number of windows that have not been swept. */
  get size(): number {
    const now = this.#now();
    const shared = this.#sharedResets.reduce((sum, resetAt) => sum + Number(isAhead(resetAt, now)), 0);
    return this.#identified.size + this.#anonymous.size + shared;
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  #count(caller: string, requests: 0 | 1): RateWindow {
    const now = this.#now();
    return IDENTIFIED_CALLER.test(caller)
      ? this.#countIdentified(caller, requests, now)
      : this.#countAnonymous(caller, requests, now);
  }

  #countIdentified(caller: string, requests: 0 | 1, now: number): RateWindow {
    const open = this.#identified.get(caller);
    if (open && isAhead(open.resetAt, now)) {
      open.count += requests;
      return { count: open.count, resetAt: open.resetAt };
    }
    const resetAt = now + WINDOW_MS;
    if (requests === 0) return { count: 0, resetAt };
    // Deleting first keeps the map in order of `resetAt`, which the sweep relies on.
    this.#identified.delete(caller);
    this.#identified.set(caller, { count: 1, resetAt });
    return { count: 1, resetAt };
  }

  /** In a window of its own; where there is no room, and until its shared window ends, in a shared one. */
  #countAnonymous(caller: string, requests: 0 | 1, now: number): RateWindow {
    const windows = this.#anonymous;
    const digest = windows.digestOf(caller);
    const own = windows.find(digest);
    if (own !== null && isAhead(windows.resetAt(own), now)) {
      const count = requests === 0 ? windows.count(own) : windows.increment(own);
      return { count, resetAt: windows.resetAt(own) };
    }
    const isShared = isAhead(this.#sharedUntil, now) && this.#sharedCount(digest.high, now) > 0;
    if (isShared || windows.isFull) return this.#countShared(digest.high, requests, now);
    const resetAt = now + WINDOW_MS;
    if (requests === 1) windows.add(digest, resetAt);
    return { count: requests, resetAt };
  }

  #countShared(digest: number, requests: 0 | 1, now: number): RateWindow {
    const place = digest % SHARED_WINDOWS;
    const open = this.#sharedCount(digest, now);
    const resetAt = open > 0 ? (this.#sharedResets[place] ?? 0) : now + WINDOW_MS;
    if (requests === 0) return { count: open, resetAt };
    if (open === 0) this.#sharedUntil = resetAt;
    this.#sharedCounts[place] = open + 1;
    this.#sharedResets[place] = resetAt;
    return { count: open + 1, resetAt };
  }

  /** Requests in an open shared window. */
  #sharedCount(digest: number, now: number): number {
    const place = digest % SHARED_WINDOWS;
    return isAhead(this.#sharedResets[place] ?? 0, now) ? (this.#sharedCounts[place] ?? 0) : 0;
  }

  #sweep(): void {
    const now = this.#now();
    this.#anonymous.sweep((resetAt) => isAhead(resetAt, now));
    for (const [name, { resetAt }] of this.#identified) {
      if (isAhead(resetAt, now)) return;
      this.#identified.delete(name);
    }
  }
}

/** A reset more than one window away means that the clock has been set back since: the window counts as ended. */
function isAhead(resetAt: number, now: number): boolean {
  return resetAt > now && resetAt <= now + WINDOW_MS;
}

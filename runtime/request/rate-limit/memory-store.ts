import { hash, randomBytes } from "node:crypto";
import type { RateWindow } from "../../model/caller.js";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";

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

/** Past this many windows anonymous callers share some. One takes about 160 bytes: 27 MB with the shared ones. */
export const MAX_WINDOWS = 100_000;

/**
 * Shared windows. At 25,000 requests/s, each from a new address, one counts 23 requests a minute: too few to use up the
 * limit of a regular caller.
 */
const SHARED_WINDOWS = 2 ** 16;

/** Callers with a valid key or project. Their number is bounded, so they always have windows of their own. */
const IDENTIFIED_CALLER = /^(key|project):/;

/**
 * Counts windows in this process. Against floods of addresses (a million took 559 MB in the library's store, 117 here)
 * anonymous callers past `MAX_WINDOWS` share windows by the hash of their name. An open window is never evicted and a
 * caller stays in its window until that ends: a flood resets no limit, and no caller gets more than its own.
 */
export class MemoryStore implements RateLimitStore {
  readonly degraded = null;
  readonly #windows = new Map<string, { count: number; readonly resetAt: number }>();
  readonly #sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  readonly #now: () => number;
  /** Keeps callers from choosing names that share a window. */
  readonly #secret = randomBytes(16).toString("base64");
  /** When the last shared window ends. */
  #sharedUntil = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  hit(caller: string): RateWindow {
    const now = this.#now();
    const name = this.#windowOf(caller, now);
    const open = this.#open(name, now);
    if (open) return { count: ++open.count, resetAt: open.resetAt };
    const resetAt = now + WINDOW_MS;
    if (name !== caller) this.#sharedUntil = resetAt;
    // Deleting first keeps the map in order of `resetAt`, which the sweep relies on.
    this.#windows.delete(name);
    this.#windows.set(name, { count: 1, resetAt });
    return { count: 1, resetAt };
  }

  peek(caller: string): RateWindow {
    const now = this.#now();
    const open = this.#open(this.#windowOf(caller, now), now);
    return { count: open?.count ?? 0, resetAt: open?.resetAt ?? now + WINDOW_MS };
  }

  /** Number of windows. */
  get size(): number {
    return this.#windows.size;
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  /** The name of the window that counts a caller: its own, or a shared one. */
  #windowOf(caller: string, now: number): string {
    const isFull = this.#windows.size >= MAX_WINDOWS;
    if (!isFull && !isAhead(this.#sharedUntil, now)) return caller;
    if (IDENTIFIED_CALLER.test(caller) || this.#open(caller, now)) return caller;
    const digest = hash("sha256", this.#secret + caller, "buffer").readUInt32LE();
    const shared = `shared:${String(digest % SHARED_WINDOWS)}`;
    return isFull || this.#open(shared, now) ? shared : caller;
  }

  #open(name: string, now: number): { count: number; readonly resetAt: number } | undefined {
    const window = this.#windows.get(name);
    return window && isAhead(window.resetAt, now) ? window : undefined;
  }

  #sweep(): void {
    const now = this.#now();
    for (const [name, { resetAt }] of this.#windows) {
      if (isAhead(resetAt, now)) return;
      this.#windows.delete(name);
    }
  }
}

/** A reset more than one window away means that the clock has been set back since: the window counts as ended. */
function isAhead(resetAt: number, now: number): boolean {
  return resetAt > now && resetAt <= now + WINDOW_MS;
}

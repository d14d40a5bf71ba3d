import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import { isAhead, OverflowWindows } from "./overflow-windows.js";
import type { RateLimitStore, RateWindow } from "./store.js";

interface OpenWindow {
  count: number;
  readonly resetAt: number;
}

const WINDOW_MS = RATE_WINDOW_SECONDS * 1000;

/** Often, so that each sweep is short: 100,000 windows at once hold everybody up. */
const SWEEP_MS = 1000;

/** Windows of their own that strangers have before they share some; one takes about 160 bytes, so 16 MB. */
export const MAX_WINDOWS = 100_000;

/** Callers that were let in by name: there are only so many, and no flood of strangers touches their windows. */
const LET_IN = /^(key|project):/;

/**
 * Counts windows in this process. A window that is open is never given up, so a flood of addresses gains nobody a
 * request; past `MAX_WINDOWS` strangers share windows instead, which bounds the memory.
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

  look(name: string): RateWindow {
    const now = this.#now();
    const open = this.#windows.get(name);
    if (open && open.resetAt > now) return { count: open.count, resetAt: open.resetAt };
    return this.#lookShared(name, now) ?? { count: 0, resetAt: now + WINDOW_MS };
  }

  /** How many windows callers have of their own. */
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

  /** Null when the caller gets a window of its own: not before a shared one that it may be in has ended. */
  #hitShared(name: string, now: number): RateWindow | null {
    const isFull = this.#windows.size >= MAX_WINDOWS && !this.#windows.has(name);
    if (isFull && !LET_IN.test(name)) this.#overflow ??= new OverflowWindows();
    else if (!this.#lookShared(name, now)) return null;
    return this.#overflow?.hit(name, now) ?? null;
  }

  #lookShared(name: string, now: number): RateWindow | null {
    return this.#overflow && !LET_IN.test(name) ? this.#overflow.look(name, now) : null;
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

import { RATE_WINDOW_SECONDS } from "./limits.js";
import type { RateLimitStore, RateWindow } from "./store.js";

interface OpenWindow {
  count: number;
  readonly resetAt: number;
}

const WINDOW_MS = RATE_WINDOW_SECONDS * 1000;

/** Counts windows in this process. Windows that have ended are swept, so memory follows the callers of one window. */
export class MemoryStore implements RateLimitStore {
  readonly #windows = new Map<string, OpenWindow>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#sweeper = setInterval(() => this.#sweep(), WINDOW_MS).unref();
  }

  hit(key: string): RateWindow {
    const now = this.#now();
    const open = this.#windows.get(key);
    if (open && open.resetAt > now) {
      open.count++;
      return open;
    }
    // Deleting first keeps the map in order of `resetAt`, which the sweep relies on.
    this.#windows.delete(key);
    const window = { count: 1, resetAt: now + WINDOW_MS };
    this.#windows.set(key, window);
    return window;
  }

  look(key: string): RateWindow {
    const now = this.#now();
    const open = this.#windows.get(key);
    return open && open.resetAt > now ? open : { count: 0, resetAt: now + WINDOW_MS };
  }

  /** How many callers are held. */
  get size(): number {
    return this.#windows.size;
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  #sweep(): void {
    const now = this.#now();
    for (const [key, window] of this.#windows) {
      if (window.resetAt > now) return;
      this.#windows.delete(key);
    }
  }
}

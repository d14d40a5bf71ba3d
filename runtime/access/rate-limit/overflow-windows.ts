import { hash, randomBytes } from "node:crypto";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import type { RateWindow } from "./store.js";

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
export class OverflowWindows {
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
export function isAhead(resetAt: number, now: number): boolean {
  return resetAt > now && resetAt <= now + WINDOW_MS;
}

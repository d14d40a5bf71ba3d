import { hash, randomBytes } from "node:crypto";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import type { RateWindow } from "./store.js";

const WINDOW_MS = RATE_WINDOW_SECONDS * 1000;

/**
 * 3 MB, however many callers share them. A server that takes 25,000 requests/s, each from an address it has never seen,
 * counts 6 requests in each within a minute: too few to use up the window of somebody honest.
 */
const WINDOWS = 2 ** 18;

/**
 * Windows for the callers that there is no memory for: a fixed number, each shared by all callers whose names have the
 * same hash. A caller may be told of others' requests as its own, but never gets more than its limit.
 */
export class OverflowWindows {
  readonly #counts = new Uint32Array(WINDOWS);
  readonly #resetAts = new Float64Array(WINDOWS);
  /** Without it nobody can choose names that share a window. */
  readonly #secret = randomBytes(16).toString("base64");
  #lastResetAt = 0;

  hit(name: string, now: number): RateWindow {
    const place = this.#placeOf(name);
    if (!this.#isOpen(place, now)) {
      this.#counts[place] = 0;
      this.#lastResetAt = this.#resetAts[place] = now + WINDOW_MS;
    }
    const count = (this.#counts[place] ?? 0) + 1;
    this.#counts[place] = count;
    return { count, resetAt: this.#resetAts[place] ?? 0 };
  }

  /** Null when the caller has no window open here. */
  look(name: string, now: number): RateWindow | null {
    const place = this.#placeOf(name);
    if (!this.#isOpen(place, now)) return null;
    return { count: this.#counts[place] ?? 0, resetAt: this.#resetAts[place] ?? 0 };
  }

  /** Whether any window is open. */
  isInUse(now: number): boolean {
    return isAhead(this.#lastResetAt, now);
  }

  #placeOf(name: string): number {
    return hash("sha256", this.#secret + name, "buffer").readUInt32LE() % WINDOWS;
  }

  #isOpen(place: number, now: number): boolean {
    return isAhead(this.#resetAts[place] ?? 0, now);
  }
}

/** An end that is further away than a window is long was told by a clock that has been set back since. */
export function isAhead(resetAt: number, now: number): boolean {
  return resetAt > now && resetAt <= now + WINDOW_MS;
}

/** The pause after the first start of a row, which doubles with each one, and its longest. */
const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/** A server that has been up for so long is sound: when it ends, that's the first time. */
const SOUND_MS = 60_000;

/**
 * When the server may be started again, one after the other: the first time at once, then after pauses. A server that
 * comes up and soon ends again gets them too.
 */
export class Pace {
  #pauseMs = FIRST_MS;
  #next = 0;
  #up = 0;

  /** Times in milliseconds of one clock. */
  isDue(now: number): boolean {
    return now >= this.#next;
  }

  started(now: number): void {
    this.#next = now + this.#pauseMs;
    this.#pauseMs = Math.min(LONGEST_MS, 2 * this.#pauseMs);
  }

  cameUp(now: number): void {
    this.#up = now;
  }

  ended(now: number): void {
    if (now - this.#up < SOUND_MS) return;
    this.#pauseMs = FIRST_MS;
    this.#next = 0;
  }
}

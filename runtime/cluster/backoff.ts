/** A process that has served for so long came up well: its end is no sign that the next one will end too. */
const WELL_MS = 5000;
const FIRST_MS = 100;
const LONGEST_MS = 5000;

/** How long to wait before a process that has ended is replaced. */
export class Backoff {
  readonly #free: number;
  #early = 0;

  /** `free`: so many may end early before there is any wait, so that all may once. */
  constructor(free: number) {
    this.#free = free;
  }

  /** Told how long a process has served; 0: it did not come up. In milliseconds. */
  delayAfter(servedMs: number): number {
    this.#early = servedMs < WELL_MS ? this.#early + 1 : 0;
    const beyond = this.#early - this.#free;
    return beyond <= 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (beyond - 1));
  }
}

/** Share of a later, longer time that counts. */
const SHARE = 0.2;

/**
 * How far away a server is: the time of a round trip, out of many measured ones. Whatever is in the way only makes one
 * longer, so a shorter one counts at once and longer ones little by little.
 */
export class Latency {
  #milliseconds = Infinity;

  /** Infinity before the first measurement. */
  get milliseconds(): number {
    return this.#milliseconds;
  }

  measured(milliseconds: number): void {
    const isNearer = milliseconds < this.#milliseconds;
    this.#milliseconds = isNearer
      ? milliseconds
      : this.#milliseconds + SHARE * (milliseconds - this.#milliseconds);
  }
}

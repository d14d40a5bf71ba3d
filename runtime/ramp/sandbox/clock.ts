import { Timer } from "@routewright/runtime/internal/core/model/timer.js";

interface Deadline {
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly act: () => void;
}

/** The sandbox's clock: the machine's, until it is moved ahead. What has become due by then happens at once, in its order. */
export class SandboxClock {
  #ahead = 0;
  /** In their order. Bounded by what is under way in the sandbox. */
  readonly #deadlines: Deadline[] = [];
  /** Ends with the first deadline. */
  #timer: Timer | null = null;

  now(): Date {
    return new Date(this.#now());
  }

  after(milliseconds: number, act: () => void): void {
    const at = this.#now() + milliseconds;
    const place = this.#placeOf(at);
    this.#deadlines.splice(place, 0, { at, act });
    if (place === 0) this.#wait();
  }

  advance(milliseconds: number): void {
    const end = this.#now() + milliseconds;
    this.#reachUntil(end);
    this.#moveTo(end);
    this.#wait();
  }

  #now(): number {
    return Date.now() + this.#ahead;
  }

  #moveTo(time: number): void {
    this.#ahead += Math.max(time - this.#now(), 0);
  }

  /** What a deadline does can set new ones before the end. */
  #reachUntil(end: number): void {
    for (let first; (first = this.#deadlines[0]) !== undefined && first.at <= end;) {
      this.#deadlines.shift();
      this.#moveTo(first.at);
      first.act();
    }
  }

  #wait(): void {
    this.#timer?.stop();
    const [first] = this.#deadlines;
    this.#timer =
      first === undefined ? null : new Timer(Math.max(first.at - this.#now(), 0), this.#due).unref();
  }

  readonly #due = (): void => {
    this.#reachUntil(this.#now());
    this.#wait();
  };

  /** Where a deadline stands: behind those of the same time. */
  #placeOf(at: number): number {
    let [from, to] = [0, this.#deadlines.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#deadlines[middle]?.at ?? 0) <= at) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

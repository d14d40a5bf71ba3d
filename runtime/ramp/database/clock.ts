/** The database's time, in milliseconds since 1970, read between two times of this process's monotonic clock. */
export interface ClockReading {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

/** Monotonic clocks of two machines drift apart by less than this part of the time that passes. */
const DRIFT = 0.001;

/** The database's clock: its last reading, carried on by this process's monotonic clock. */
export class DatabaseClock {
  #reading: ClockReading;

  constructor(reading: ClockReading) {
    this.#reading = reading;
  }

  now(): Date {
    return new Date(this.#at(performance.now()));
  }

  /** Goes on from a reading that is tighter than the last one, or that contradicts it. */
  adopt(reading: ClockReading): void {
    const width = reading.after - reading.before;
    const middle = (reading.before + reading.after) / 2;
    const known = this.#reading.after - this.#reading.before + DRIFT * (middle - this.#reading.after);
    const isOther = Math.abs(this.#at(middle) - reading.at) > (width + known) / 2;
    if (width <= known || isOther) this.#reading = reading;
  }

  #at(monotonic: number): number {
    const { at, before, after } = this.#reading;
    return at + monotonic - (before + after) / 2;
  }
}

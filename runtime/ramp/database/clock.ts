/** The database's time, in milliseconds since 1970, read between two times of this process's monotonic clock. */
export interface ClockReading {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

/** A reading, and the sum of the jumps recorded by then, in milliseconds. */
export interface JumpReading extends ClockReading {
  readonly recorded: number;
}

/** Monotonic clocks of two machines drift apart by less than this part of the time that passes. */
const DRIFT = 0.001;

/** The database's clock: its last reading, carried on by this process's monotonic clock. */
export class DatabaseClock {
  #reading: ClockReading;
  /** Sum of the jumps in its time, in milliseconds; null until a reading says. */
  #jumps: number | null = null;

  constructor(reading: ClockReading) {
    this.#reading = reading;
  }

  /**
   * The time, moved by the jumps that are recorded and not noticed here: the deadlines in the database have moved by them. Without it
   * an order was looked up 90 times in the second until a server noticed a jump of -1 day, or a day later.
   */
  now(recorded = this.#jumps): Date {
    const unnoticed = (recorded ?? 0) - (this.#jumps ?? recorded ?? 0);
    return new Date(this.#at(performance.now()) + unnoticed);
  }

  /** Goes on from a reading that is tighter than the last one, or that contradicts it. */
  adopt(reading: JumpReading): void {
    this.#jumps = reading.recorded;
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

/** The database's time, in milliseconds since 1970, read between two times of this process's monotonic clock. */
export interface ClockReading {
  readonly at: number;
  /** Sum of the jumps recorded by then, in milliseconds. */
  readonly recorded: number;
  readonly before: number;
  readonly after: number;
}

/** The sum of the jumps recorded so far, in milliseconds, as SQL. */
export const RECORDED_JUMPS = "(SELECT COALESCE(sum(milliseconds), 0)::float8 FROM ramp.clock_jumps)";

/** Monotonic clocks of two machines drift apart by less than this part of the time that passes. */
const DRIFT = 0.001;

/** The database's clock: its last reading, carried on by this process's monotonic clock. */
export class DatabaseClock {
  #reading: ClockReading;
  /** Sum of the jumps in its time, in milliseconds. */
  #jumps: number;

  constructor(reading: ClockReading) {
    this.#reading = reading;
    this.#jumps = reading.recorded;
  }

  /** Sum of the jumps that are noticed here, in milliseconds. */
  get recorded(): number {
    return this.#jumps;
  }

  /**
   * The time, moved by the jumps that are recorded and not noticed here: the deadlines in the database have moved by them. Without it
   * an order was looked up 90 times in the second until a server noticed a jump of -1 day, or a day later.
   */
  now(recorded = this.#jumps): Date {
    return new Date(this.#at(performance.now()) + recorded - this.#jumps);
  }

  /** Goes on from a reading that is tighter than the last one, or that contradicts it. */
  adopt(reading: ClockReading): void {
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

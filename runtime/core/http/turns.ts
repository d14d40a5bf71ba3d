/** Lets so many do their work at a time; the others wait, in their order. */
export class Turns {
  readonly #atOnce: number;
  #free: number;
  /** Bounded by its callers: each has a request of its own. */
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#atOnce = this.#free = atOnce;
  }

  get isIdle(): boolean {
    return this.#free === this.#atOnce;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/**
 * Runs one task at a time. A call that arrives while one runs may be about something newer than that run has seen: all
 * such share the run behind it.
 */
export class SingleFlight<T> {
  readonly #task: () => Promise<T>;
  #running: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  /** `task` must never reject. */
  constructor(task: () => Promise<T>) {
    this.#task = task;
  }

  run(): Promise<T> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<T> {
    this.#next = null;
    this.#running = this.#task().finally(() => (this.#running = null));
    return this.#running;
  }
}

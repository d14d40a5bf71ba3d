/**
 * Runs one task at a time. All calls during a run share one further run, since the current run may have read older data.
 */
export class CoalescingRunner<T> {
  readonly #task: () => Promise<T>;
  #last: Promise<unknown> = Promise.resolve();
  /** The run that has not begun. */
  #next: Promise<T> | null = null;

  constructor(task: () => Promise<T>) {
    this.#task = task;
  }

  run(): Promise<T> {
    const start = (): Promise<T> => {
      this.#next = null;
      return this.#task();
    };
    this.#next ??= this.#last.then(start, start);
    return (this.#last = this.#next);
  }
}

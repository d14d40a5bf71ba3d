/** Questions to another process that wait for their answers. */
export class Questions {
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #last = 0;

  /** `send` sends the question with its id. Whoever asks knows what kind of value is the answer. */
  ask<T>(send: (id: number) => void): Promise<T> {
    const id = ++this.#last;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve as (value: unknown) => void);
      send(id);
    });
  }

  /** An answer has come. */
  settle(id: number, value: unknown): void {
    this.#waiting.get(id)?.(value);
    this.#waiting.delete(id);
  }
}

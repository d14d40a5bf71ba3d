/** PendingRequests to another process that wait for their responses. */
export class PendingRequests {
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #last = 0;

  /** `send` sends the request with its id; the caller knows the type of the response. */
  ask<T>(send: (id: number) => void): Promise<T> {
    const id = ++this.#last;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve as (value: unknown) => void);
      send(id);
    });
  }

  /** Resolves a request with its response. */
  settle(id: number, value: unknown): void {
    this.#waiting.get(id)?.(value);
    this.#waiting.delete(id);
  }
}

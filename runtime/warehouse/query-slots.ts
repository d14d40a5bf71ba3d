import {
  ACQUIRE_TIMEOUT_MS,
  type FairQueue,
  type Lease,
  Overloaded,
  type QueryTicket,
  type Waiter,
} from "./fair-queue.js";
import type { IsStillNeeded } from "./warehouse.js";

/** Interval of the check for queries that wait too long, or whose caller may run one again. */
const CHECK_MS = 100;

/** Gives the queries of a database that needs no pool their turn in a `FairQueue`. */
export class QuerySlots {
  readonly #queue: FairQueue;
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(queue: FairQueue) {
    this.#queue = queue;
    queue.onFree = () => this.#assign();
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Waits for a turn. Rejects with `Overloaded`. */
  acquire(ticket: QueryTicket, isStillNeeded: IsStillNeeded): Promise<Lease> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(CLOSED());
      const waiter: Waiter = { ...ticket, isStillNeeded, start: resolve, fail: reject };
      if (!this.#queue.add(waiter)) return reject(new Overloaded("queueFull"));
      this.#assign();
    });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const waiter of this.#queue.drain()) waiter.fail(CLOSED());
  }

  #assign(): void {
    for (let next; (next = this.#queue.next()) !== null;) next.waiter.start(next.lease);
  }

  #check(): void {
    for (const waiter of this.#queue.removeExpired(ACQUIRE_TIMEOUT_MS))
      waiter.fail(new Overloaded("timeout"));
    this.#assign();
  }
}

const CLOSED = (): Error => new Error("The database connections are closed.");

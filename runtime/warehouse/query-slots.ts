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

/** Limits the queries of a database whose connections need no pool, with the shares of a `FairQueue`. */
export class QuerySlots {
  readonly #queue: FairQueue;
  readonly #timer: NodeJS.Timeout;
  #free: number;
  #isClosed = false;

  constructor(queue: FairQueue) {
    this.#queue = queue;
    this.#free = queue.capacity;
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Waits for a slot. Rejects with `Overloaded`. */
  acquire(ticket: QueryTicket, isStillNeeded: IsStillNeeded): Promise<Lease> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(CLOSED());
      const start = (lease: Lease): void => resolve(this.#take(lease));
      const waiter: Waiter = { ...ticket, isStillNeeded, start, fail: reject };
      if (!this.#queue.add(waiter)) return reject(new Overloaded("queueFull"));
      this.#assign();
    });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const waiter of this.#queue.drain()) waiter.fail(CLOSED());
  }

  #take(lease: Lease): Lease {
    let isHeld = true;
    const free = (): void => {
      if (isHeld) this.#free++;
      isHeld = false;
      this.#assign();
    };
    return {
      isExpectedLong: lease.isExpectedLong,
      release: () => {
        lease.release();
        free();
      },
      releaseConnection: () => {
        lease.releaseConnection();
        free();
      },
    };
  }

  #assign(): void {
    for (let next; this.#free > 0 && (next = this.#queue.next()) !== null;) {
      this.#free--;
      next.waiter.start(next.lease);
    }
  }

  #check(): void {
    for (const waiter of this.#queue.removeExpired(ACQUIRE_TIMEOUT_MS))
      waiter.fail(new Overloaded("timeout"));
    this.#assign();
  }
}

const CLOSED = (): Error => new Error("The database connections are closed.");

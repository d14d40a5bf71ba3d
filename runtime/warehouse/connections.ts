import type pg from "pg";
import type { Endable, Guard, Patrol } from "./patrol.js";

/** How long a query may wait for a connection, and how long a connection is kept that nobody uses. */
const PATIENCE_MS = 10_000;
const IDLE_MS = 10_000;
const ROUND_MS = 1000;

/** All connections were at work for longer than a query may wait. */
export class NoneFree extends Error {
  constructor() {
    super("No database connection has become free in time.");
  }
}

/** A connection on loan. */
export interface Connection {
  readonly client: pg.PoolClient & Endable;
  readonly guard: Guard;
  /** Gives it back; one that is broken is closed. */
  release(isBroken: boolean): void;
}

/** Gets a connection, or why there is none. */
type Use = (taken: Connection | Error) => void;

interface Waiting {
  readonly use: Use;
  readonly since: number;
}

/**
 * Hands out the connections of a pool, which makes and closes them. They stay taken out of it between two queries, as
 * handing them out of it takes longer than the rest of a small request.
 */
export class Connections {
  readonly #pool: pg.Pool;
  readonly #patrol: Patrol;
  readonly #onIdleError: (error: Error) => void;
  /** The one that was used last comes last, and is the first to be used again: the others may go. */
  readonly #free: Held[] = [];
  readonly #waiting: Waiting[] = [];
  #held = 0;
  #opening = 0;
  #isClosed = false;
  readonly #rounds: NodeJS.Timeout;

  /** `onIdleError` is told of a connection that broke while nobody used it. */
  constructor(pool: pg.Pool, patrol: Patrol, onIdleError: (error: Error) => void) {
    this.#pool = pool;
    this.#patrol = patrol;
    this.#onIdleError = onIdleError;
    this.#rounds = setInterval(() => this.#round(), ROUND_MS).unref();
  }

  /** Queries that wait for others to end, rather than for a connection that is being made. */
  get waitingCount(): number {
    return Math.max(0, this.#waiting.length - this.#opening);
  }

  /** Calls `use` once there is a connection: before it returns where one is free. */
  take(use: Use): void {
    const free = this.#free.pop();
    if (free) return use(free);
    this.#waiting.push({ use, since: performance.now() });
    this.#openForWaiting();
  }

  /** Ends the connections, those at work once they are given back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#rounds);
    for (const held of this.#free.splice(0)) this.#dismiss(held);
    await this.#pool.end();
  }

  #openForWaiting(): void {
    const { max } = this.#pool.options;
    while (this.#opening < this.#waiting.length && this.#held + this.#opening < max) this.#open();
  }

  #open(): void {
    this.#opening++;
    this.#pool.connect((error, client) => {
      this.#opening--;
      if (!error) return this.#hold(client as Connection["client"]);
      this.#waiting.shift()?.use(error);
      this.#openForWaiting();
    });
  }

  #hold(client: Connection["client"]): void {
    this.#held++;
    const held = new Held(client, this.#patrol.guard(client), (isBroken) => this.#giveBack(held, isBroken));
    client.on("error", (error) => this.#breaks(held, error));
    this.#giveBack(held, false);
  }

  #giveBack(held: Held, isBroken: boolean): void {
    if (isBroken || this.#isClosed) {
      this.#dismiss(held);
      return this.#openForWaiting();
    }
    const next = this.#waiting.shift();
    if (next) return next.use(held);
    held.freeSince = performance.now();
    this.#free.push(held);
  }

  #dismiss({ client, guard }: Held): void {
    this.#held--;
    this.#patrol.dismiss(guard);
    client.release(true);
  }

  /** One that is in use tells its query. */
  #breaks(held: Held, error: Error): void {
    const place = this.#free.indexOf(held);
    if (place < 0) return;
    this.#free.splice(place, 1);
    this.#dismiss(held);
    this.#onIdleError(error);
  }

  #round(): void {
    const now = performance.now();
    while (this.#free[0] && now - this.#free[0].freeSince > IDLE_MS)
      this.#dismiss(this.#free.shift() as Held);
    while (this.#waiting[0] && now - this.#waiting[0].since > PATIENCE_MS) this.#refuse();
  }

  #refuse(): void {
    const isAllAtWork = this.#opening === 0;
    const why = isAllAtWork ? new NoneFree() : new Error("timeout exceeded when trying to connect");
    this.#waiting.shift()?.use(why);
  }
}

class Held implements Connection {
  readonly client: Connection["client"];
  readonly guard: Guard;
  readonly release: (isBroken: boolean) => void;
  freeSince = 0;

  constructor(client: Connection["client"], guard: Guard, release: (isBroken: boolean) => void) {
    this.client = client;
    this.guard = guard;
    this.release = release;
  }
}

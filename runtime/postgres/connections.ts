import type pg from "pg";
import type { Endable, QueryTimer, QueryWatchdog } from "./query-watchdog.js";

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
  readonly guard: QueryTimer;
  /** Names of the statements that it was asked and has answered. */
  readonly prepared: Set<string>;
  /** Gives it back; one that is broken is closed. */
  release(isBroken: boolean): void;
}

/** Who waits for a connection. */
export interface Waiter {
  /** Since when, by `performance.now()`. */
  readonly since: number;
  /** Gets none: this is why. */
  failed(error: Error): void;
}

/** Lends a connection to the one who has waited longest, and takes those off the list whom that serves. */
export type Serve<Kind extends Waiter> = (connection: Connection, waiting: Kind[]) => void;

/** Where connections come from. */
export interface ConnectionSource {
  readonly pool: pg.Pool;
  readonly patrol: QueryWatchdog;
  /** Told of a connection that broke while nobody used it. */
  readonly onIdleError: (error: Error) => void;
}

/**
 * Hands out the connections of a pool, which makes and closes them. They stay taken out of it between two queries, as
 * handing them out of it takes longer than the rest of a small request.
 */
export class Connections<Kind extends Waiter> {
  readonly #source: ConnectionSource;
  readonly #serve: Serve<Kind>;
  /** The one that was used last comes last, and is the first to be used again: the others may go. */
  readonly #free: Held[] = [];
  readonly #waiting: Kind[] = [];
  #held = 0;
  #opening = 0;
  #isAwaited = false;
  #isClosed = false;
  readonly #rounds: NodeJS.Timeout;

  constructor(source: ConnectionSource, serve: Serve<Kind>) {
    this.#source = source;
    this.#serve = serve;
    this.#rounds = setInterval(() => this.#round(), ROUND_MS).unref();
  }

  /** How many wait for others to end, rather than for a connection that is being made. */
  get waitingCount(): number {
    const atWork = this.#held - this.#free.length;
    return Math.max(0, this.#waiting.length - (this.#source.pool.options.max - atWork));
  }

  /** Whether there is a connection that nobody uses, or may be made. */
  get hasFree(): boolean {
    return this.#free.length > 0 || this.#held < this.#source.pool.options.max;
  }

  /** Waits for a connection. Whoever does so in the same turn of the event loop is served together. */
  join(waiter: Kind): void {
    this.#waiting.push(waiter);
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(() => this.#begin());
  }

  /** Ends the connections, those at work once they are given back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#rounds);
    for (const held of this.#free.splice(0)) this.#dismiss(held);
    await this.#source.pool.end();
  }

  #begin(): void {
    this.#isAwaited = false;
    for (let free; this.#waiting.length > 0 && (free = this.#free.pop());) this.#serve(free, this.#waiting);
    this.#openForWaiting();
  }

  #openForWaiting(): void {
    if (this.#isClosed) return this.#refuseAll();
    const { max } = this.#source.pool.options;
    while (this.#opening < this.#waiting.length && this.#held + this.#opening < max) this.#open();
  }

  #open(): void {
    this.#opening++;
    this.#source.pool.connect((error, client) => {
      this.#opening--;
      if (!error) return this.#hold(client as Connection["client"]);
      this.#waiting.shift()?.failed(error);
      this.#openForWaiting();
    });
  }

  #hold(client: Connection["client"]): void {
    this.#held++;
    const held = new Held(client, this.#source.patrol.guard(client), (isBroken) =>
      this.#giveBack(held, isBroken),
    );
    client.on("error", (error) => this.#breaks(held, error));
    this.#giveBack(held, false);
  }

  #giveBack(held: Held, isBroken: boolean): void {
    if (isBroken || this.#isClosed) {
      this.#dismiss(held);
      return this.#openForWaiting();
    }
    if (this.#waiting.length > 0) return this.#serve(held, this.#waiting);
    held.freeSince = performance.now();
    this.#free.push(held);
  }

  #dismiss({ client, guard }: Held): void {
    this.#held--;
    this.#source.patrol.dismiss(guard);
    client.release(true);
  }

  /** One that is in use tells its query. */
  #breaks(held: Held, error: Error): void {
    const place = this.#free.indexOf(held);
    if (place < 0) return;
    this.#free.splice(place, 1);
    this.#dismiss(held);
    this.#source.onIdleError(error);
  }

  #round(): void {
    const now = performance.now();
    while (this.#free[0] && now - this.#free[0].freeSince > IDLE_MS)
      this.#dismiss(this.#free.shift() as Held);
    while (this.#waiting[0] && now - this.#waiting[0].since > PATIENCE_MS) this.#refuse();
  }

  #refuseAll(): void {
    for (const waiter of this.#waiting.splice(0))
      waiter.failed(new Error("The database is not asked any more."));
  }

  #refuse(): void {
    const why = this.#held > 0 ? new NoneFree() : new Error("timeout exceeded when trying to connect");
    this.#waiting.shift()?.failed(why);
  }
}

class Held implements Connection {
  readonly client: Connection["client"];
  readonly guard: QueryTimer;
  readonly prepared = new Set<string>();
  readonly release: (isBroken: boolean) => void;
  freeSince = 0;

  constructor(client: Connection["client"], guard: QueryTimer, release: (isBroken: boolean) => void) {
    this.client = client;
    this.guard = guard;
    this.release = release;
  }
}

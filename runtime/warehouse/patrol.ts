import type { Wanted } from "./warehouse.js";

/** How often queries under way are looked at. */
const ROUND_MS = 200;

/** A query that the database should have cancelled itself is given this long; then the database hangs. */
const GRACE_MS = 2000;

/** A connection, as far as ending it goes. */
export interface Endable {
  /** With a query under way the socket is closed at once, and the query rejects. */
  end(): Promise<void>;
}

/** A query under way. */
export interface Run {
  readonly client: Endable;
  readonly startedAt: number;
  /** After this its connection is closed; Infinity: never. */
  readonly limitMs: number;
  readonly wanted: Wanted;
}

/**
 * Watches over all queries under way: those that nobody waits for any more and those that take too long lose their
 * connection. One timer for all: a request that is answered at once pays for none.
 */
export class Patrol {
  readonly #runs = new Set<Run>();
  readonly #sessionTimeoutMs: number;
  #timer: NodeJS.Timeout | null = null;

  /** `sessionTimeoutMs`: what the database itself keeps to; 0: no limit. */
  constructor(sessionTimeoutMs: number) {
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  /** `timeoutMs`: how long the query may take; 0: no limit but the session's. */
  begin(client: Endable, timeoutMs: number, wanted: Wanted): Run {
    const run: Run = { client, startedAt: performance.now(), limitMs: this.#limitOf(timeoutMs), wanted };
    this.#runs.add(run);
    this.#timer ??= setInterval(() => this.#round(), ROUND_MS).unref();
    return run;
  }

  end(run: Run): void {
    this.#runs.delete(run);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** The database is the better judge of its own limit: the connection outlives that. */
  #limitOf(timeoutMs: number): number {
    const session = this.#sessionTimeoutMs === 0 ? Infinity : this.#sessionTimeoutMs;
    const own = timeoutMs === 0 ? Infinity : timeoutMs;
    return own < session ? own : session + GRACE_MS;
  }

  #round(): void {
    const now = performance.now();
    for (const run of this.#runs) {
      if (run.wanted() && now - run.startedAt <= run.limitMs) continue;
      this.#runs.delete(run);
      void run.client.end();
    }
    if (this.#runs.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

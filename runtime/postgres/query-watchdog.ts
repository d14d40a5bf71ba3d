import type { IsStillNeeded } from "../query/warehouse.js";

/** How often queries under way are looked at. */
const ROUND_MS = 200;

/** A query that the database should have cancelled itself is given this long; then the database hangs. */
const GRACE_MS = 2000;

/** How long a query may take, and who waits for it. */
export interface QueryLimits {
  /** 0: no limit but the session's. */
  readonly timeoutMs: number;
  readonly wanted: IsStillNeeded;
}

/** A connection, as far as ending it goes. */
export interface Endable {
  /** Lets nothing more be sent. */
  end(): Promise<void>;
  readonly connection: { readonly stream: { destroy(): unknown } };
}

/**
 * Watches over all queries under way: those that nobody waits for any more and those that take too long lose their
 * connection. One timer for all: a request that is answered at once pays for none.
 */
export class QueryWatchdog {
  readonly #guards = new Set<QueryTimer>();
  readonly #sessionTimeoutMs: number;
  readonly #rounds: NodeJS.Timeout;

  /** `sessionTimeoutMs`: what the database itself keeps to; 0: no limit. */
  constructor(sessionTimeoutMs: number) {
    this.#sessionTimeoutMs = sessionTimeoutMs;
    // Answers that came while this process stood still are read before anybody is judged by the clock.
    this.#rounds = setInterval(() => setImmediate(() => this.#round()), ROUND_MS).unref();
  }

  /** Watches over a connection until `dismiss`. */
  guard(client: Endable): QueryTimer {
    const guard = new QueryTimer(client, this.#sessionTimeoutMs);
    this.#guards.add(guard);
    return guard;
  }

  dismiss(guard: QueryTimer): void {
    this.#guards.delete(guard);
  }

  close(): void {
    clearInterval(this.#rounds);
  }

  #round(): void {
    const now = performance.now();
    for (const guard of this.#guards) guard.look(now);
  }
}

/**
 * Watches over the queries of one connection. It lives as long as that: what comes and goes with each query in a set that
 * is old survives collections of young garbage, with all that it refers to.
 */
export class QueryTimer {
  readonly #client: Endable;
  readonly #sessionTimeoutMs: number;
  /** Null while there is no query. */
  #terms: QueryLimits | null = null;
  #startedAt = 0;

  constructor(client: Endable, sessionTimeoutMs: number) {
    this.#client = client;
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  begin(terms: QueryLimits): void {
    this.#terms = terms;
    this.#startedAt = performance.now();
  }

  end(): void {
    this.#terms = null;
  }

  look(now: number): void {
    if (this.#terms === null) return;
    if (this.#terms.wanted() && now - this.#startedAt <= this.#limitOf(this.#terms)) return;
    this.#terms = null;
    void this.#client.end();
    // Whatever was said last: the query rejects when the socket is closed.
    this.#client.connection.stream.destroy();
  }

  /** The database is the better judge of its own limit: the connection outlives that. */
  #limitOf({ timeoutMs }: QueryLimits): number {
    const session = this.#sessionTimeoutMs === 0 ? Infinity : this.#sessionTimeoutMs;
    const own = timeoutMs === 0 ? Infinity : timeoutMs;
    return own < session ? own : session + GRACE_MS;
  }
}

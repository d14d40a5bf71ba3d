/** Share of one connection that a caller may use continuously at no cost in priority. */
const FREE_USE = 1 / 10;

/** The penalty after a caller's query exceeded its time limit; it doubles with each further timeout. */
const FIRST_PENALTY_MS = 1000;
const LONGEST_PENALTY_MS = 30_000;
/** After this time without a timeout the penalty starts at the first value again. */
const FORGIVEN_AFTER_MS = 60_000;

/** A caller that ran a query for longer than this counts as a caller of long queries for `LONG_CALLER_MS`. */
const LONG_QUERY_MS = 250;
const LONG_CALLER_MS = 10_000;

/** Number of callers from which idle ones are deleted. */
const MANY_CALLERS = 10_000;

/** What one caller has running and waiting, and how it used its connections recently (runtime/README.md, Limits). */
export class Caller {
  running = 0;
  waiting = 0;
  /** Connection time used beyond `FREE_USE`, as it was at `#usedAt`. */
  #usedMs = 0;
  #usedAt = 0;
  #timeouts = 0;
  #lastTimeoutAt = -Infinity;
  #pausedUntil = 0;
  #longUntil = -Infinity;

  usedMs(now: number): number {
    return this.#usedMs === 0 ? 0 : Math.max(0, this.#usedMs - FREE_USE * (now - this.#usedAt));
  }

  /** Whether its next query is delayed because the last ones exceeded their time limit. */
  isPaused(now: number): boolean {
    return this.#pausedUntil > now;
  }

  /** Whether its next query is expected to be long: one was, a short time ago or still running. */
  sendsLongQueries(now: number): boolean {
    return this.#longUntil > now;
  }

  /** True when a query that has run since then is long; its caller is remembered for it. */
  noteDuration(startedAt: number, now: number): boolean {
    if (now - startedAt <= LONG_QUERY_MS) return false;
    this.#longUntil = now + LONG_CALLER_MS;
    return true;
  }

  /** Counts connection time that has ended. */
  use(milliseconds: number, now: number): void {
    this.#usedMs = this.usedMs(now) + milliseconds;
    this.#usedAt = now;
  }

  penalize(now: number): void {
    this.#timeouts = now - this.#lastTimeoutAt > FORGIVEN_AFTER_MS ? 1 : this.#timeouts + 1;
    this.#lastTimeoutAt = now;
    this.#pausedUntil = now + Math.min(LONGEST_PENALTY_MS, FIRST_PENALTY_MS * 2 ** (this.#timeouts - 1));
  }

  /** Whether nothing about it matters any more. */
  isForgettable(now: number): boolean {
    if (this.running > 0 || this.waiting > 0 || this.usedMs(now) > 0) return false;
    return !this.sendsLongQueries(now) && now - this.#lastTimeoutAt > FORGIVEN_AFTER_MS;
  }
}

/** The callers by id. Deletes idle ones when there are many. */
export class Callers {
  readonly #byId = new Map<string, Caller>();
  #limit = MANY_CALLERS;

  get(id: string, now: number): Caller {
    const known = this.#byId.get(id);
    if (known) return known;
    if (this.#byId.size >= this.#limit) this.#deleteIdle(now);
    const caller = new Caller();
    this.#byId.set(id, caller);
    return caller;
  }

  #deleteIdle(now: number): void {
    for (const [id, caller] of this.#byId) if (caller.isForgettable(now)) this.#byId.delete(id);
    this.#limit = Math.max(MANY_CALLERS, 2 * this.#byId.size);
  }
}

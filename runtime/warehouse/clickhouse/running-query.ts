import type { IncomingMessage } from "node:http";
import { type IsStillNeeded, QueryAbandoned, QueryTimeout } from "../warehouse.js";
import { ClickhouseError } from "./errors.js";

/** How long a query may run, and whether its result is still needed. */
export interface TimeLimits {
  /** Time in the database; 0: no limit. */
  readonly timeoutMs: number;
  readonly isStillNeeded: IsStillNeeded;
}

/** A query whose first bytes are there. */
export class RunningQuery {
  /** Marks an error in the body; null before ClickHouse 25.11. */
  readonly exceptionTag: string | null;
  readonly #response: IncomingMessage;
  readonly #chunks: NodeJS.AsyncIterator<Buffer>;
  readonly #clock: QueryClock;

  constructor(response: IncomingMessage, clock: QueryClock) {
    this.#response = response;
    this.#clock = clock;
    this.#chunks = response[Symbol.asyncIterator]() as NodeJS.AsyncIterator<Buffer>;
    const tag = response.headers["x-clickhouse-exception-tag"];
    this.exceptionTag = typeof tag === "string" && /^\w{8,64}$/.test(tag) ? tag : null;
  }

  /** Time in the database so far, without waiting for the reader. */
  get milliseconds(): number {
    return this.#clock.usedMs;
  }

  /** The next bytes; null at the end. Rejects when the connection breaks or the query is cancelled. */
  async next(): Promise<Buffer | null> {
    this.#clock.start();
    try {
      const result = await this.#chunks.next();
      if (result.done !== true) return result.value;
      if (!this.#response.complete) throw new ClickhouseError("ClickHouse has closed the connection.");
      this.#clock.end();
      return null;
    } catch (error) {
      throw this.#clock.reason ?? error;
    } finally {
      this.#clock.pause();
    }
  }

  /** Ends the query in the database unless it has ended. May be called again. */
  cancel(reason: Error = new QueryAbandoned()): void {
    this.#clock.cancel(reason);
  }
}

/** Measures the time of a query in the database, and cancels it at its time limit or when its client has gone. */
export class QueryClock {
  readonly #limits: TimeLimits;
  readonly #cancel: (reason: Error) => void;
  readonly #ended: () => void;
  #usedMs = 0;
  #runningSince: number | null = null;
  #hasEnded = false;
  reason: Error | null = null;

  constructor(limits: TimeLimits, cancel: (reason: Error) => void, ended: () => void) {
    this.#limits = limits;
    this.#cancel = cancel;
    this.#ended = ended;
    this.start();
  }

  get usedMs(): number {
    return this.#usedMs + this.waitingMs;
  }

  /** How long the query has been silent while its bytes are waited for. */
  get waitingMs(): number {
    return this.#runningSince === null ? 0 : performance.now() - this.#runningSince;
  }

  start(): void {
    this.#runningSince ??= performance.now();
  }

  pause(): void {
    this.#usedMs = this.usedMs;
    this.#runningSince = null;
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#ended();
  }

  cancel(reason: Error): void {
    if (this.#hasEnded) return;
    this.reason = reason;
    this.end();
    this.#cancel(reason);
  }

  check(): void {
    const { timeoutMs, isStillNeeded } = this.#limits;
    if (!isStillNeeded()) this.cancel(new QueryAbandoned());
    else if (timeoutMs > 0 && this.usedMs > timeoutMs) this.cancel(new QueryTimeout());
  }
}

/** A caller's window after a look or a hit. */
export interface RateWindow {
  /** Requests counted so far, this one included; more than the limit means refused. */
  readonly count: number;
  /** When the window ends, in milliseconds since 1970. */
  readonly resetAt: number;
}

/**
 * Where windows are counted. A store that answers at once returns the window itself: on the request path a promise
 * costs more than the counting.
 */
export interface RateLimitStore {
  /** Counts one request of the caller `key`, opening a window if none is open. */
  hit(key: string): RateWindow | Promise<RateWindow>;
  /** The caller's window as it stands, without counting. */
  look(key: string): RateWindow | Promise<RateWindow>;
  close(): void;
}

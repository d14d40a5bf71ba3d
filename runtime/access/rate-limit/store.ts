/** A caller's window as it stood right after a look or a hit; it does not change with what comes later. */
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
  /** Counts one request of the caller `name`, opening a window if none is open. */
  hit(name: string): RateWindow | Promise<RateWindow>;
  /** The caller's window as it stands, without counting. */
  look(name: string): RateWindow | Promise<RateWindow>;
  /** What those who watch over the service should know, as a sentence; null when all is well. */
  readonly degraded: string | null;
  close(): void;
}

/** A store that all processes count in; it may be out of reach, and its promises reject then. */
export interface SharedStore extends RateLimitStore {
  hit(name: string): Promise<RateWindow>;
  look(name: string): Promise<RateWindow>;
  /** Resolves once it counts; rejects with the reason when it does not, within about a second. */
  reach(): Promise<void>;
}

/** Snapshot of a caller's window. */
export interface RateWindow {
  /** Requests counted so far, including this one. Above the limit the request is refused. */
  readonly count: number;
  /** When the window ends, in milliseconds since 1970. */
  readonly resetAt: number;
}

/** Counts requests in fixed windows. A store in memory returns the window itself: a promise costs more than counting. */
export interface RateLimitStore {
  /** Counts one request of the caller `name`, opening a window if none is open. */
  hit(name: string): RateWindow | Promise<RateWindow>;
  /** The caller's window, without counting a request. */
  peek(name: string): RateWindow | Promise<RateWindow>;
  /** Why the store is degraded, as a sentence for `/health`; null while it is not. */
  readonly degraded: string | null;
  close(): void;
}

/** A store shared by all processes. Its promises reject while it is unreachable. */
export interface SharedStore extends RateLimitStore {
  hit(name: string): Promise<RateWindow>;
  peek(name: string): Promise<RateWindow>;
  /** Resolves once the store counts; rejects with the reason, within about a second, when it does not. */
  probe(): Promise<void>;
}

import {
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhenResult,
  type IBackoff,
  type IBackoffFactory,
  type IPolicy,
  IterableBackoff,
  retry,
  wrap,
} from "cockatiel";

/** How providers are called (runtime/ramp/docs/provider-protocol.md). */
export const DEFAULT_CALL_POLICY = {
  /** Time limit of one attempt: short enough for a client that waits for the call. */
  timeoutMs: 8_000,
  /** The same of a quote: somebody waits for the best of several, and a provider that is slower is left out. */
  quoteTimeoutMs: 3_000,
  /** How long a provider is not called after `BREAKER_FAILURES` failed attempts in a row. */
  breakerPauseMs: 5_000,
};
export type CallPolicy = Readonly<typeof DEFAULT_CALL_POLICY>;

/** Pauses before the second and the third attempt; background processing repeats what still fails. */
const RETRY_PAUSES_MS = [100, 400];
export const ATTEMPTS = RETRY_PAUSES_MS.length + 1;
const BREAKER_FAILURES = 8;

/**
 * The circuit breaker of a provider, alone and with retries in front of it.
 * @param observe called with 1 when it opens, with -1 when it closes
 */
export function policiesOf(
  { breakerPauseMs }: CallPolicy,
  observe: (change: 1 | -1) => void,
): { readonly breaker: IPolicy; readonly retries: IPolicy } {
  // What is wrong in one answer concerns one order.
  const outage = handleWhenResult((reply) => (reply as { isOutage?: boolean }).isOutage === true);
  const breaker = circuitBreaker(outage, {
    halfOpenAfter: monotonicPause(breakerPauseMs),
    breaker: new ConsecutiveBreaker(BREAKER_FAILURES),
  });
  let isOpen = false;
  // It breaks again after each trial that fails.
  breaker.onBreak(() => {
    if (!isOpen) observe(1);
    isOpen = true;
  });
  breaker.onReset(() => {
    isOpen = false;
    observe(-1);
  });
  const backoff = new IterableBackoff(RETRY_PAUSES_MS);
  const retries = retry(outage, { maxAttempts: RETRY_PAUSES_MS.length, backoff });
  return { breaker, retries: wrap(retries, breaker) };
}

/** The breaker compares times of the machine's clock: one that jumps back a day would keep it open for the day. */
function monotonicPause(milliseconds: number): IBackoffFactory<unknown> {
  const next = (): IBackoff<unknown> => {
    const until = performance.now() + milliseconds;
    return {
      get duration() {
        return performance.now() < until ? Infinity : -Infinity;
      },
      next,
    };
  };
  return { next };
}

/** Jitter avoids synchronized checks of many processes. */
const JITTER = 0.25;

/** Weight of a longer round trip in the smoothed latency. */
const SMOOTHING = 0.2;

/**
 * Checks a server immediately and then at an interval, without overlap, and measures its latency. Disturbances only make a
 * round trip longer, so a shorter one replaces the latency and a longer one is smoothed. Does not keep the process alive.
 */
export class HealthCheck {
  readonly #check: () => Promise<void>;
  readonly #intervalMs: number;
  #latencyMs = Infinity;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** `check` must not reject. */
  constructor(check: () => Promise<void>, intervalMs: number) {
    this.#check = check;
    this.#intervalMs = intervalMs;
    void this.#run();
  }

  /** Infinity before the first measurement. */
  get latencyMs(): number {
    return this.#latencyMs;
  }

  /** Runs a ping, and measures its round trip if it succeeds. */
  async measure(ping: () => Promise<boolean>): Promise<boolean> {
    const started = performance.now();
    const isReachable = await ping();
    const ms = performance.now() - started;
    if (isReachable)
      this.#latencyMs = ms < this.#latencyMs ? ms : this.#latencyMs + SMOOTHING * (ms - this.#latencyMs);
    return isReachable;
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    await this.#check();
    if (this.#isStopped) return;
    const pauseMs = this.#intervalMs * (1 + JITTER * (2 * Math.random() - 1));
    this.#timer = setTimeout(() => void this.#run(), pauseMs).unref();
  }
}

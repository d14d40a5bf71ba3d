import type { ConnectionPool } from "./connection-pool.js";

/** A query that runs for so long raises the question whether the database responds at all. */
const SUSPICION_MS = 3000;
const CHECK_MS = 500;

/**
 * Detects a database that has stopped responding, such as on a frozen host: its connections stay open, and each query would
 * wait for its own time limit. Until it responds again, queries fail at once.
 */
export class LivenessCheck {
  readonly #pools: readonly ConnectionPool[];
  readonly #ping: () => Promise<boolean>;
  readonly #timer: NodeJS.Timeout;
  #isResponding = true;
  #isChecking = false;

  /** `ping`: whether the database responds in time, on a connection of its own. */
  constructor(pools: readonly ConnectionPool[], ping: () => Promise<boolean>) {
    this.#pools = pools;
    this.#ping = ping;
    this.#timer = setInterval(() => void this.#check(), CHECK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    const isSuspicious = this.#pools.some(({ longestSilenceMs }) => longestSilenceMs >= SUSPICION_MS);
    if (this.#isChecking || (this.#isResponding && !isSuspicious)) return;
    this.#isChecking = true;
    this.#isResponding = await this.#ping();
    this.#isChecking = false;
    for (const pool of this.#pools) {
      if (this.#isResponding) pool.resume();
      else pool.suspend(SUSPICION_MS);
    }
  }
}

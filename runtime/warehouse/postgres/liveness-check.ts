import type { ConnectionPool } from "./pool.js";

/** A query that runs for so long raises the question whether the database responds at all. */
const SUSPICION_MS = 3000;
const CHECK_MS = 500;

/**
 * Detects a database that has stopped responding, such as on a frozen host: its connections stay open, and each query would
 * wait for its own time limit. Until it responds again, queries fail at once.
 */
export class LivenessCheck {
  readonly #pool: ConnectionPool;
  readonly #ping: () => Promise<boolean>;
  readonly #timer: NodeJS.Timeout;
  #isResponding = true;
  #isChecking = false;

  /** `ping`: whether the database responds in time, on a connection of its own. */
  constructor(pool: ConnectionPool, ping: () => Promise<boolean>) {
    this.#pool = pool;
    this.#ping = ping;
    this.#timer = setInterval(() => void this.#check(), CHECK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    const isSuspicious = this.#pool.longestSilenceMs >= SUSPICION_MS;
    if (this.#isChecking || (this.#isResponding && !isSuspicious)) return;
    this.#isChecking = true;
    this.#isResponding = await this.#ping();
    this.#isChecking = false;
    if (this.#isResponding) this.#pool.resume();
    else this.#pool.suspend(SUSPICION_MS);
  }
}

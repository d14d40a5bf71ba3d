import { UsageCounter } from "./request-counters.js";
import type { Logger } from "../server/logger.js";
import { type Batch, isDenied, type UsageLine, UsageTable, writeGrantFor } from "./usage-table.js";

/** How often counts are written. A killed process loses at most the counts of one interval. */
const INTERVAL_MS = 10_000;

/** Pause after the database denied the write. */
const DENIED_MS = 5 * 60_000;

const DENIED =
  "usage is not recorded: this role may not write it. Let the database's owner run the grant, or set USAGE_ENABLED=false";

/** How far back a caller sees its own use. */
const SHOWN_MS = 30 * 24 * 60 * 60_000;

/** Rows per statement: building one takes a few milliseconds. */
const BATCH_ROWS = 1000;

export interface UsageOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  readonly log: Logger;
  /** Default: 10 s. */
  readonly intervalMs?: number;
}

/** Records usage: counts in memory, and adds the counts to the database in the background. */
export class Usage {
  readonly counter = new UsageCounter();
  readonly #options: UsageOptions;
  readonly #table: UsageTable;
  readonly #timer: NodeJS.Timeout;
  /** Batches that are not known to be written: sent unchanged until the database acknowledges them. */
  #unsent: Batch[] = [];
  #lastNumber = 0;
  #running: Promise<void> | null = null;
  #loggedFailure: "denied" | "failed" | null = null;
  #deniedUntil = 0;

  constructor(options: UsageOptions) {
    this.#options = options;
    this.#table = new UsageTable(options.databaseUrl);
    this.#timer = setInterval(() => {
      if (Date.now() >= this.#deniedUntil) void this.#flush();
    }, options.intervalMs ?? INTERVAL_MS).unref();
  }

  /** What a key has used, by day in UTC. The counts of the last seconds are missing. */
  daysOf(keyId: string): Promise<readonly UsageLine[]> {
    const since = new Date(Date.now() - SHOWN_MS).toISOString().slice(0, 10);
    return this.#table.daysOf(keyId, since);
  }

  /** Writes the remaining counts, logs how many it could not write, and closes the connection. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    await this.#flush();
    this.#makeBatches();
    const lost = this.#unsent.flatMap(({ rows }) => rows).reduce((sum, { requests }) => sum + requests, 0);
    if (lost > 0) this.#options.log.warn({ requests: lost }, "usage of these requests was not written");
    await this.#table.close(this.#lastNumber > 0 && lost === 0);
  }

  /** Never rejects. */
  #flush(): Promise<void> {
    this.#running ??= this.#run().finally(() => (this.#running = null));
    return this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#send();
      this.#makeBatches();
      await this.#send();
    } catch (error) {
      this.#logFailure(error);
    }
  }

  #makeBatches(): void {
    const rows = this.counter.take();
    for (let first = 0; first < rows.length; first += BATCH_ROWS)
      this.#unsent.push({ number: ++this.#lastNumber, rows: rows.slice(first, first + BATCH_ROWS) });
  }

  async #send(): Promise<void> {
    for (let batch = this.#unsent[0]; batch !== undefined; batch = this.#unsent[0]) {
      await this.#table.add(batch);
      this.#unsent.shift();
      this.#logRecovery();
    }
  }

  /** Logs a lasting failure once. */
  #logFailure(error: unknown): void {
    const { databaseUrl, log } = this.#options;
    const denied = isDenied(error);
    if (denied) this.#deniedUntil = Date.now() + DENIED_MS;
    const failure = denied ? "denied" : "failed";
    if (this.#loggedFailure === failure) return;
    this.#loggedFailure = failure;
    if (denied) log.warn({ err: error, grant: writeGrantFor(databaseUrl) }, DENIED);
    else
      log.warn({ err: error }, "usage is not written: counts stay in memory until the database is reachable");
  }

  #logRecovery(): void {
    if (this.#loggedFailure !== null) this.#options.log.info("usage is recorded");
    this.#loggedFailure = null;
  }
}

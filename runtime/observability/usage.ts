import type { RequestRecord } from "./request-log.js";
import type { Logger } from "../http/logger.js";
import { type Batch, isDenied, UsageTable, writeGrantFor } from "./usage-table.js";
import { Tally } from "./usage-counter.js";

/** How often counts are written: a process that is killed loses those of this long at most. */
const INTERVAL_MS = 10_000;

/** How long a role that may not write is left alone. */
const DENIED_MS = 5 * 60_000;

const DENIED =
  "usage is not recorded: this role may not write it. Let the database's owner run the grant, or set USAGE_ENABLED=false";

/** Rows of one statement, which is made in a few milliseconds. */
const BATCH_ROWS = 1000;

export interface UsageOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  readonly log: Logger;
  /** 10 s when left out. */
  readonly intervalMs?: number;
}

/** Who called what, counted in memory and added up in the database in the background. */
export class Usage {
  readonly #options: UsageOptions;
  readonly #table: UsageTable;
  readonly #tally = new Tally();
  readonly #timer: NodeJS.Timeout;
  /** Cut, numbered, and not known to be written: each is sent as it is until it is. */
  #unsent: Batch[] = [];
  #lastNumber = 0;
  #running: Promise<void> | null = null;
  #told = "";
  #deniedUntil = 0;

  constructor(options: UsageOptions) {
    this.#options = options;
    this.#table = new UsageTable(options.databaseUrl);
    this.#timer = setInterval(() => {
      if (Date.now() >= this.#deniedUntil) void this.#flush();
    }, options.intervalMs ?? INTERVAL_MS).unref();
  }

  count(observation: RequestRecord): void {
    this.#tally.count(observation, Date.now());
  }

  /** Writes what is counted, as far as the database answers, and ends the connection. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    await this.#flush();
    this.#cut();
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
      this.#cut();
      await this.#send();
    } catch (error) {
      this.#tell(error);
    }
  }

  #cut(): void {
    const rows = this.#tally.take();
    for (let first = 0; first < rows.length; first += BATCH_ROWS)
      this.#unsent.push({ number: ++this.#lastNumber, rows: rows.slice(first, first + BATCH_ROWS) });
  }

  async #send(): Promise<void> {
    for (let batch = this.#unsent[0]; batch !== undefined; batch = this.#unsent[0]) {
      await this.#table.add(batch);
      this.#unsent.shift();
      this.#tellWritten();
    }
  }

  /** A trouble that lasts is told once. */
  #tell(error: unknown): void {
    const { databaseUrl, log } = this.#options;
    const denied = isDenied(error);
    if (denied) this.#deniedUntil = Date.now() + DENIED_MS;
    const trouble = denied ? "denied" : "failed";
    if (this.#told === trouble) return;
    this.#told = trouble;
    if (denied) log.warn({ err: error, grant: writeGrantFor(databaseUrl) }, DENIED);
    else log.warn({ err: error }, "usage is kept in memory until the database takes it");
  }

  #tellWritten(): void {
    if (this.#told !== "") this.#options.log.info("usage is recorded");
    this.#told = "";
  }
}

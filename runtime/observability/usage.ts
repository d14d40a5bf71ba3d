import type { RequestRecord } from "./route-metrics.js";
import type { Logger } from "../http/logger.js";
import { type Batch, isDenied, type UsageRow, UsageTable, writeGrantFor } from "./usage-table.js";
import type { KeyOwner } from "../access/authorize.js";
/** How often counts are written. A killed process loses at most the counts of one interval. */
const INTERVAL_MS = 10_000;

/** Pause after the database denied the write. */
const DENIED_MS = 5 * 60_000;

const DENIED =
  "usage is not recorded: this role may not write it. Let the database's owner run the grant, or set USAGE_ENABLED=false";

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
  readonly #options: UsageOptions;
  readonly #table: UsageTable;
  readonly #counter = new UsageCounter();
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

  count(record: RequestRecord): void {
    this.#counter.count(record, Date.now());
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
    const rows = this.#counter.take();
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

/** Key of callers without one, and route of paths that no endpoint has. */
const NONE = "none";

/** Key or route of requests that were merged for lack of room. */
const OTHER = "other";

/** Maximum number of rows, about 5 MB. While the database is unreachable they fill up: then routes, then keys, are merged. */
const MAX_ROWS = 20_000;

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

const DAY_MS = 86_400_000;

/** Counts in bounded memory; a request costs two map lookups. */
export class UsageCounter {
  readonly #maxRows: number;
  #rows: UsageRow[] = [];
  /** The rows of today by key and route. */
  #today = new Map<string, Map<string, UsageRow>>();
  #dayNumber = -1;
  #day = "";

  constructor(maxRows = MAX_ROWS) {
    this.#maxRows = maxRows;
  }

  /** Counts a response sent at `now`, in milliseconds since 1970. */
  count({ owner, tier, route, status, rows, bytes }: RequestRecord, now: number): void {
    this.#startDay(Math.floor(now / DAY_MS));
    const row = this.#row(owner?.id ?? NONE, route ?? NONE, owner, tier);
    row.requests++;
    if (status >= 400) {
      if (REFUSALS.has(status)) row.refused++;
      else row.errors++;
    }
    row.rows += rows ?? 0;
    row.bytes += bytes;
    row.lastSeen = now;
  }

  /** Returns the rows counted since the last call, and clears them. */
  take(): UsageRow[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#today = new Map();
    return rows;
  }

  /** Ignores earlier days: a clock that is set back does not start a day twice. */
  #startDay(dayNumber: number): void {
    if (dayNumber <= this.#dayNumber) return;
    this.#dayNumber = dayNumber;
    this.#day = new Date(dayNumber * DAY_MS).toISOString().slice(0, 10);
    this.#today = new Map();
  }

  #row(key: string, route: string, owner: KeyOwner | null, tier: string): UsageRow {
    return this.#today.get(key)?.get(route) ?? this.#newRow(key, route, owner, tier);
  }

  #newRow(key: string, route: string, owner: KeyOwner | null, tier: string): UsageRow {
    const isFull = this.#rows.length >= this.#maxRows;
    if (isFull && route !== OTHER) return this.#row(key, OTHER, owner, tier);
    // Merging routes does not bound the number of keys and days.
    if (this.#rows.length >= 2 * this.#maxRows && key !== OTHER) return this.#row(OTHER, OTHER, null, "");
    const counted: UsageRow = {
      day: this.#day,
      key,
      route,
      user: owner?.user ?? "",
      org: owner?.org ?? "",
      tier,
      requests: 0,
      refused: 0,
      errors: 0,
      rows: 0,
      bytes: 0,
      lastSeen: 0,
    };
    this.#rows.push(counted);
    const routes = this.#today.get(key);
    if (routes) routes.set(route, counted);
    else this.#today.set(key, new Map([[route, counted]]));
    return counted;
  }
}

import type { Logger } from "../http/logger.js";
import type { RequestRecord } from "./request-record.js";
import { isDenied, SUMS, type UsageLine, type UsageRow, UsageTable } from "./usage-table.js";

/**
 * How often counts are written. A killed process loses those of its last interval; a connection that breaks between a
 * commit and its acknowledgement counts one interval twice.
 */
const INTERVAL_MS = 10_000;

/** Rows that wait while the database takes none, about 5 MB; the counts of further ones are lost. */
const MAX_WAITING = 20_000;

const NOT_WRITTEN =
  "usage is not written: counts stay in memory until it can be. A role that may not write needs `grant`, or set USAGE_ENABLED=false";

/** What the database's owner runs for the role of the server. */
const WRITE_GRANT =
  "CREATE SCHEMA IF NOT EXISTS routewright; GRANT ALL ON SCHEMA routewright TO <role>; GRANT ALL ON ALL TABLES IN SCHEMA routewright TO <role>";

/** How far back a caller sees its own use. */
const SHOWN_MS = 30 * 24 * 60 * 60_000;

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
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;
  /** Requests of rows that did not fit. */
  #lost = 0;

  constructor(options: UsageOptions) {
    this.#options = options;
    this.#table = new UsageTable(options.databaseUrl);
    this.#timer = setInterval(() => void this.#flush(), options.intervalMs ?? INTERVAL_MS).unref();
  }

  /** What a key has used, by day in UTC. The counts of the last seconds are missing. */
  daysOf(keyId: string): Promise<readonly UsageLine[]> {
    const since = new Date(Date.now() - SHOWN_MS).toISOString().slice(0, 10);
    return this.#table.read({ by: "day", since, key: keyId });
  }

  /** Writes the remaining counts, logs how many it could not write, and closes the connection. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flush();
    const lost = this.#lost + requestsOf(this.counter.take());
    if (lost > 0) this.#options.log.warn({ requests: lost }, "usage of these requests was not written");
    await this.#table.close();
  }

  /** Never rejects. One write at a time. */
  #flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { log } = this.#options;
    const rows = this.counter.take();
    if (rows.length === 0) return;
    try {
      await this.#table.add(rows);
      if (this.#isFailing) log.info("usage is recorded");
      this.#isFailing = false;
    } catch (error) {
      for (const row of rows.slice(0, MAX_WAITING)) this.counter.add(row);
      this.#lost += requestsOf(rows.slice(MAX_WAITING));
      // A lasting failure is logged once.
      if (!this.#isFailing)
        log.warn({ err: error, ...(isDenied(error) && { grant: WRITE_GRANT }) }, NOT_WRITTEN);
      this.#isFailing = true;
    }
  }
}

function requestsOf(rows: readonly UsageRow[]): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0);
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Counts in memory: a row of about 250 bytes for each key, route and day. */
export class UsageCounter {
  readonly #rows = new Map<string, UsageRow>();

  /** Counts a response sent at `now`, in milliseconds since 1970. */
  count({ caller, route, status, rows, bytes }: RequestRecord, now = Date.now()): void {
    const { key, tier } = caller;
    const isRefused = REFUSALS.has(status);
    this.add({
      day: new Date(now).toISOString().slice(0, 10),
      key: key?.id ?? "none",
      route: route ?? "none",
      user: key?.user ?? "",
      org: key?.org ?? "",
      tier,
      requests: 1,
      refused: Number(isRefused),
      errors: Number(status >= 400 && !isRefused),
      rows: rows ?? 0,
      bytes,
      lastSeen: now,
    });
  }

  /** Adds counts, such as those that could not be written. */
  add(row: UsageRow): void {
    const id = `${row.day} ${row.key} ${row.route}`;
    const known = this.#rows.get(id);
    if (known) {
      for (const sum of SUMS) known[sum] += row[sum];
      known.lastSeen = Math.max(known.lastSeen, row.lastSeen);
    } else this.#rows.set(id, row);
  }

  /** Returns the rows counted since the last call, and clears them. */
  take(): readonly UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    return rows;
  }
}

import type { RequestRecord } from "./request-record.js";

/** What is summed, in the order in which reports show it. */
export const SUMS = ["requests", "refused", "errors", "rows", "bytes"] as const;

/** Requests of one key to one route on one day. */
export interface UsageRow {
  /** In UTC, as `2026-01-31`. */
  readonly day: string;
  /** Id of the key; `none` without one, `other` where keys were merged. */
  readonly key: string;
  /** The endpoint's path; `none` for other paths, `other` where routes were merged. */
  readonly route: string;
  /** Empty without a key, as `org` is. */
  readonly user: string;
  readonly org: string;
  readonly tier: string;
  requests: number;
  /** Responses with status 401, 403 or 429. */
  refused: number;
  /** Responses with any other status from 400 up. */
  errors: number;
  rows: number;
  /** Bytes of the response bodies. */
  bytes: number;
  /** In milliseconds since 1970. */
  lastSeen: number;
}

/** Maximum number of rows, about 5 MB. While the database is unreachable they fill up: then routes, then keys, are merged. */
const MAX_ROWS = 20_000;

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Counts in bounded memory. */
export class UsageCounter {
  readonly #maxRows: number;
  #rows = new Map<string, UsageRow>();

  constructor(maxRows = MAX_ROWS) {
    this.#maxRows = maxRows;
  }

  /** Counts a response sent at `now`, in milliseconds since 1970. */
  count({ owner, tier, route, status, rows, bytes }: RequestRecord, now = Date.now()): void {
    const isRefused = REFUSALS.has(status);
    this.add({
      day: new Date(now).toISOString().slice(0, 10),
      key: owner?.id ?? "none",
      route: route ?? "none",
      user: owner?.user ?? "",
      org: owner?.org ?? "",
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
    } else if (this.#rows.size >= this.#maxRows && row.route !== "other")
      this.add({ ...row, route: "other" });
    // Merging routes does not bound the number of keys and days.
    else if (this.#rows.size >= 2 * this.#maxRows && row.key !== "other")
      this.add({ ...row, key: "other", user: "", org: "", tier: "" });
    else this.#rows.set(id, row);
  }

  /** Returns the rows counted since the last call, and clears them. */
  take(): readonly UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    return rows;
  }
}

import type { RequestRecord } from "./request-record.js";

/** What is summed, in the order in which reports show it. */
export const SUMS = ["requests", "refused", "errors", "rows", "bytes"] as const;

/** Requests of one key to one route on one day. */
export interface UsageRow {
  /** In UTC, as `2026-01-31`. */
  readonly day: string;
  /** Id of the key; `none` without one. */
  readonly key: string;
  /** The endpoint's path; `none` for other paths. */
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

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Counts in memory: a row of about 250 bytes for each key, route and day. */
export class UsageCounter {
  readonly #rows = new Map<string, UsageRow>();

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
    } else this.#rows.set(id, row);
  }

  /** Returns the rows counted since the last call, and clears them. */
  take(): readonly UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    return rows;
  }
}

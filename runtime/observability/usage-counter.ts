import type { KeyOwner } from "../access/keyring.js";
import type { RequestRecord } from "./request-log.js";

/** Key of callers without one, and route of paths that no endpoint has. */
export const NONE = "none";

/** Key or route of requests that were merged for lack of room. */
export const OTHER = "other";

/** Maximum number of rows, about 5 MB. While the database is unreachable they fill up: then routes, then keys, are merged. */
export const MAX_ROWS = 20_000;

/** Requests of one key to one route on one day. */
export interface UsageRow {
  /** In UTC, as `2026-01-31`. */
  readonly day: string;
  /** Id of the key, or `NONE`, or `OTHER`. */
  readonly key: string;
  /** The endpoint's path, or `NONE`, or `OTHER`. */
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

import type { Relation } from "../model/endpoint.js";
import type { RequestContext } from "../model/caller.js";
import { BoundedCache, CACHES } from "../http/bounded-cache.js";
import { PeriodicCheck } from "./periodic-check.js";
import { SharedResource, tableName } from "./caller-shares.js";
import { ACQUIRE_TIMEOUT_MS, Overloaded, QueryAbandoned } from "./query-errors.js";
import type { WarehouseLoad } from "./warehouse.js";

/** Interval of the check for queries that wait too long, or whose caller may run one again. */
const CHECK_MS = 100;

/** A query that needs a connection. Its shares depend on its caller and its table (runtime/docs/limits.md). */
export interface QueuedQuery extends Pick<RequestContext, "caller" | "isStillNeeded"> {
  readonly relation: Relation;
}

/** A look-up of columns on behalf of all callers. */
export const LOOK_UP: Omit<QueuedQuery, "relation"> = {
  caller: { id: "columns", tier: "tier3", org: null, allowed: null, key: null },
  isStillNeeded: () => true,
};

/** A query that waits for a connection. */
interface WaitingQuery extends QueuedQuery {
  /** Called when it may use a connection, perhaps at once. `lease` counts it until it is released. */
  start(lease: Lease): void;
  fail(error: Error): void;
}

/**
 * Of the connections, for long queries: each may occupy a processor of the database. Without these, costly queries of three
 * anonymous addresses left a light caller 2 of 834 requests; with one share for all tiers, those of eight addresses left 4
 * costly requests of a tier3 key 6 runs of 20 (tests/core/warehouse/fair-queue.test.ts).
 */
const LONG_SHARES = { tiers: { tier0: 1 / 8, tier1: 2 / 8, tier2: 3 / 8, tier3: 4 / 8 } };

/** A query that runs for longer is long, and its caller's next ones count as long from their start for a while. */
const LONG_QUERY_MS = 250;
const LONG_CALLER_MS = 10_000;

/** How long a caller's last queries are remembered: without them it only starts as a new one. */
const KEPT_MS = 60_000;

/** A history, whose times are objects of their own, with the caller's id of at most 45 characters. */
const HISTORY_BYTES = 200;

/** The last queries of a caller. */
interface CallerHistory {
  /** When it last got a connection. */
  servedAt: number;
  /** Until when its queries count as long. */
  longUntil: number;
  /** When it last sent a query. */
  sentAt: number;
}

interface QueuedEntry {
  readonly query: WaitingQuery;
  readonly table: string;
  readonly history: CallerHistory;
  readonly since: number;
}

type LeasedEntry = Omit<QueuedEntry, "query"> & { readonly query: QueuedQuery };

interface QueueOptions {
  readonly capacity: number;
  readonly maxWaiting: number;
  /** Streams of one caller. All streams are long: without a share of their own for long queries. */
  readonly perCaller?: number | undefined;
  /** Memory for responses: a caller whose share is used up gets no connection. */
  readonly memory?: SharedResource | undefined;
}

/**
 * Decides which query gets the next connection. Among those whose caller, tier and table have a free share it is the one that
 * has waited longest since it came, or since its caller got its last connection: callers take turns, without which four busy
 * keys left a light caller 2 requests of 24.
 */
export class FairQueue {
  readonly #options: QueueOptions;
  readonly #places: SharedResource;
  readonly #leased: Leased;
  /**
   * Arrays: a `Set` leaves its former tables to the garbage collector in a chain, of which V8's young generation keeps every
   * one and what it holds once the first has become old. A quarter of all that requests allocated survived so, and a
   * collection took 5 to 50 ms instead of 0.5.
   */
  readonly #entries: QueuedEntry[] = [];
  readonly #callers = new BoundedCache<CallerHistory>("callers", {
    // Queries that are buffered and streams have a queue each.
    maxBytes: CACHES.callers.maxBytes / 2,
    sizeOf: () => HISTORY_BYTES,
    isCurrent: ({ sentAt, longUntil }) => Math.max(sentAt, longUntil) > performance.now() - KEPT_MS,
  });
  readonly #checks = new PeriodicCheck(CHECK_MS, () => {
    this.check();
    return this.#entries.length > 0;
  });
  #isClosed = false;
  #started = 0;
  #waitedMs = 0;

  constructor(options: QueueOptions) {
    const { capacity, maxWaiting, perCaller } = options;
    this.#options = options;
    this.#places = new SharedResource(maxWaiting);
    this.#leased = {
      leases: [],
      connections: new SharedResource(capacity, perCaller ? { caller: perCaller / capacity } : {}),
      long: perCaller === undefined ? new SharedResource(capacity, LONG_SHARES) : null,
      onFree: () => this.#assign(),
    };
  }

  get capacity(): number {
    return this.#options.capacity;
  }

  get load(): WarehouseLoad {
    const { length: waiting } = this.#entries;
    return { running: this.#leased.leases.length, waiting, started: this.#started, waitedMs: this.#waitedMs };
  }

  /** Waits for a connection. Rejects with `Overloaded`, also when the query's share of the queue is full. */
  acquire(query: QueuedQuery): Promise<Lease> {
    return new Promise((start, fail) => this.add({ ...query, start, fail }));
  }

  add(query: WaitingQuery): void {
    const { caller } = query;
    const table = tableName(query.relation);
    if (this.#isClosed) return query.fail(new Overloaded("closed"));
    if (!this.#places.hasRoom(caller, table)) return query.fail(new Overloaded("queueFull"));
    this.#places.take(caller, 1, table);
    this.#entries.push({ query, table, history: this.#historyOf(query), since: performance.now() });
    this.#assign();
    if (this.#entries.length > 0) this.#checks.start();
  }

  #historyOf({ caller: { id } }: QueuedQuery): CallerHistory {
    const now = performance.now();
    const known = this.#callers.get(id, id);
    const history = known ?? { servedAt: -Infinity, longUntil: -Infinity, sentAt: now };
    if (known === undefined) this.#callers.set(id, history, undefined, id);
    history.sentAt = now;
    return history;
  }

  #assign(): void {
    for (let best; (best = this.#best()) !== null;) {
      const entry = this.#remove(best);
      const { query } = entry;
      if (query.isStillNeeded()) query.start(this.#lease(entry));
      else query.fail(new QueryAbandoned());
    }
  }

  /** A lease without waiting; null where the query has to wait. */
  tryAcquire(query: QueuedQuery): Lease | null {
    const now = performance.now();
    if (this.#entries.length > 0 || !this.#isFree(now)) return null;
    const entry = { query, table: tableName(query.relation), history: this.#historyOf(query), since: now };
    return this.#hasRoom(entry, now) ? this.#lease(entry) : null;
  }

  /** Fails all queries that wait. */
  fail(error: Error): void {
    for (const entry of [...this.#entries]) this.#remove(entry).query.fail(error);
  }

  /** Fails the queries that have waited too long, or whose result is no longer needed. */
  check(timeoutMs = ACQUIRE_TIMEOUT_MS): void {
    const addedBefore = performance.now() - timeoutMs;
    const expired = this.#entries.filter(({ since, query }) => since < addedBefore || !query.isStillNeeded());
    for (const entry of expired) this.#remove(entry).query.fail(new Overloaded("timeout"));
    this.#assign();
  }

  close(): void {
    this.#isClosed = true;
    this.#checks.close();
    this.fail(new Overloaded("closed"));
  }

  /**
   * Entries stand in the order of `since`, so that the search ends at the first that came after the best one's time; those of a table
   * without room are passed over. Where 32 queries of one table waited, the queue took 43 µs of each query without this; it takes 10.
   */
  #best(): QueuedEntry | null {
    const now = performance.now();
    if (!this.#isFree(now)) return null;
    let best: QueuedEntry | null = null;
    let bestTime = Infinity;
    let full: string | null = null;
    for (const entry of this.#entries) {
      if (entry.since >= bestTime) break;
      const time = Math.max(entry.since, entry.history.servedAt);
      if (time >= bestTime || entry.table === full) continue;
      if (!this.#leased.connections.hasRoomForTable(entry.table)) full = entry.table;
      else if (this.#hasRoom(entry, now)) {
        best = entry;
        bestTime = time;
      }
    }
    return best;
  }

  /**
   * Whether a connection is free. Running queries may have become long: costly ones of two keys, a new one each 150 ms, left a
   * light caller 106 of 834 requests when they became so at their end only.
   */
  #isFree(now: number): boolean {
    const { leases } = this.#leased;
    if (leases.length >= this.capacity) return false;
    for (const lease of leases) lease.noteLong(now);
    return true;
  }

  #hasRoom({ query: { caller }, table, history }: LeasedEntry, now: number): boolean {
    const { connections, long } = this.#leased;
    if (!connections.hasRoom(caller, table)) return false;
    if (this.#options.memory?.hasRoom(caller, table) === false) return false;
    return history.longUntil <= now || long?.hasRoom(caller, table) !== false;
  }

  #remove(entry: QueuedEntry): QueuedEntry {
    remove(this.#entries, entry);
    this.#places.take(entry.query.caller, -1, entry.table);
    return entry;
  }

  #lease(entry: LeasedEntry): Lease {
    const now = performance.now();
    this.#started++;
    this.#waitedMs += now - entry.since;
    entry.history.servedAt = now;
    return new Lease(entry, this.#leased, now);
  }
}

function remove<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}

/** The connections of a queue that are in use. */
interface Leased {
  readonly leases: Lease[];
  readonly connections: SharedResource;
  readonly long: SharedResource | null;
  onFree: () => void;
}

/** Counts a connection against the shares of its caller, tier and table until it is released. */
export class Lease {
  /** Whether the query counts as long from its start, since its caller sent long queries before. */
  readonly isExpectedLong: boolean;
  readonly #entry: LeasedEntry;
  readonly #leased: Leased;
  readonly #startedAt: number;
  #isLong = false;
  #holdsConnection = true;
  #isHeld = true;

  constructor(entry: LeasedEntry, leased: Leased, now: number) {
    const { query, table, history } = entry;
    this.#entry = entry;
    this.#leased = leased;
    this.#startedAt = now;
    leased.leases.push(this);
    leased.connections.take(query.caller, 1, table);
    this.isExpectedLong = history.longUntil > now;
    if (this.isExpectedLong) this.#countLong();
  }

  /** Counts the query as long once it is, and its caller's next ones. */
  noteLong(now: number): void {
    if (now - this.#startedAt <= LONG_QUERY_MS) return;
    this.#entry.history.longUntil = now + LONG_CALLER_MS;
    this.#countLong();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#leased.connections.takeFromCaller(this.#entry.query.caller, -1);
    if (this.#holdsConnection) this.releaseConnection();
    else this.#leased.onFree();
  }

  /** Releases all but the caller's share: for a stream whose rows are in the spool. */
  releaseConnection(): void {
    if (!this.#holdsConnection) return;
    this.#holdsConnection = false;
    this.noteLong(performance.now());
    const { leases, connections, long, onFree } = this.#leased;
    const { query, table } = this.#entry;
    if (this.#isLong) long?.take(query.caller, -1, table);
    connections.takeFromOthers(query.caller, -1, table);
    remove(leases, this);
    onFree();
  }

  #countLong(): void {
    const { query, table } = this.#entry;
    if (!this.#isLong) this.#leased.long?.take(query.caller, 1, table);
    this.#isLong = true;
  }
}

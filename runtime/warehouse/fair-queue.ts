import type { Relation } from "../model/endpoint.js";
import { type Tier, TIERS } from "../model/tier.js";
import { QueryAbandoned, type WarehouseLoad } from "./warehouse.js";
import { type Caller, Callers } from "./callers.js";

/** How long a query may wait for a connection. */
export const ACQUIRE_TIMEOUT_MS = 10_000;

const OVERLOADED = {
  queueFull: "The queue for database connections, or the query's share of it, is full.",
  unresponsive: "The database does not respond.",
  timeout: `No database connection became available within ${String(ACQUIRE_TIMEOUT_MS / 1000)} seconds.`,
  refused: "The database refuses further queries for now.",
};

/** A query gets no connection, since more queries arrive than the database can serve. */
export class Overloaded extends Error {
  constructor(reason: keyof typeof OVERLOADED) {
    super(OVERLOADED[reason]);
  }
}

/** Caller and table of a query: the fair shares depend on them (runtime/README.md, Limits). */
export interface QueryTicket {
  /** Key id or network address. */
  readonly callerId: string;
  readonly tier: Tier;
  readonly relation: Relation;
}

/** A query that waits for a connection. */
export interface Waiter extends QueryTicket {
  isStillNeeded(): boolean;
  /** Called when a connection is available. `lease` counts it until it is released. */
  start(lease: Lease): void;
  fail(error: Error): void;
}

/**
 * Shares of the connections, and of the places in the queue. A tier's share includes all lower tiers. A table may use 3/4
 * of the connections, of each tier's share and of each caller's share. Long queries have a smaller share: each may occupy
 * a processor of the database.
 */
const SHARES: {
  readonly caller: number;
  readonly table: number;
  readonly tier: Readonly<Record<Tier, number>>;
  readonly long: Readonly<Record<Tier, number>>;
} = {
  caller: 1 / 2,
  table: 3 / 4,
  tier: { tier0: 5 / 8, tier1: 6 / 8, tier2: 7 / 8, tier3: 1 },
  long: { tier0: 1 / 8, tier1: 2 / 8, tier2: 3 / 8, tier3: 4 / 8 },
};

/** A caller's connection time is divided by the weight of its tier. */
const WEIGHTS: Readonly<Record<Tier, number>> = { tier0: 1, tier1: 2, tier2: 4, tier3: 8 };

/** Per tier, a query counts as having arrived this much earlier. */
const TIER_ADVANTAGE_MS = 250;

/** Per millisecond of connection time that its caller used recently, a query counts as having arrived this much later. */
const PENALTY_PER_USED_MS = 2;
const MAX_USE_PENALTY_MS = 5000;

interface Table {
  running: number;
  waiting: number;
}

interface Entry {
  readonly waiter: Waiter;
  readonly caller: Caller;
  readonly table: Table;
  /** Index in `TIERS`. */
  readonly tier: number;
  readonly since: number;
}

/** Counts a connection against the shares of its caller, table and tier. */
export interface Lease {
  /** Whether the query counts as long from its start, since its caller sent long queries before. */
  readonly isExpectedLong: boolean;
  /** `timedOut`: the query exceeded its time limit. */
  release(timedOut?: boolean): void;
  /** Releases all but the caller's share: for a stream whose rows are in the spool. */
  releaseConnection(): void;
}

/**
 * Decides which query gets the next connection: among those within their shares, the one that has waited longest. Recent
 * connection time of its caller counts as a later arrival, a higher tier as an earlier one.
 */
export class FairQueue {
  readonly #runLimits: Limits;
  readonly #queueLimits: Limits;
  readonly #entries: Entry[] = [];
  readonly #leases = new Set<QueueLease>();
  readonly #callers = new Callers();
  /** By schema and name; bounded by the number of relations. */
  readonly #tables = new Map<string, Map<string, Table>>();
  readonly #runningByTier = TIERS.map(() => 0);
  readonly #waitingByTier = TIERS.map(() => 0);
  readonly #longByTier = TIERS.map(() => 0);

  #started = 0;
  #waitedMs = 0;

  constructor(options: { capacity: number; maxWaiting: number; perCaller?: number }) {
    this.#runLimits = limitsOf(options.capacity, options.perCaller);
    this.#queueLimits = limitsOf(options.maxWaiting);
  }

  get load(): WarehouseLoad {
    const { length: waiting } = this.#entries;
    return { running: this.#leases.size, waiting, started: this.#started, waitedMs: this.#waitedMs };
  }

  get waitingCount(): number {
    return this.#entries.length;
  }

  /** False when the queue, or the caller's, table's or tier's share of it, is full; `isAdmitted` skips these limits. */
  add(waiter: Waiter, isAdmitted = false): boolean {
    const now = performance.now();
    const tier = TIERS.indexOf(waiter.tier);
    const caller = this.#callers.get(waiter.callerId, now);
    const table = this.#tableOf(waiter.relation);
    if (!isAdmitted && !this.#hasPlace(caller, table, tier)) return false;
    this.#entries.push({ waiter, caller, table, tier, since: now });
    adjust(this.#waitingByTier, tier, 1);
    caller.waiting++;
    table.waiting++;
    return true;
  }

  #hasPlace(caller: Caller, table: Table, tier: number): boolean {
    const limits = this.#queueLimits;
    if (sumUpTo(tier, this.#waitingByTier) >= (limits.tier[tier] ?? 0)) return false;
    return caller.waiting < limits.caller && table.waiting < (limits.table[tier] ?? 0);
  }

  /** Whether a waiting query may use a connection now. */
  hasEligible(): boolean {
    return this.#best() >= 0;
  }

  /** Dequeues the next query, with its lease; null when none may run now. */
  next(): { waiter: Waiter; lease: Lease } | null {
    for (let best; (best = this.#best()) >= 0;) {
      const entry = this.#remove(best);
      if (entry.waiter.isStillNeeded()) return { waiter: entry.waiter, lease: this.#lease(entry) };
      entry.waiter.fail(new QueryAbandoned());
    }
    return null;
  }

  /** Dequeues all queries. */
  drain(): Waiter[] {
    const drained: Waiter[] = [];
    while (this.#entries.length > 0) drained.push(this.#remove(0).waiter);
    return drained;
  }

  /** Dequeues the queries that have waited longer than this, or whose result is no longer needed. */
  removeExpired(timeoutMs: number): Waiter[] {
    const addedBefore = performance.now() - timeoutMs;
    const found: Waiter[] = [];
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i];
      if (entry && (entry.since < addedBefore || !entry.waiter.isStillNeeded()))
        found.push(this.#remove(i).waiter);
    }
    return found;
  }

  /** Index of the next entry, -1 for none. */
  #best(): number {
    const now = performance.now();
    this.#countLong(now);
    let best = -1;
    let bestTime = Infinity;
    for (let i = 0; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry;
      const time = effectiveArrival(entry, now);
      if (time >= bestTime || !this.#hasRoom(entry, now)) continue;
      best = i;
      bestTime = time;
    }
    return best;
  }

  #countLong(now: number): void {
    this.#longByTier.fill(0);
    for (const lease of this.#leases) if (lease.checkLong(now)) adjust(this.#longByTier, lease.tier, 1);
  }

  #hasRoom({ caller, table, tier }: Entry, now: number): boolean {
    const limits = this.#runLimits;
    if (caller.isPaused(now) || caller.running >= limits.caller) return false;
    if (caller.sendsLongQueries(now) && sumUpTo(tier, this.#longByTier) >= (limits.long[tier] ?? 0))
      return false;
    if (table.running >= (limits.table[tier] ?? 0)) return false;
    if (sumUpTo(tier, this.#runningByTier) >= (limits.tier[tier] ?? 0)) return false;
    // Counts only when the caller runs enough queries to reach the limit.
    return caller.running < limits.callerTable || this.#runningOf(caller, table) < limits.callerTable;
  }

  #runningOf(caller: Caller, table: Table): number {
    let running = 0;
    for (const lease of this.#leases) if (lease.caller === caller && lease.table === table) running++;
    return running;
  }

  #remove(index: number): Entry {
    const entry = this.#entries[index] as Entry;
    const last = this.#entries.pop() as Entry;
    if (entry !== last) this.#entries[index] = last;
    adjust(this.#waitingByTier, entry.tier, -1);
    entry.caller.waiting--;
    entry.table.waiting--;
    return entry;
  }

  #lease({ caller, table, tier, waiter, since }: Entry): Lease {
    this.#started++;
    this.#waitedMs += performance.now() - since;
    caller.running++;
    table.running++;
    adjust(this.#runningByTier, tier, 1);
    const lease = new QueueLease({ caller, table, tier }, WEIGHTS[waiter.tier], (ended) => {
      adjust(this.#runningByTier, tier, -1);
      this.#leases.delete(ended);
    });
    this.#leases.add(lease);
    return lease;
  }

  #tableOf([schema, name]: Relation): Table {
    let tables = this.#tables.get(schema);
    if (!tables) this.#tables.set(schema, (tables = new Map<string, Table>()));
    let table = tables.get(name);
    if (!table) tables.set(name, (table = { running: 0, waiting: 0 }));
    return table;
  }
}

class QueueLease implements Lease {
  readonly caller: Caller;
  readonly table: Table;
  readonly tier: number;
  readonly #weight: number;
  readonly #ended: (lease: QueueLease) => void;
  readonly #startedAt = performance.now();
  readonly isExpectedLong: boolean;
  #holdsConnection = true;
  #isHeld = true;

  constructor(
    { caller, table, tier }: Pick<Entry, "caller" | "table" | "tier">,
    weight: number,
    ended: (lease: QueueLease) => void,
  ) {
    this.caller = caller;
    this.table = table;
    this.tier = tier;
    this.#weight = weight;
    this.#ended = ended;
    this.isExpectedLong = caller.sendsLongQueries(this.#startedAt);
  }

  /** Whether the query is long. Records it with the caller, so that its next queries count as long from their start. */
  checkLong(now: number): boolean {
    return this.caller.noteDuration(this.#startedAt, now) || this.isExpectedLong;
  }

  release(timedOut = false): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.releaseConnection();
    this.caller.running--;
    if (timedOut) this.caller.penalize(performance.now());
  }

  releaseConnection(): void {
    if (!this.#holdsConnection) return;
    this.#holdsConnection = false;
    this.table.running--;
    this.#ended(this);
    const now = performance.now();
    this.caller.noteDuration(this.#startedAt, now);
    this.caller.use((now - this.#startedAt) / this.#weight, now);
  }
}

/** Arrival time of a query, adjusted by its tier and its caller's recent use. */
function effectiveArrival({ caller, since, tier }: Entry, now: number): number {
  const penalty = Math.min(MAX_USE_PENALTY_MS, PENALTY_PER_USED_MS * caller.usedMs(now));
  return since + penalty - tier * TIER_ADVANTAGE_MS;
}

/** The count of a tier and of all lower tiers. */
function sumUpTo(tier: number, counts: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i <= tier; i++) sum += counts[i] ?? 0;
  return sum;
}

/** Shares as absolute numbers; tiers by index in `TIERS`. */
interface Limits {
  readonly caller: number;
  /** Limit of one caller for one table. */
  readonly callerTable: number;
  /** Limit of a tier and all lower tiers. */
  readonly tier: readonly number[];
  /** Limit of one table for a tier and all lower tiers. */
  readonly table: readonly number[];
  /** Limit of the long queries of a tier and all lower tiers. */
  readonly long: readonly number[];
}

function limitsOf(total: number, perCaller?: number): Limits {
  const caller = perCaller ?? shareOf(total, SHARES.caller);
  const tier = TIERS.map((each) => shareOf(total, SHARES.tier[each]));
  return {
    caller,
    callerTable: perCaller ?? shareOf(caller, SHARES.table),
    tier,
    table: tier.map((all) => shareOf(all, SHARES.table)),
    // Only the pool for streams sets `perCaller`. All streams are long: the tier's limit applies.
    long: perCaller === undefined ? TIERS.map((each) => shareOf(total, SHARES.long[each])) : tier,
  };
}

function shareOf(total: number, share: number): number {
  return Math.max(1, Math.floor(total * share));
}

function adjust(counts: number[], index: number, by: 1 | -1): void {
  counts[index] = (counts[index] ?? 0) + by;
}

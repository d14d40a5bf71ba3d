import type { Relation } from "../model/endpoint.js";
import { type Tier, TIERS } from "../model/tier.js";
import { QueryAbandoned } from "../query/warehouse.js";

/** Who a query is for and what it reads: connections are shared out by these (runtime/README.md, Limits). */
export interface QueryTicket {
  /** Key id or network address. */
  readonly callerId: string;
  readonly tier: Tier;
  readonly relation: Relation;
}

/** A query that waits for a connection. */
export interface Waiter extends QueryTicket {
  isStillNeeded(): boolean;
  /** Gets a connection: `lease` counts it until it is released. */
  start(lease: Lease): void;
  fail(error: Error): void;
}

/**
 * Shares of connections, and of places in the queue. A tier's is for it and all below it; one table may take its share
 * of the whole, of what a tier may take, and of what a caller may take.
 */
export const SHARES: {
  readonly caller: number;
  readonly table: number;
  readonly tier: Readonly<Record<Tier, number>>;
} = { caller: 1 / 2, table: 3 / 4, tier: { tier0: 5 / 8, tier1: 6 / 8, tier2: 7 / 8, tier3: 1 } };

/** The connection time of a caller counts this many times less than that of a tier0 caller. */
const WEIGHTS: Readonly<Record<Tier, number>> = { tier0: 1, tier1: 2, tier2: 4, tier3: 8 };

/** A query goes before one of the tier below that has come this much earlier. */
const TIER_ADVANTAGE_MS = 250;

/** Part of a connection that a caller may use all the time without waiting longer than others. */
const FREE_USE = 1 / 10;

/** A query waits behind others that came this much later for each millisecond of connection time that its caller used. */
const WAIT_PER_USE = 2;
const LONGEST_WAIT_MS = 5000;

/** The pause after a caller's query ran into its time limit; it doubles with each further one. */
const FIRST_PENALTY_MS = 1000;
const LONGEST_PENALTY_MS = 30_000;
/** So long after its last timeout a caller starts from the first pause again. */
const FORGIVEN_AFTER_MS = 60_000;

/** Callers remembered before those that are idle are forgotten. */
const MANY_CALLERS = 10_000;

interface Caller {
  running: number;
  waiting: number;
  /** Connection time used beyond `FREE_USE`, as it was at `usedAt`. */
  usedMs: number;
  usedAt: number;
  timeouts: number;
  lastTimeoutAt: number;
  pausedUntil: number;
}

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

/** A connection that a query holds, as far as sharing goes. */
export interface Lease {
  /** `timedOut`: the query ran into its time limit. */
  release(timedOut?: boolean): void;
  /** Gives the place at the table back while the caller keeps its own: a stream that is being read from the spool. */
  releaseConnection(): void;
}

/**
 * Decides which query gets the next connection: among those within their shares, the one that waits longest. A caller
 * that has used much connection time lately counts as having come later, one of a higher tier as having come earlier.
 */
export class FairQueue {
  readonly #running: Limits;
  readonly #queued: Limits;
  readonly #entries: Entry[] = [];
  readonly #leases = new Set<QueueLease>();
  readonly #callers = new Map<string, Caller>();
  #manyCallers = MANY_CALLERS;
  /** By schema and name; as many as there are relations. */
  readonly #tables = new Map<string, Map<string, Table>>();
  readonly #runningByTier = TIERS.map(() => 0);
  readonly #waitingByTier = TIERS.map(() => 0);

  constructor(options: { capacity: number; maxWaiting: number; perCaller?: number }) {
    this.#running = limitsOf(options.capacity, options.perCaller);
    this.#queued = limitsOf(options.maxWaiting);
  }

  get waitingCount(): number {
    return this.#entries.length;
  }

  /** False when the queue, or the caller's, table's or tier's share of it, is full. */
  add(waiter: Waiter): boolean {
    const now = performance.now();
    const tier = TIERS.indexOf(waiter.tier);
    const caller = this.#callerOf(waiter.callerId, now);
    const table = this.#tableOf(waiter.relation);
    const limits = this.#queued;
    if (upTo(tier, this.#waitingByTier) >= (limits.tier[tier] ?? 0)) return false;
    if (caller.waiting >= limits.caller || table.waiting >= (limits.table[tier] ?? 0)) return false;
    this.#entries.push({ waiter, caller, table, tier, since: now });
    count(this.#waitingByTier, tier, 1);
    caller.waiting++;
    table.waiting++;
    return true;
  }

  /** Whether a query could use a connection now. */
  hasEligible(): boolean {
    return this.#best() >= 0;
  }

  /** Takes the next query off the queue, with its lease; null when none may run now. */
  next(): { waiter: Waiter; lease: Lease } | null {
    for (let best; (best = this.#best()) >= 0;) {
      const entry = this.#remove(best);
      if (entry.waiter.isStillNeeded()) return { waiter: entry.waiter, lease: this.#lease(entry) };
      entry.waiter.fail(new QueryAbandoned());
    }
    return null;
  }

  /** Takes those off the queue that have waited longer than this, or whose answer is not needed any more. */
  expired(patienceMs: number): Waiter[] {
    const before = performance.now() - patienceMs;
    const found: Waiter[] = [];
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i];
      if (entry && (entry.since < before || !entry.waiter.isStillNeeded()))
        found.push(this.#remove(i).waiter);
    }
    return found;
  }

  /** Index of the entry that goes next, -1 for none. */
  #best(): number {
    const now = performance.now();
    let best = -1;
    let bestTime = Infinity;
    for (let i = 0; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry;
      const time = timeInLine(entry, now);
      if (time >= bestTime || !this.#hasRoom(entry, now)) continue;
      best = i;
      bestTime = time;
    }
    return best;
  }

  #hasRoom({ caller, table, tier }: Entry, now: number): boolean {
    const limits = this.#running;
    if (caller.pausedUntil > now || caller.running >= limits.caller) return false;
    if (table.running >= (limits.table[tier] ?? 0)) return false;
    if (upTo(tier, this.#runningByTier) >= (limits.tier[tier] ?? 0)) return false;
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
    count(this.#waitingByTier, entry.tier, -1);
    entry.caller.waiting--;
    entry.table.waiting--;
    return entry;
  }

  #lease({ caller, table, tier, waiter }: Entry): Lease {
    caller.running++;
    table.running++;
    count(this.#runningByTier, tier, 1);
    const lease = new QueueLease(caller, table, WEIGHTS[waiter.tier], (ended) => {
      count(this.#runningByTier, tier, -1);
      this.#leases.delete(ended);
    });
    this.#leases.add(lease);
    return lease;
  }

  #callerOf(id: string, now: number): Caller {
    const known = this.#callers.get(id);
    if (known) return known;
    if (this.#callers.size >= this.#manyCallers) this.#forgetIdle(now);
    const caller: Caller = {
      running: 0,
      waiting: 0,
      usedMs: 0,
      usedAt: now,
      timeouts: 0,
      lastTimeoutAt: -Infinity,
      pausedUntil: 0,
    };
    this.#callers.set(id, caller);
    return caller;
  }

  #forgetIdle(now: number): void {
    for (const [id, caller] of this.#callers) {
      const isBusy = caller.running > 0 || caller.waiting > 0 || usedMs(caller, now) > 0;
      if (!isBusy && now - caller.lastTimeoutAt > FORGIVEN_AFTER_MS) this.#callers.delete(id);
    }
    this.#manyCallers = Math.max(MANY_CALLERS, 2 * this.#callers.size);
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
  readonly #weight: number;
  readonly #ended: (lease: QueueLease) => void;
  readonly #startedAt = performance.now();
  #holdsConnection = true;
  #isHeld = true;

  constructor(caller: Caller, table: Table, weight: number, ended: (lease: QueueLease) => void) {
    this.caller = caller;
    this.table = table;
    this.#weight = weight;
    this.#ended = ended;
  }

  release(timedOut = false): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.releaseConnection();
    this.caller.running--;
    if (timedOut) penalize(this.caller);
  }

  releaseConnection(): void {
    if (!this.#holdsConnection) return;
    this.#holdsConnection = false;
    this.table.running--;
    this.#ended(this);
    const now = performance.now();
    this.caller.usedMs = usedMs(this.caller, now) + (now - this.#startedAt) / this.#weight;
    this.caller.usedAt = now;
  }
}

/** When a query counts as having come. */
function timeInLine({ caller, since, tier }: Entry, now: number): number {
  const wait = Math.min(LONGEST_WAIT_MS, WAIT_PER_USE * usedMs(caller, now));
  return since + wait - tier * TIER_ADVANTAGE_MS;
}

function usedMs({ usedMs, usedAt }: Caller, now: number): number {
  return usedMs === 0 ? 0 : Math.max(0, usedMs - FREE_USE * (now - usedAt));
}

function penalize(caller: Caller): void {
  const now = performance.now();
  caller.timeouts = now - caller.lastTimeoutAt > FORGIVEN_AFTER_MS ? 1 : caller.timeouts + 1;
  caller.lastTimeoutAt = now;
  const pauseMs = Math.min(LONGEST_PENALTY_MS, FIRST_PENALTY_MS * 2 ** (caller.timeouts - 1));
  caller.pausedUntil = now + pauseMs;
}

/** The count of a tier and of all below it. */
function upTo(tier: number, counts: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i <= tier; i++) sum += counts[i] ?? 0;
  return sum;
}

/** Shares of a number of connections or places; tiers by their index in `TIERS`. */
interface Limits {
  readonly caller: number;
  /** What a caller may take for one table. */
  readonly callerTable: number;
  /** What a tier and all below it may take. */
  readonly tier: readonly number[];
  /** What one table may take for a tier and all below it. */
  readonly table: readonly number[];
}

function limitsOf(total: number, perCaller?: number): Limits {
  const caller = perCaller ?? shareOf(total, SHARES.caller);
  const tier = TIERS.map((each) => shareOf(total, SHARES.tier[each]));
  return {
    caller,
    callerTable: perCaller ?? shareOf(caller, SHARES.table),
    tier,
    table: tier.map((all) => shareOf(all, SHARES.table)),
  };
}

function shareOf(total: number, share: number): number {
  return Math.max(1, Math.floor(total * share));
}

function count(counts: number[], index: number, by: 1 | -1): void {
  counts[index] = (counts[index] ?? 0) + by;
}

import type { Relation } from "../model/endpoint.js";
import { type Tier, TIERS } from "../model/tier.js";
import { QueryAbandoned } from "../query/warehouse.js";

/** Who a query is for and what it reads: what connections are shared out by (runtime/README.md, Limits). */
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

/** A caller of a higher tier gets this many times the connection time of a tier0 caller while both wait. */
const WEIGHTS: Readonly<Record<Tier, number>> = { tier0: 1, tier1: 2, tier2: 4, tier3: 8 };

/** The pause after a caller's query ran into its time limit; it doubles with each further one. */
const FIRST_PENALTY_MS = 1000;
const LONGEST_PENALTY_MS = 30_000;
/** So long after its last timeout a caller starts from the first pause again. */
const FORGIVEN_AFTER_MS = 60_000;

/** Share of the latest duration in what a caller's next query is expected to take. */
const SMOOTHING = 0.2;

interface Caller {
  readonly id: string;
  running: number;
  readonly runningByTable: Map<string, number>;
  /** Waiting queries by table, each in the order of arrival. */
  readonly waiting: Map<string, Entry[]>;
  waitingCount: number;
  /** Connection time used, divided by the weight of the tier. */
  usedMs: number;
  expectedMs: number;
  timeouts: number;
  lastTimeoutAt: number;
  pausedUntil: number;
}

interface Entry {
  readonly waiter: Waiter;
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
 * Decides which query gets the next connection. Among callers that are within their shares it is the one that has used
 * the least connection time, weighted by tier; at equal need the higher tier, then the one that waits longest.
 */
export class FairQueue {
  readonly #running: Limits;
  readonly #queued: Limits;
  readonly #callers = new Map<string, Caller>();
  readonly #callersWaiting = new Set<Caller>();
  readonly #runningByTable = new Map<string, number>();
  readonly #waitingByTable = new Map<string, number>();
  readonly #runningByTier: Record<Tier, number> = { tier0: 0, tier1: 0, tier2: 0, tier3: 0 };
  readonly #waitingByTier: Record<Tier, number> = { tier0: 0, tier1: 0, tier2: 0, tier3: 0 };
  #waiting = 0;
  /** What a caller that comes anew is taken to have used, so that it neither waits nor pushes in. */
  #floorMs = 0;

  constructor(options: { capacity: number; maxWaiting: number; perCaller?: number }) {
    this.#running = limitsOf(options.capacity, options.perCaller);
    this.#queued = limitsOf(options.maxWaiting);
  }

  get waitingCount(): number {
    return this.#waiting;
  }

  /** False when the queue, or the caller's, table's or tier's share of it, is full. */
  add(waiter: Waiter): boolean {
    const table = tableOf(waiter);
    const caller = this.#callerOf(waiter.callerId);
    const ofTier = this.#queued.byTier[waiter.tier];
    if (
      upTo(waiter.tier, this.#waitingByTier) >= ofTier.all ||
      caller.waitingCount >= this.#queued.caller ||
      (this.#waitingByTable.get(table) ?? 0) >= ofTier.table
    ) {
      this.#forget(caller);
      return false;
    }
    const entries = caller.waiting.get(table);
    const entry = { waiter, since: performance.now() };
    if (entries) entries.push(entry);
    else caller.waiting.set(table, [entry]);
    this.#callersWaiting.add(caller);
    this.#countWaiting(caller, waiter, 1);
    return true;
  }

  /** Whether a query could use a connection now. */
  hasEligible(): boolean {
    return this.#best() !== null;
  }

  /** Takes the next query off the queue, with its lease; null when none may run now. */
  next(): { waiter: Waiter; lease: Lease } | null {
    for (let best; (best = this.#best()) !== null;) {
      const { caller, table } = best;
      const waiter = this.#remove(caller, table);
      if (waiter.isStillNeeded()) return { waiter, lease: this.#lease(caller, waiter, table) };
      waiter.fail(new QueryAbandoned());
      this.#forget(caller);
    }
    return null;
  }

  /** Takes those off the queue that have waited longer than this, or whose answer is not needed any more. */
  expired(patienceMs: number): Waiter[] {
    const before = performance.now() - patienceMs;
    const found: Waiter[] = [];
    for (const caller of [...this.#callersWaiting]) {
      for (const [table, entries] of [...caller.waiting]) {
        while (entries[0] && (entries[0].since < before || !entries[0].waiter.isStillNeeded()))
          found.push(this.#remove(caller, table));
      }
      this.#forget(caller);
    }
    return found;
  }

  #callerOf(id: string): Caller {
    const known = this.#callers.get(id);
    if (known) {
      known.usedMs =
        known.running + known.waitingCount > 0 ? known.usedMs : Math.max(known.usedMs, this.#floorMs);
      return known;
    }
    const caller: Caller = {
      id,
      running: 0,
      runningByTable: new Map(),
      waiting: new Map(),
      waitingCount: 0,
      usedMs: this.#floorMs,
      expectedMs: 1,
      timeouts: 0,
      lastTimeoutAt: -Infinity,
      pausedUntil: 0,
    };
    this.#callers.set(id, caller);
    return caller;
  }

  #best(): { caller: Caller; table: string } | null {
    const now = performance.now();
    let best: { caller: Caller; table: string; entry: Entry; need: number } | null = null;
    for (const caller of this.#callersWaiting) {
      if (caller.pausedUntil > now || caller.running >= this.#running.caller) continue;
      for (const [table, [entry]] of caller.waiting) {
        if (!entry || !this.#hasRoom(caller, table, entry.waiter.tier)) continue;
        const weight = WEIGHTS[entry.waiter.tier];
        const need = caller.usedMs + (caller.running * caller.expectedMs) / weight;
        if (best === null || isBefore({ entry, need }, best)) best = { caller, table, entry, need };
      }
    }
    return best;
  }

  #hasRoom(caller: Caller, table: string, tier: Tier): boolean {
    const ofTier = this.#running.byTier[tier];
    return (
      (this.#runningByTable.get(table) ?? 0) < ofTier.table &&
      upTo(tier, this.#runningByTier) < ofTier.all &&
      (caller.runningByTable.get(table) ?? 0) < this.#running.callerTable
    );
  }

  #remove(caller: Caller, table: string): Waiter {
    const entries = caller.waiting.get(table) ?? [];
    const { waiter } = entries.shift() as Entry;
    if (entries.length === 0) caller.waiting.delete(table);
    this.#countWaiting(caller, waiter, -1);
    if (caller.waitingCount === 0) this.#callersWaiting.delete(caller);
    return waiter;
  }

  #countWaiting(caller: Caller, waiter: Waiter, by: 1 | -1): void {
    caller.waitingCount += by;
    this.#waiting += by;
    this.#waitingByTier[waiter.tier] += by;
    add(this.#waitingByTable, tableOf(waiter), by);
  }

  #lease(caller: Caller, { tier }: Waiter, table: string): Lease {
    const startedAt = performance.now();
    let holdsConnection = true;
    let isHeld = true;
    caller.running++;
    this.#runningByTier[tier]++;
    add(this.#runningByTable, table, 1);
    add(caller.runningByTable, table, 1);
    this.#floorMs = Math.max(this.#floorMs, caller.usedMs);
    const releaseConnection = (): void => {
      if (!holdsConnection) return;
      holdsConnection = false;
      this.#runningByTier[tier]--;
      add(this.#runningByTable, table, -1);
      add(caller.runningByTable, table, -1);
      const ms = performance.now() - startedAt;
      caller.usedMs += ms / WEIGHTS[tier];
      caller.expectedMs += SMOOTHING * (ms - caller.expectedMs);
    };
    const release = (timedOut = false): void => {
      if (!isHeld) return;
      isHeld = false;
      releaseConnection();
      caller.running--;
      if (timedOut) penalize(caller);
      this.#forget(caller);
    };
    return { release, releaseConnection };
  }

  /** A caller that neither waits nor runs, and is as good as new, needs no memory. */
  #forget(caller: Caller): void {
    if (caller.running > 0 || caller.waitingCount > 0 || caller.usedMs > this.#floorMs) return this.#sweep();
    if (performance.now() - caller.lastTimeoutAt < FORGIVEN_AFTER_MS) return this.#sweep();
    this.#callers.delete(caller.id);
  }

  #sweep(): void {
    if (this.#callers.size < MOST_CALLERS) return;
    for (const [id, { running, waitingCount }] of this.#callers)
      if (running === 0 && waitingCount === 0) this.#callers.delete(id);
  }
}

/** Callers remembered at most, besides those at work. */
const MOST_CALLERS = 10_000;

function penalize(caller: Caller): void {
  const now = performance.now();
  caller.timeouts = now - caller.lastTimeoutAt > FORGIVEN_AFTER_MS ? 1 : caller.timeouts + 1;
  caller.lastTimeoutAt = now;
  const pauseMs = Math.min(LONGEST_PENALTY_MS, FIRST_PENALTY_MS * 2 ** (caller.timeouts - 1));
  caller.pausedUntil = now + pauseMs;
}

function isBefore(
  a: { readonly entry: Entry; readonly need: number },
  b: { readonly entry: Entry; readonly need: number },
): boolean {
  if (a.need !== b.need) return a.need < b.need;
  const byTier = TIERS.indexOf(a.entry.waiter.tier) - TIERS.indexOf(b.entry.waiter.tier);
  return byTier === 0 ? a.entry.since < b.entry.since : byTier > 0;
}

/** The count of a tier and of all below it. */
function upTo(tier: Tier, counts: Readonly<Record<Tier, number>>): number {
  let sum = 0;
  for (const each of TIERS) {
    sum += counts[each];
    if (each === tier) break;
  }
  return sum;
}

/** Shares of a number of connections or places. */
interface Limits {
  readonly caller: number;
  /** What a caller may take for one table. */
  readonly callerTable: number;
  /** What a tier and all below it may take, and what one table may take for them. */
  readonly byTier: Readonly<Record<Tier, { readonly all: number; readonly table: number }>>;
}

function limitsOf(count: number, perCaller?: number): Limits {
  const caller = perCaller ?? shareOf(count, SHARES.caller);
  const ofTier = (tier: Tier): { all: number; table: number } => {
    const all = shareOf(count, SHARES.tier[tier]);
    return { all, table: shareOf(all, SHARES.table) };
  };
  return {
    caller,
    callerTable: perCaller ?? shareOf(caller, SHARES.table),
    byTier: {
      tier0: ofTier("tier0"),
      tier1: ofTier("tier1"),
      tier2: ofTier("tier2"),
      tier3: ofTier("tier3"),
    },
  };
}

function shareOf(count: number, share: number): number {
  return Math.max(1, Math.floor(count * share));
}

/** No name holds the separator: PostgreSQL knows no such character. */
function tableOf({ relation: [schema, name] }: QueryTicket): string {
  return `${schema}\0${name}`;
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

import type { Relation } from "../model/endpoint.js";
import type { Caller } from "../model/caller.js";
import { type PerTier, type Tier, TIERS } from "../model/tier.js";

/** What decides the shares of a caller. */
export type Sharer = Pick<Caller, "id" | "tier">;

/** Largest parts of a resource. */
interface Shares {
  readonly caller: number;
  readonly table: number;
  /** Each includes all lower tiers. */
  readonly tiers: Readonly<Record<Tier, number>>;
}

/** Parts that each tier and the lower ones may take together. */
export const TIER_SHARES: Readonly<Record<Tier, number>> = {
  tier0: 5 / 8,
  tier1: 6 / 8,
  tier2: 7 / 8,
  tier3: 1,
};

/**
 * Without the caller's share, 200 responses that one key did not read stopped every tier for four minutes. The tiers' keep
 * anonymous addresses, which cost nothing, from taking all; the table's keeps a slow view from it. Each has a scenario that
 * fails without it (tests/core/warehouse/fair-queue.test.ts).
 */
const SHARES: Shares = { caller: 1 / 2, table: 3 / 4, tiers: TIER_SHARES };

/** What callers share: places in the queue, connections, streams, memory for responses (runtime/docs/limits.md). */
export class SharedResource {
  /** The parts in the resource's own unit. */
  readonly #parts: Shares;
  /** Bounded by the requests that are under way: what is given back is deleted. */
  readonly #ofCallers = new Map<string, number>();
  /** Bounded by the relations. */
  readonly #ofTables = new Map<string, number>();
  readonly #ofTiers: PerTier<number> = { tier0: 0, tier1: 0, tier2: 0, tier3: 0 };

  constructor(total: number, shares: Partial<Shares> = {}) {
    const { caller, table, tiers } = { ...SHARES, ...shares };
    // At least one: small pools too serve every tier.
    const part = (share: number): number => Math.max(1, Math.floor(total * share));
    const { tier0, tier1, tier2, tier3 } = tiers;
    this.#parts = {
      caller: part(caller),
      table: part(table),
      tiers: { tier0: part(tier0), tier1: part(tier1), tier2: part(tier2), tier3: part(tier3) },
    };
  }

  /** Whether the shares of the caller, its tier and the table (`tableName`) are not used up. */
  hasRoom(caller: Sharer, table?: string): boolean {
    return (table === undefined || this.hasRoomForTable(table)) && this.#hasRoomFor(caller);
  }

  hasRoomForTable(table: string): boolean {
    return (this.#ofTables.get(table) ?? 0) < this.#parts.table;
  }

  #hasRoomFor({ id, tier }: Sharer): boolean {
    if ((this.#ofCallers.get(id) ?? 0) >= this.#parts.caller) return false;
    let taken = 0;
    for (const each of TIERS) {
      const share = this.#parts.tiers[each];
      // What lower tiers have taken beyond their share is none of the others': 12 runs instead of 20 else (`LONG_SHARES`).
      taken = Math.min(share, taken + this.#ofTiers[each]);
      if (each === tier) return taken < share;
    }
    return false;
  }

  /** Takes a part, or gives one back: then the amount is negative. */
  take(caller: Sharer, amount: number, table?: string): void {
    this.takeFromOthers(caller, amount, table);
    this.takeFromCaller(caller, amount);
  }

  /** As `take`, but for the caller's own share: with a negative amount that stays in use. */
  takeFromOthers({ tier }: Sharer, amount: number, table?: string): void {
    this.#ofTiers[tier] += amount;
    if (table !== undefined) add(this.#ofTables, table, amount);
  }

  takeFromCaller({ id }: Sharer, amount: number): void {
    add(this.#ofCallers, id, amount);
  }
}

function add(taken: Map<string, number>, name: string, amount: number): void {
  const sum = (taken.get(name) ?? 0) + amount;
  if (sum === 0) taken.delete(name);
  else taken.set(name, sum);
}

export function tableName([schema, name]: Relation): string {
  return `${schema}\0${name}`;
}

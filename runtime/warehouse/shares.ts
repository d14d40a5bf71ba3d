import type { Relation } from "../model/endpoint.js";
import type { Caller } from "../model/caller.js";
import { type Tier, TIERS } from "../model/tier.js";

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
 * fails without it (tests/warehouse/fair-queue.test.ts).
 */
const SHARES: Shares = {
  caller: 1 / 2,
  table: 3 / 4,
  tiers: TIER_SHARES,
};

/** What callers share: places in the queue, connections, streams, memory for responses (runtime/docs/limits.md). */
export class SharedResource {
  /** The parts in the resource's own unit. */
  readonly #parts: Shares;
  /** Taken by each caller, table and tier. */
  readonly #taken = new Map<string, number>();

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

  /** Whether the shares of the caller, its tier and the table are not used up. */
  hasRoom({ id, tier }: Sharer, relation?: Relation): boolean {
    const { caller, table, tiers } = this.#parts;
    if (this.#takenBy(id) >= caller) return false;
    if (relation && this.#takenBy(nameOf(relation)) >= table) return false;
    let taken = 0;
    for (const each of TIERS) {
      const share = tiers[each];
      // What lower tiers have taken beyond their share is none of the others': 12 runs instead of 20 else (`LONG_SHARES`).
      taken = Math.min(share, taken + this.#takenBy(each));
      if (each === tier) return taken < share;
    }
    return false;
  }

  /** Takes a part, or gives one back: then the amount is negative. */
  take(caller: Sharer, amount: number, relation?: Relation): void {
    this.takeFromOthers(caller, amount, relation);
    this.takeFromCaller(caller, amount);
  }

  /** As `take`, but for the caller's own share: with a negative amount that stays in use. */
  takeFromOthers({ tier }: Sharer, amount: number, relation?: Relation): void {
    this.#add(tier, amount);
    if (relation) this.#add(nameOf(relation), amount);
  }

  takeFromCaller({ id }: Sharer, amount: number): void {
    this.#add(id, amount);
  }

  #takenBy(name: string): number {
    return this.#taken.get(name) ?? 0;
  }

  #add(name: string, amount: number): void {
    const taken = this.#takenBy(name) + amount;
    if (taken === 0) this.#taken.delete(name);
    else this.#taken.set(name, taken);
  }
}

function nameOf(relation: Relation): string {
  return `table ${relation.join("\0")}`;
}

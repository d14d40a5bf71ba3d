/** Access tiers, lowest first; a caller of one tier may call everything at or below it (data-api.md §5). */
export const TIERS = ["tier0", "tier1", "tier2", "tier3"] as const;

export type Tier = (typeof TIERS)[number];

/** What people call the tiers (data-api.md §5). */
export const TIER_NAMES: Readonly<Record<Tier, string>> = {
  tier0: "Public",
  tier1: "Partner",
  tier2: "Premium",
  tier3: "Internal",
};

const RANK: Readonly<Record<Tier, number>> = { tier0: 0, tier1: 1, tier2: 2, tier3: 3 };

/** Whether text from outside names a tier. */
export function isTier(text: unknown): text is Tier {
  return (TIERS as readonly unknown[]).includes(text);
}

/** Whether a caller of tier `held` may call what asks for tier `required`. */
export function allows(held: Tier, required: Tier): boolean {
  return RANK[held] >= RANK[required];
}

/** Something for each tier. */
export type PerTier<T> = Record<Tier, T>;

/** Length of the fixed window, which starts at a caller's first request (data-api.md §8). */
export const RATE_WINDOW_SECONDS = 60;

/** Requests per window by the caller's own tier (data-api.md §8). */
export const RATE_LIMITS: Readonly<Record<Tier, number>> = {
  tier0: 100,
  tier1: 500,
  tier2: 1000,
  tier3: 10_000,
};

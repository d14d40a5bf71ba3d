/** Access tiers, lowest first. A caller may call endpoints of its tier and below (runtime/docs/keys.md). */
export const TIERS = ["tier0", "tier1", "tier2", "tier3"] as const;

export type Tier = (typeof TIERS)[number];

/** Display names of the tiers (runtime/docs/limits.md). */
export const TIER_NAMES: Readonly<Record<Tier, string>> = {
  tier0: "Public",
  tier1: "Partner",
  tier2: "Premium",
  tier3: "Internal",
};

const RANK: Readonly<Record<Tier, number>> = { tier0: 0, tier1: 1, tier2: 2, tier3: 3 };

/** Whether a value is the name of a tier. */
export function isTier(text: unknown): text is Tier {
  return (TIERS as readonly unknown[]).includes(text);
}

/** Whether a caller of tier `held` may call what requires tier `required`. */
export function allows(held: Tier, required: Tier): boolean {
  return RANK[held] >= RANK[required];
}

/** Whether a list, where there is one, names the path or its category. */
export function allowsPath(allowed: readonly string[] | null, path: string): boolean {
  return allowed === null || allowed.includes(path) || allowed.includes(path.split("/")[2] ?? "");
}

/** A value for each tier. */
export type PerTier<T> = Record<Tier, T>;

/** Length of the fixed window, which starts at a caller's first request (runtime/docs/limits.md). */
export const RATE_WINDOW_SECONDS = 60;

/** Requests per window by the caller's tier (runtime/docs/limits.md). */
export const RATE_LIMITS: Readonly<Record<Tier, number>> = {
  tier0: 100,
  tier1: 500,
  tier2: 1000,
  tier3: 10_000,
};

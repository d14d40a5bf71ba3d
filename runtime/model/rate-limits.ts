import type { Tier } from "./tier.js";

/** Length of the fixed window, which starts at a caller's first request (data-api.md §8). */
export const RATE_WINDOW_SECONDS = 60;

/** Requests per window by the caller's own tier (data-api.md §8). */
export const RATE_LIMITS: Readonly<Record<Tier, number>> = {
  tier0: 100,
  tier1: 500,
  tier2: 1000,
  tier3: 10_000,
};

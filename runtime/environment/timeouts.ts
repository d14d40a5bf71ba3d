import { type PerTier, RATE_LIMITS, TIERS } from "../model/tier.js";

/** Expected form of `STATEMENT_TIMEOUT_MS`, for messages. */
export const TIMEOUTS_EXPECTED =
  "a number of milliseconds from 0 to 2147483647, or such numbers by tier, as in tier0=5000,tier3=60000";

const MAX_MS = 2_147_483_647;
const DEFAULT_MS = 30_000;

export const DEFAULT_TIMEOUTS = forAll(DEFAULT_MS);

/** Defaults of `STREAM_TIMEOUT_MS`: higher tiers may read longer results. */
export const DEFAULT_STREAM_TIMEOUTS: PerTier<number> = {
  tier0: 600_000,
  tier1: 1_200_000,
  tier2: 1_800_000,
  tier3: 3_600_000,
};

/** Expected form of `RATE_LIMITS`, for messages. */
export const RATE_LIMITS_EXPECTED =
  "a number of requests per minute from 1 to 2147483647, or such numbers by tier, as in tier0=60,tier3=20000";

export function readRateLimits(text: string): PerTier<number> | null {
  const limits = readTimeouts(text, RATE_LIMITS);
  return limits === null || Object.values(limits).includes(0) ? null : limits;
}

/** Reads one number for all tiers, or numbers by tier; null when the text is neither. */
export function readTimeouts(
  text: string,
  defaults: Readonly<PerTier<number>> = DEFAULT_TIMEOUTS,
): PerTier<number> | null {
  const single = millisecondsOf(text);
  if (single !== null) return forAll(single);
  const timeouts: PerTier<number> = { ...defaults };
  for (const part of text.split(",")) {
    const [name, number = "", ...more] = part.split("=").map((side) => side.trim());
    const tier = TIERS.find((each) => each === name);
    const milliseconds = millisecondsOf(number);
    if (tier === undefined || milliseconds === null || more.length > 0) return null;
    timeouts[tier] = milliseconds;
  }
  return timeouts;
}

function forAll(milliseconds: number): PerTier<number> {
  return { tier0: milliseconds, tier1: milliseconds, tier2: milliseconds, tier3: milliseconds };
}

function millisecondsOf(text: string): number | null {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Infinity;
  return number <= MAX_MS ? number : null;
}

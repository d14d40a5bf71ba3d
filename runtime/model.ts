/** What the generator shares with the runtime: the endpoint, the tiers, the errors. Light on purpose: it pulls in no library. */
export { TIERS, TIER_NAMES, isTier, type Tier } from "./auth/tier.js";
export * from "./endpoint/endpoint.js";
export { ERRORS, type ErrorCode } from "./endpoint/errors.js";
export { RATE_LIMITS, RATE_WINDOW_SECONDS } from "./rate-limit/limits.js";
export { readGenerationEnvironment, type GenerationEnvironment } from "./environment/generation.js";

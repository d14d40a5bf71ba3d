import type { Logger } from "pino";
import { FallbackStore, type RateLimitStore } from "./store.js";
import { MemoryStore } from "./memory-store.js";

/** Opens the windows of data-api.md §8: in the Redis at an address, for all processes together, or in this one. */
export function openRates(redisUrl: string | null, log: Logger): RateLimitStore {
  if (redisUrl === null) return new MemoryStore();
  // Loaded only where it is used: it takes a tenth of a second.
  const open = () => import("./redis-store.js").then(({ RedisStore }) => new RedisStore(redisUrl));
  return new FallbackStore(open, new MemoryStore(), log);
}

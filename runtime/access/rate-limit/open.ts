import type { Logger } from "pino";
import { FallbackStore, type RateLimitStore } from "./store.js";
import { MemoryStore } from "./memory-store.js";

/** Opens the store of rate limits (runtime/README.md, Limits): shared in Redis, or in this process without `redisUrl`. */
export function openRateLimitStore(redisUrl: string | null, log: Logger): RateLimitStore {
  if (redisUrl === null) return new MemoryStore();
  // Loaded only where it is used: loading takes 100 ms.
  const open = () => import("./redis-store.js").then(({ RedisStore }) => new RedisStore(redisUrl));
  return new FallbackStore(open, new MemoryStore(), log);
}

import type { Logger } from "pino";
import type { RedisLimits } from "./redis-store.js";
import { MemoryStore, type RateLimitStore } from "./memory-store.js";

/**
 * Opens the store of rate limits (runtime/docs/limits.md): shared in Redis, or in this process without `redisUrl`. Rejects where
 * the packages for Redis are not installed. They are loaded where they are used only: it takes 100 ms.
 */
export async function openRateLimitStore(
  redisUrl: string | null,
  log: Logger,
  limits?: RedisLimits,
): Promise<RateLimitStore> {
  if (redisUrl === null) return new MemoryStore();
  try {
    const { RedisStore } = await import("./redis-store.js");
    return new RedisStore(redisUrl, log, limits);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(
      "REDIS_URL needs two packages that are not installed: run `npm install ioredis rate-limiter-flexible`.",
      { cause: error },
    );
  }
}

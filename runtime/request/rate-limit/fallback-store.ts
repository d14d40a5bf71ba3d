import type { Logger } from "pino";
import { MemoryStore, type RateLimitStore, type RateWindow } from "./memory-store.js";
import type { RedisStore } from "./redis-store.js";

/** Opens the store of rate limits (runtime/docs/limits.md): shared in Redis, or in this process without `redisUrl`. */
export function openRateLimitStore(redisUrl: string | null, log: Logger): RateLimitStore {
  return redisUrl === null ? new MemoryStore() : new FallbackStore(redisUrl, log);
}

/** How long Redis counts as down after a failure. Without it a frozen Redis costs every request 250 ms. */
const DOWN_MS = 1000;

/**
 * Counts in Redis while it is reachable, otherwise in this process: limits then apply per process. Requests do not wait
 * for an unreachable Redis, and no promise rejects. The library's insurance limiter hides the failure, which must be
 * known: for the log, for `/health` and so that the next request does not wait.
 */
class FallbackStore implements RateLimitStore {
  degraded: string | null = null;
  readonly #local = new MemoryStore();
  readonly #log: Logger;
  #redis: RedisStore | null = null;
  /** The first attempt to connect; null once it has ended. */
  #opening: Promise<void> | null;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(url: string, log: Logger) {
    this.#log = log;
    this.#opening = this.#open(url).finally(() => (this.#opening = null));
  }

  hit(name: string): RateWindow | Promise<RateWindow> {
    return this.#count("hit", name);
  }

  peek(name: string): RateWindow | Promise<RateWindow> {
    return this.#count("peek", name);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#redis?.close();
    this.#local.close();
  }

  #count(method: "hit" | "peek", name: string): RateWindow | Promise<RateWindow> {
    if (this.#opening !== null) return this.#opening.then(() => this.#count(method, name));
    if (this.degraded !== null || this.#redis === null) return this.#local[method](name);
    return this.#redis.count(method, name).catch((error: unknown) => {
      this.#down(error);
      return this.#local[method](name);
    });
  }

  async #open(url: string): Promise<void> {
    // Loaded only where it is used: loading takes 100 ms.
    const { RedisStore } = await import("./redis-store.js");
    if (this.#isClosed) return;
    this.#redis = new RedisStore(url);
    await this.#probe();
  }

  /** Never rejects. */
  async #probe(): Promise<void> {
    this.#retry = undefined;
    try {
      await this.#redis?.probe();
      if (this.degraded !== null) this.#log.info(CONNECTED);
      this.degraded = null;
    } catch (error) {
      this.#down(error);
    }
  }

  /** Logs only the first of many simultaneous failures, never the error itself: it may contain the password. */
  #down(error: unknown): void {
    if (this.#isClosed) return;
    const { message, code } = error as NodeJS.ErrnoException;
    if (this.degraded === null) this.#log.warn({ reason: message || code || "unknown" }, DISCONNECTED);
    this.degraded = "Redis is unreachable: rate limits are counted per process.";
    this.#retry ??= setTimeout(() => void this.#probe(), DOWN_MS).unref();
  }
}

const DISCONNECTED =
  "Redis is unreachable: each process counts rate limits by itself until it reconnects, so a caller has its limit in each";
const CONNECTED = "Redis is connected: rate limits are counted for all processes together";

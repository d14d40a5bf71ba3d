import { once } from "node:events";
import { Redis } from "ioredis";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import { type RateWindow, WINDOW_MS } from "./memory-store.js";

/** How long a request waits for Redis: far longer than a healthy Redis takes. */
const COMMAND_TIMEOUT_MS = 250;

/** Limit for connecting, for silence of a connection with pending commands, and for pauses between attempts. */
const CONNECTION_TIMEOUT_MS = 1000;

/** Counts windows in Redis, exactly, for all processes that share it. */
export class RedisStore {
  readonly #client: Redis;
  readonly #limiter: RateLimiterRedis;

  /** `url`: a `redis://` or `rediss://` address. Connects in the background and reconnects without end. */
  constructor(url: string) {
    this.#client = new Redis(url, {
      connectTimeout: CONNECTION_TIMEOUT_MS,
      socketTimeout: CONNECTION_TIMEOUT_MS,
      disconnectTimeout: CONNECTION_TIMEOUT_MS,
      retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, CONNECTION_TIMEOUT_MS),
      // Commands neither wait for a connection nor are sent twice.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableReadyCheck: false,
      disableClientInfo: true,
    });
    // Commands reject with the reason. Without a listener ioredis would also write it to the console.
    this.#client.on("error", () => undefined);
    this.#limiter = new RateLimiterRedis({
      storeClient: this.#client,
      rejectIfRedisNotReady: true,
      keyPrefix: "routewright:rate",
      duration: RATE_WINDOW_SECONDS,
      // The caller compares with the limit; the library would throw when it is reached.
      points: Number.MAX_SAFE_INTEGER,
    });
  }

  /** Windows end by the clock of Redis: the remaining time is added to the local clock. Rejects while it does not count. */
  async count(method: "hit" | "peek", name: string): Promise<RateWindow> {
    const result = await withTimeout(
      method === "hit" ? this.#limiter.consume(name) : this.#limiter.get(name),
    );
    return {
      count: result?.consumedPoints ?? 0,
      resetAt: Date.now() + (result?.msBeforeNext ?? WINDOW_MS),
    };
  }

  /** Rejects with the reason when Redis does not count. A write: one that answers PING may refuse writes. */
  async probe(): Promise<void> {
    const signal = AbortSignal.timeout(CONNECTION_TIMEOUT_MS);
    if (this.#client.status !== "ready")
      await once(this.#client, "ready", { signal }).catch((error: unknown) => {
        throw signal.aborted ? new Error("no connection") : error;
      });
    await this.count("hit", "probe");
  }

  close(): void {
    this.#client.disconnect();
  }
}

/** Rejects when a reply takes too long, but not when it has arrived and this process was too busy to read it. */
function withTimeout<T>(reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = (): void => reject(new Error(`no answer within ${String(COMMAND_TIMEOUT_MS)} ms`));
    // The event loop reads sockets after timers and before immediates.
    const timer = setTimeout(() => setImmediate(expire), COMMAND_TIMEOUT_MS);
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

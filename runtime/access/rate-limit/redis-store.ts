import { once } from "node:events";
import { Redis } from "ioredis";
import { RateLimiterRedis, type RateLimiterRes } from "rate-limiter-flexible";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import type { RateWindow, SharedStore } from "./store.js";

/** How long a request waits for Redis: far longer than it takes when all is well. */
const ANSWER_TIMEOUT_MS = 250;

/** How long a connection may take to come up, and may be silent when it owes an answer. */
const CONNECTION_TIMEOUT_MS = 1000;

/** Attempts to connect come further and further apart, up to this. */
const MAX_RECONNECT_MS = 1000;

/** Begins every key in Redis. */
const KEY_PREFIX = "routewright:rate";

/**
 * Counts windows in Redis, exactly, for all processes that count there. It goes by the clock of Redis; `resetAt` is
 * told by the one here, so that callers are told to wait for as long as Redis does.
 */
export class RedisStore implements SharedStore {
  readonly degraded = null;
  readonly #client: Redis;
  readonly #limiter: RateLimiterRedis;

  /** `url`: a `redis://` or `rediss://` address. */
  constructor(url: string) {
    this.#client = connect(url);
    this.#limiter = new RateLimiterRedis({
      storeClient: this.#client,
      rejectIfRedisNotReady: true,
      keyPrefix: KEY_PREFIX,
      duration: RATE_WINDOW_SECONDS,
      // The limit is not the store's business, and one that is reached would be thrown.
      points: Number.MAX_SAFE_INTEGER,
    });
  }

  hit(name: string): Promise<RateWindow> {
    return inTime(this.#limiter.consume(name)).then(windowOf);
  }

  look(name: string): Promise<RateWindow> {
    return inTime(this.#limiter.get(name)).then(windowOf);
  }

  async reach(): Promise<void> {
    if (this.#client.status !== "ready") await this.#connected();
    // A Redis that answers may still refuse to write: a replica, a full one, one that is loading.
    await this.hit("reach");
  }

  close(): void {
    this.#client.disconnect();
  }

  async #connected(): Promise<void> {
    const signal = AbortSignal.timeout(CONNECTION_TIMEOUT_MS);
    await once(this.#client, "ready", { signal }).catch((error: unknown) => {
      throw signal.aborted ? new Error("no connection") : error;
    });
  }
}

function windowOf(told: RateLimiterRes | null): RateWindow {
  const left = told?.msBeforeNext ?? RATE_WINDOW_SECONDS * 1000;
  return { count: told?.consumedPoints ?? 0, resetAt: Date.now() + left };
}

/** Rejects when an answer takes too long; not when it is here and this process was too busy to read it. */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${String(ANSWER_TIMEOUT_MS)} ms`));
    // Node reads what has come in after it has run timers, and before it runs immediates.
    const timer = setTimeout(() => setImmediate(late), ANSWER_TIMEOUT_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Connects in the background, for as long as it takes. No command waits for a connection, and none is sent twice. */
function connect(url: string): Redis {
  const client = new Redis(url, {
    connectTimeout: CONNECTION_TIMEOUT_MS,
    // A connection that has gone silent is given up for a new one.
    socketTimeout: CONNECTION_TIMEOUT_MS,
    disconnectTimeout: CONNECTION_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // What matters is whether it counts, and `reach` finds that out.
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, MAX_RECONNECT_MS),
  });
  // Who asks is told why it failed; without a listener it would be written to the console as well.
  client.on("error", () => undefined);
  return client;
}

import { once } from "node:events";
import { Redis } from "ioredis";
import { RateLimiterRedis, type RateLimiterRes } from "rate-limiter-flexible";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import type { RateWindow, SharedStore } from "./memory-store.js";

/** How long a request waits for Redis: far longer than a healthy Redis takes. */
const COMMAND_TIMEOUT_MS = 250;

/** Limit for connecting, and for silence of a connection with pending commands. */
const CONNECTION_TIMEOUT_MS = 1000;

/** Longest pause of the exponential backoff between attempts to connect. */
const MAX_RECONNECT_MS = 1000;

/** Prefix of every key in Redis. */
const KEY_PREFIX = "routewright:rate";

/**
 * Counts windows in Redis, exactly, for all processes that share it. Windows end by the clock of Redis; `resetAt` is the
 * remaining time added to the local clock, so that clock differences do not change the reported wait.
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
      // The caller compares with the limit; the library would throw when it is reached.
      points: Number.MAX_SAFE_INTEGER,
    });
  }

  hit(name: string): Promise<RateWindow> {
    return withTimeout(this.#limiter.consume(name)).then(windowOf);
  }

  peek(name: string): Promise<RateWindow> {
    return withTimeout(this.#limiter.get(name)).then(windowOf);
  }

  async probe(): Promise<void> {
    if (this.#client.status !== "ready") await this.#connected();
    // A write, since a Redis that answers PING may refuse writes: a replica, one without memory, one that is loading.
    await this.hit("probe");
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

function windowOf(result: RateLimiterRes | null): RateWindow {
  const left = result?.msBeforeNext ?? RATE_WINDOW_SECONDS * 1000;
  return { count: result?.consumedPoints ?? 0, resetAt: Date.now() + left };
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

/** Connects in the background and reconnects without end. Commands neither wait for a connection nor are sent twice. */
function connect(url: string): Redis {
  const client = new Redis(url, {
    connectTimeout: CONNECTION_TIMEOUT_MS,
    // Replaces a connection that has gone silent.
    socketTimeout: CONNECTION_TIMEOUT_MS,
    disconnectTimeout: CONNECTION_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // `probe` checks that Redis takes writes.
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, MAX_RECONNECT_MS),
  });
  // Commands reject with the reason. Without a listener ioredis would also write it to the console.
  client.on("error", () => undefined);
  return client;
}

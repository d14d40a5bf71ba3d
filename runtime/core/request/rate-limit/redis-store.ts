import { once } from "node:events";
import { createConnection, type Socket, type TcpNetConnectOpts } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector, Redis, type RedisOptions } from "ioredis";
import type { Logger } from "pino";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { RATE_WINDOW_SECONDS } from "../../model/tier.js";
import type { RateWindow } from "../../model/caller.js";
import { signalAfter, Timer } from "../../model/timer.js";
import { databaseLookup } from "../../http/name-lookup.js";
import { MemoryStore, type RateLimitStore, WINDOW_MS } from "./memory-store.js";

const LIMITS = {
  /** How long a request waits for Redis: far longer than a healthy Redis takes. */
  commandMs: 250,
  /** Limit for connecting, for silence of a connection with pending commands, and for pauses between attempts. */
  connectionMs: 1000,
};
export type RedisLimits = typeof LIMITS;
/** How long Redis counts as down after a failure. Without it a frozen Redis costs every request 250 ms. */
const DOWN_MS = 1000;

/**
 * Counts in Redis, exactly, for all processes that share it; while it is unreachable in this process: limits then apply per
 * process. Requests do not wait for an unreachable Redis, and no promise rejects. The library's insurance limiter hides the
 * failure, which must be known: for the log, for `/health` and so that the next request does not wait.
 */
export class RedisStore implements RateLimitStore {
  degraded: string | null = null;
  readonly #local = new MemoryStore();
  readonly #log: Logger;
  readonly #limits: RedisLimits;
  #client: Redis | null = null;
  #limiter: RateLimiterRedis | null = null;
  /**
   * The first attempt to connect; null once it has ended. Requests wait for it: with windows of this process meanwhile (0.3 s),
   * a caller got 59 requests of a limit of 20 through ten processes that started one after the other.
   */
  #opening: Promise<void> | null;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(url: string, log: Logger, limits = LIMITS) {
    this.#log = log;
    this.#limits = limits;
    this.#opening = this.#open(url)
      .then(() => this.#probe())
      .catch((error: unknown) => this.#down(error))
      .finally(() => (this.#opening = null));
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
    this.#client?.disconnect();
    this.#local.close();
  }

  #count(method: "hit" | "peek", name: string): RateWindow | Promise<RateWindow> {
    if (this.#opening !== null) return this.#opening.then(() => this.#count(method, name));
    if (this.degraded !== null || this.#isClosed) return this.#local[method](name);
    return this.#ask(method, name).catch((error: unknown) => {
      this.#down(error);
      return this.#local[method](name);
    });
  }

  /** Windows end by the clock of Redis: the remaining time is added to the local clock. */
  async #ask(method: "hit" | "peek", name: string): Promise<RateWindow> {
    const limiter = this.#limiter;
    if (limiter === null) throw new Error("no connection");
    const { commandMs } = this.#limits;
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      const expire = (): void => reject(new Error(`no answer within ${String(commandMs)} ms`));
      // A reply may have arrived while this process was busy: the event loop reads sockets before immediates. ioredis'
      // `commandTimeout` took a healthy Redis for down in 7 of 10 pauses of 400 ms, this in none.
      timer = new Timer(commandMs, () => void setImmediate(expire));
    });
    const reply = method === "hit" ? limiter.consume(name) : limiter.get(name);
    const result = await Promise.race([reply, late]).finally(() => timer?.stop());
    return { count: result?.consumedPoints ?? 0, resetAt: Date.now() + (result?.msBeforeNext ?? WINDOW_MS) };
  }

  /** Connects in the background and reconnects without end. Rejects with the reason when the first attempt fails. */
  async #open(url: string): Promise<void> {
    const { connectionMs } = this.#limits;
    const client = new Redis(url, {
      Connector: RedisConnector,
      connectTimeout: connectionMs,
      socketTimeout: connectionMs,
      retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, LIMITS.connectionMs),
      // Commands neither wait for a connection nor are sent twice.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      enableReadyCheck: false,
    });
    // Commands reject with the reason. Without a listener ioredis would also write it to the console.
    client.on("error", () => undefined);
    this.#client = client;
    this.#limiter = new RateLimiterRedis({
      storeClient: client,
      rejectIfRedisNotReady: true,
      keyPrefix: "routewright:rate",
      duration: RATE_WINDOW_SECONDS,
      // The caller compares with the limit; the library would throw when it is reached.
      points: Number.MAX_SAFE_INTEGER,
    });
    const signal = signalAfter(connectionMs);
    await once(client, "ready", { signal }).catch((error: unknown) => {
      throw signal.aborted ? new Error("no connection") : error;
    });
  }

  /** A write: a Redis that answers PING may refuse writes. Never rejects. */
  async #probe(): Promise<void> {
    this.#retry = undefined;
    try {
      await this.#ask("hit", "probe");
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

/** As the library's own, which looks its host up with each attempt, also while the look-ups of those before are under way. */
class RedisConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const { disconnectTimeout = LIMITS.connectionMs } = options as RedisOptions;
    super(disconnectTimeout);
    this.#options = options as RedisOptions;
  }

  override connect(): Promise<Socket> {
    const { path, host, port = 6379, family, tls } = this.#options;
    const address: TcpNetConnectOpts = { host, port, family, lookup: databaseLookup };
    this.connecting = true;
    if (path) this.stream = createConnection(path);
    else this.stream = tls ? connectTls({ ...address, ...tls }) : createConnection(address);
    this.stream.once("error", (error: Error) => (this.firstError = error));
    return Promise.resolve(this.stream);
  }
}

const DISCONNECTED =
  "Redis is unreachable: each process counts rate limits by itself until it reconnects, so a caller has its limit in each";
const CONNECTED = "Redis is connected: rate limits are counted for all processes together";

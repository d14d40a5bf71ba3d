import type { Logger } from "pino";
import { MemoryStore, type RateLimitStore, type RateWindow, type SharedStore } from "./memory-store.js";

/** Opens the store of rate limits (runtime/README.md, Limits): shared in Redis, or in this process without `redisUrl`. */
export function openRateLimitStore(redisUrl: string | null, log: Logger): RateLimitStore {
  if (redisUrl === null) return new MemoryStore();
  // Loaded only where it is used: loading takes 100 ms.
  const open = () => import("./redis-store.js").then(({ RedisStore }) => new RedisStore(redisUrl));
  return new FallbackStore(open, new MemoryStore(), log);
}

/** Pause between attempts to connect while Redis is unreachable. */
const RETRY_MS = 1000;

type State =
  /** Before the first attempt to connect has ended. */
  | { readonly kind: "opening"; readonly opened: Promise<void> }
  | { readonly kind: "shared"; readonly shared: SharedStore }
  | { readonly kind: "local" };

/**
 * Counts in Redis while it is reachable, otherwise in this process: limits then apply per process. Switches both ways
 * automatically and logs each switch once. Requests do not wait for an unreachable Redis, and no promise rejects.
 */
class FallbackStore implements RateLimitStore {
  readonly #open: () => Promise<SharedStore>;
  readonly #local: RateLimitStore;
  readonly #log: Logger;
  #state: State;
  #shared: SharedStore | null = null;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(open: () => Promise<SharedStore>, local: RateLimitStore, log: Logger) {
    this.#open = open;
    this.#local = local;
    this.#log = log;
    this.#state = { kind: "opening", opened: this.#connect() };
  }

  hit(name: string): RateWindow | Promise<RateWindow> {
    return this.#call("hit", name);
  }

  peek(name: string): RateWindow | Promise<RateWindow> {
    return this.#call("peek", name);
  }

  get degraded(): string | null {
    return this.#state.kind === "local" ? "Redis is unreachable: rate limits are counted per process." : null;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#shared?.close();
    this.#local.close();
  }

  #call(method: "hit" | "peek", name: string): RateWindow | Promise<RateWindow> {
    const state = this.#state;
    switch (state.kind) {
      case "opening":
        return state.opened.then(() => this.#call(method, name));
      case "shared":
        return state.shared[method](name).catch((error: unknown) => {
          this.#disconnected(error);
          return this.#local[method](name);
        });
      case "local":
        return this.#local[method](name);
    }
  }

  /** Never rejects. */
  async #connect(): Promise<void> {
    this.#retry = undefined;
    try {
      const shared = (this.#shared ??= await this.#open());
      if (this.#isClosed) return shared.close();
      await shared.probe();
      this.#connected(shared);
    } catch (error) {
      this.#disconnected(error);
    }
  }

  #connected(shared: SharedStore): void {
    if (this.#state.kind === "local") this.#log.info(CONNECTED);
    this.#state = { kind: "shared", shared };
  }

  /** Logs only the first of many simultaneous failures. */
  #disconnected(error: unknown): void {
    if (this.#isClosed) return;
    if (this.#state.kind !== "local") this.#log.warn({ reason: reasonOf(error) }, DISCONNECTED);
    this.#state = { kind: "local" };
    this.#retry ??= setTimeout(() => void this.#connect(), RETRY_MS).unref();
  }
}

const DISCONNECTED =
  "Redis is unreachable: each process counts rate limits by itself until it reconnects, so a caller has its limit in each";
const CONNECTED = "Redis is connected: rate limits are counted for all processes together";

/** Never the error itself: it may contain the failed command, and with it the password. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || "unknown";
}

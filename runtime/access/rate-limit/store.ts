import type { Logger } from "pino";

/** A caller's window as it stood right after a look or a hit; it does not change with what comes later. */
export interface RateWindow {
  /** Requests counted so far, this one included; more than the limit means refused. */
  readonly count: number;
  /** When the window ends, in milliseconds since 1970. */
  readonly resetAt: number;
}

/**
 * Where windows are counted. A store that answers at once returns the window itself: on the request path a promise
 * costs more than the counting.
 */
export interface RateLimitStore {
  /** Counts one request of the caller `name`, opening a window if none is open. */
  hit(name: string): RateWindow | Promise<RateWindow>;
  /** The caller's window as it stands, without counting. */
  look(name: string): RateWindow | Promise<RateWindow>;
  /** What those who watch over the service should know, as a sentence; null when all is well. */
  readonly degraded: string | null;
  close(): void;
}

/** A store that all processes count in; it may be out of reach, and its promises reject then. */
export interface SharedStore extends RateLimitStore {
  hit(name: string): Promise<RateWindow>;
  look(name: string): Promise<RateWindow>;
  /** Resolves once it counts; rejects with the reason when it does not, within about a second. */
  reach(): Promise<void>;
}

/** How often Redis is tried again while it is out of reach. */
const RETRY_MS = 1000;

type State =
  /** It is not known yet whether Redis can be reached. */
  | { readonly kind: "opening"; readonly opened: Promise<void> }
  | { readonly kind: "shared"; readonly shared: SharedStore }
  | { readonly kind: "local" };

/**
 * Counts in Redis while it can be reached, else in this process: limits then hold for each process by itself. Changes
 * over by itself, both ways, and logs it once. Nobody waits for a Redis that is known to be out of reach, and nothing
 * rejects.
 */
export class FallbackStore implements RateLimitStore {
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
    this.#state = { kind: "opening", opened: this.#reach() };
  }

  hit(name: string): RateWindow | Promise<RateWindow> {
    return this.#ask("hit", name);
  }

  look(name: string): RateWindow | Promise<RateWindow> {
    return this.#ask("look", name);
  }

  get degraded(): string | null {
    return this.#state.kind === "local"
      ? "Redis is out of reach: rate limits are counted per process."
      : null;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#shared?.close();
    this.#local.close();
  }

  #ask(question: "hit" | "look", name: string): RateWindow | Promise<RateWindow> {
    const state = this.#state;
    switch (state.kind) {
      case "opening":
        return state.opened.then(() => this.#ask(question, name));
      case "shared":
        return state.shared[question](name).catch((error: unknown) => {
          this.#lose(error);
          return this.#local[question](name);
        });
      case "local":
        return this.#local[question](name);
    }
  }

  /** Never rejects. */
  async #reach(): Promise<void> {
    this.#retry = undefined;
    try {
      const shared = (this.#shared ??= await this.#open());
      if (this.#isClosed) return shared.close();
      await shared.reach();
      this.#win(shared);
    } catch (error) {
      this.#lose(error);
    }
  }

  #win(shared: SharedStore): void {
    if (this.#state.kind === "local") this.#log.info(BACK);
    this.#state = { kind: "shared", shared };
  }

  /** Of many requests that fail at a time only the first one tells. */
  #lose(error: unknown): void {
    if (this.#isClosed) return;
    if (this.#state.kind !== "local") this.#log.warn({ reason: reasonOf(error) }, OUT_OF_REACH);
    this.#state = { kind: "local" };
    this.#retry ??= setTimeout(() => void this.#reach(), RETRY_MS).unref();
  }
}

const OUT_OF_REACH =
  "Redis is out of reach: until it is back, each process counts rate limits by itself, so a caller has its limit in each";
const BACK = "Redis is back: rate limits are counted for all processes together";

/** Never the error itself: it may carry the command that failed, and with that the password. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || "unknown";
}

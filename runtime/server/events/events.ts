import type { Logger } from "../../core/http/logger.js";
import { messageOf } from "../../core/model/outcome.js";
import { Interval } from "../../core/model/timer.js";
import { EventLog } from "./event-log.js";
import { MemoryEvents } from "./memory-events.js";
import { EndpointWatch, type WatchedEndpoints } from "./watch-endpoints.js";

/** How often endpoints are compared with what was told. */
const CHECK_MS = 1000;
/** How often a database without the tables is asked whether another server has made them. */
const LOOK_MS = 30_000;

export interface EventsOptions extends WatchedEndpoints {
  /** A `postgres://` address; null: events are kept in memory. */
  readonly databaseUrl: string | null;
  readonly log: Logger;
  /** Called once, when events are there. */
  readonly onOpen?: (events: EventLog) => void;
  /** Default: 1 s. */
  readonly checkMs?: number;
}

/**
 * Events of the data API. In PostgreSQL the tables are made when somebody first asks for events: until then nothing is recorded, and
 * a database of others stays as it is.
 */
export class Events {
  readonly #options: EventsOptions;
  readonly #watch: EndpointWatch;
  readonly #timer: Interval;
  #log: EventLog | null = null;
  #opening: { readonly isAsked: boolean; readonly log: Promise<EventLog | null> } | null = null;
  #lookedAt = -Infinity;
  #checking: Promise<void> | null = null;
  #isFailing = false;
  #isClosed = false;

  constructor(options: EventsOptions) {
    this.#options = options;
    this.#watch = new EndpointWatch(options, async (sightings) => this.#log?.publish(sightings));
    this.#timer = new Interval(options.checkMs ?? CHECK_MS, () => void this.check()).unref();
  }

  /** The events; makes the tables where they are missing. Rejects while the database is away. */
  async asked(): Promise<EventLog> {
    const known = this.#log ?? (await this.#open(true));
    if (known === null) throw new Error("the events are closed");
    return known;
  }

  /** Tells what is new of the endpoints. Never rejects: a lasting failure is logged once. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => (this.#checking = null));
    return this.#checking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.stop();
    await this.#checking;
    await this.#opening?.log.catch(() => null);
    await this.#log?.store.close();
  }

  async #check(): Promise<void> {
    const { log } = this.#options;
    try {
      const isDue = performance.now() - this.#lookedAt >= LOOK_MS;
      if (this.#log === null && isDue) await this.#open(false);
      if (this.#log !== null) await this.#watch.check();
      if (this.#isFailing) log.info("events are published again");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) log.warn({ err: error }, NOT_PUBLISHED);
      this.#isFailing = true;
    }
  }

  async #open(isAsked: boolean): Promise<EventLog | null> {
    while (this.#opening !== null) {
      const { isAsked: isEnough, log } = this.#opening;
      // All who ask meanwhile share one attempt: each would wait for those before it while the database does not answer.
      if (isEnough || !isAsked) return log;
      await log.catch(() => null);
    }
    if (this.#log !== null || this.#isClosed) return this.#log;
    this.#lookedAt = performance.now();
    const log = this.#openLog(isAsked).finally(() => (this.#opening = null));
    this.#opening = { isAsked, log };
    return log;
  }

  async #openLog(isAsked: boolean): Promise<EventLog | null> {
    const store = await this.#openStore(isAsked);
    if (store === null) return null;
    const opened = await EventLog.open(store).catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    if (this.#isClosed) {
      await opened.store.close();
      return null;
    }
    this.#log = opened;
    this.#options.onOpen?.(opened);
    // Who asks first gets what happens from now on.
    if (isAsked) await this.#watch.check();
    return opened;
  }

  async #openStore(isAsked: boolean) {
    const { databaseUrl, log } = this.#options;
    if (databaseUrl === null) return new MemoryEvents();
    const { EventTables } = await import("./event-tables.js");
    try {
      return await EventTables.open(databaseUrl, isAsked);
    } catch (error) {
      if (!isRefused(error)) throw error;
      log.warn({ detail: messageOf(error) }, NOT_KEPT);
      return new MemoryEvents();
    }
  }
}

const NOT_PUBLISHED = "events are not published: they are once the database can be reached";
const NOT_KEPT =
  "events reach back to the start of this server: the database takes none; give the role CREATE on it, or the rights on the schema routewright_events";

/** Whether a try later cannot do: a missing right, a wrong address or a missing package. */
function isRefused(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: NodeJS.ErrnoException };
  return cause?.code === "ERR_MODULE_NOT_FOUND" || /^(28|3D|3F|42|25006)/.test(String(code));
}

import type { Exchange } from "../../core/handler/exchange.js";
import { SERVER_LIMITS } from "../../core/http/server-limits.js";
import type { Reply } from "../../core/http/send.js";
import type { HttpError } from "../../core/model/errors.js";
import type { Keyring } from "../../core/request/keyring.js";
import { eventFeed } from "./event-feed.js";
import { EventStreams, type StreamLimits } from "./event-streams.js";
import { Events, type EventsOptions } from "./events.js";
import type { SubscriptionService, SubscriptionSettings } from "./subscription-service.js";

interface EventServiceOptions extends Omit<EventsOptions, "onOpen">, StreamLimits, SubscriptionSettings {
  /** Of the API. */
  readonly title: string;
  readonly catalogue: "public" | "allowed";
  readonly keys: Keyring;
}

type OpenEvents = (options: EventServiceOptions) => EventService;

/**
 * Loads the code of events, that of subscriptions where the settings have their key. Rejects with what to install where a package is
 * missing.
 */
export async function loadEvents({
  webhookSecretsKey: key,
}: Pick<SubscriptionSettings, "webhookSecretsKey">): Promise<OpenEvents> {
  if (key === null) return (options) => new EventService(options, null);
  const { SubscriptionService } = await import("./subscription-service.js").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(NOT_INSTALLED, { cause: error });
  });
  return (options) =>
    new EventService(options, new SubscriptionService({ ...options, webhookSecretsKey: key }));
}

const NOT_INSTALLED =
  "WEBHOOK_SECRETS_KEY needs packages that are not installed: run `npm install standardwebhooks node-pg-migrate`.";

/** Streams take at most this part of the connections: other requests have the rest. */
const SHARE = 0.9;

/** The events of a data service, and who waits for them. */
export class EventService {
  readonly #options: EventServiceOptions;
  readonly #events: Events;
  readonly #streams: EventStreams;
  readonly #subscriptions: SubscriptionService | null;

  constructor(options: EventServiceOptions, subscriptions: SubscriptionService | null) {
    this.#options = options;
    this.#subscriptions = subscriptions;
    this.#events = new Events({ ...options, onOpen: (log) => subscriptions?.start(log) });
    const { active, eventStreams, eventStreamsPerCaller } = options;
    const most = Math.floor(SERVER_LIMITS.connections * SHARE);
    const limits = { eventStreams: Math.min(eventStreams, most), eventStreamsPerCaller };
    this.#streams = new EventStreams({ events: this.#events, active, limits });
  }

  /** Sends events until the client leaves. */
  stream(exchange: Exchange): Promise<HttpError | null> {
    return this.#streams.serve(exchange);
  }

  /** The newest events as an Atom feed. */
  feed(exchange: Exchange): Promise<Reply | HttpError> {
    return eventFeed(exchange, this.#events, this.#options);
  }

  /** Lists, adds and deletes subscriptions of the caller's key. */
  async subscriptions(exchange: Exchange): Promise<Reply | HttpError | null> {
    const { answerSubscriptions } = await import("./subscription-requests.js");
    return answerSubscriptions(exchange, this.#subscriptions, () => this.#events.asked());
  }

  /** Ends all streams: before the server waits for the end of its responses. */
  end(): void {
    this.#streams.end();
  }

  async close(): Promise<void> {
    await this.#subscriptions?.stop();
    await this.#events.close();
  }
}

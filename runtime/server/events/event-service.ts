import type { Exchange } from "../../core/handler/exchange.js";
import { SERVER_LIMITS } from "../../core/http/open-connections.js";
import type { Reply } from "../../core/http/send.js";
import type { HttpError } from "../../core/model/errors.js";
import { eventFeed } from "./event-feed.js";
import { EventStreams, type StreamLimits } from "./event-streams.js";
import { Events, type EventsOptions } from "./events.js";

interface EventServiceOptions extends EventsOptions, StreamLimits {
  /** Of the API. */
  readonly title: string;
}

/** Streams take at most this part of the connections: other requests have the rest. */
const SHARE = 0.9;

/** The events of a data service, and who waits for them. */
export class EventService {
  readonly #options: EventServiceOptions;
  readonly #events: Events;
  readonly #streams: EventStreams;

  constructor(options: EventServiceOptions) {
    this.#options = options;
    this.#events = new Events(options);
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

  /** Ends all streams: before the server waits for the end of its responses. */
  end(): void {
    this.#streams.end();
  }

  close(): Promise<void> {
    return this.#events.close();
  }
}

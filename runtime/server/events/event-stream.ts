import type { ServerResponse } from "node:http";
import type { PublishedEvent } from "./event.js";
import { payloadOf } from "./event.js";
import type { EventLog } from "./event-log.js";
import type { EventReader } from "./may-read.js";

/** Events of one write. */
const BATCH = 100;
/** A client that leaves so many bytes unread until its beat is cut off: it comes back with the id of the last event that it read. */
const MAX_UNREAD = 64 * 1024;

export interface EventStreamOptions {
  readonly response: ServerResponse;
  readonly log: EventLog;
  /** Null: those of all endpoints that the caller may call. */
  readonly paths: ReadonlySet<string> | null;
  /** The number of the last event that the client has. */
  readonly position: number;
  /** Who the client is now; null: its key is not valid any more. */
  readonly identify: () => Promise<EventReader | null>;
  readonly mayRead: (reader: EventReader, event: PublishedEvent) => boolean;
  /** As the reader may see it. */
  readonly eventFor: (reader: EventReader, event: PublishedEvent) => PublishedEvent;
  /** Whether there is something left that it may get. */
  readonly hasRights: (reader: EventReader) => boolean;
}

/** Server-Sent Events to one client: what it has is a number, so that old and new events are sent in one way. */
export class EventStream {
  readonly #options: EventStreamOptions;
  #position: number;
  #isSending = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#position = options.position;
    options.response.write(beginningOf(options));
    this.resume();
  }

  /** New events are there. */
  tell(events: readonly PublishedEvent[]): void {
    if (this.#isSending) return;
    const { paths, log } = this.#options;
    const isOfOthers = paths !== null && events.every(({ path }) => path === null || !paths.has(path));
    if (isOfOthers && this.#position === (events[0]?.sequence ?? 0) - 1) this.#position = log.last;
    else this.resume();
  }

  /** Sends what it has not sent yet, such as what the store could not give before. */
  resume(): void {
    void this.#send();
  }

  /** A comment keeps proxies from closing the connection; a client whose key has been revoked is cut off. */
  async beat(): Promise<void> {
    if ((await this.#reader()) === null) return;
    if (this.#options.response.writableLength > MAX_UNREAD) this.#options.response.destroy();
    this.#write(BEAT);
  }

  end(): void {
    this.#options.response.end();
  }

  /** Never rejects: where the store is away, `resume` goes on. */
  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    const { response, log } = this.#options;
    try {
      while (this.#position < log.last && !response.destroyed && !response.writableEnded) {
        const { last } = log;
        const events = await log.after(this.#position, BATCH);
        const reader = await this.#reader();
        if (reader === null) return;
        const isTaken = this.#write(this.#textOf(events, reader));
        // Old ones are removed.
        this.#position = events.at(-1)?.sequence ?? last;
        if (!isTaken) await taken(response);
      }
    } catch {
      return;
    } finally {
      this.#isSending = false;
    }
  }

  /** Null where the stream has ended. */
  async #reader(): Promise<EventReader | null> {
    const { identify, hasRights } = this.#options;
    const reader = await identify();
    if (reader !== null && hasRights(reader)) return reader;
    this.end();
    return null;
  }

  #textOf(events: readonly PublishedEvent[], reader: EventReader): string {
    const { log, paths, mayRead, eventFor } = this.#options;
    const { prefix } = log.store;
    const seen = events.filter(
      (event) => event.path !== null && (paths === null || paths.has(event.path)) && mayRead(reader, event),
    );
    return seen
      .map(
        (event) =>
          `id: ${prefix}${String(event.sequence)}\nevent: ${event.type}\ndata: ${payloadOf(eventFor(reader, event))}\n\n`,
      )
      .join("");
  }

  /** False: it waits for the client. */
  #write(text: string): boolean {
    const { response } = this.#options;
    return text === "" || response.destroyed || response.writableEnded || response.write(text);
  }
}

/** Resolves once the client has taken what was written, or has left. */
function taken(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off("drain", end).off("close", end);
      resolve();
    };
    response.on("drain", end).on("close", end);
  });
}

/** After how many milliseconds a client comes back, and from where: one that is cut off before its first event misses nothing. */
const beginningOf = ({ log, position }: EventStreamOptions): string =>
  `id: ${log.store.prefix}${String(position)}\nretry: 3000\n\n`;
const BEAT = ":\n\n";

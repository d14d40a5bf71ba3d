import { Turns } from "../../core/http/turns.js";
import { CoalescingRunner } from "../../core/model/coalescing-runner.js";
import type { EventStore, PublishedEvent, Sighting } from "./event.js";

/** Events that a process keeps, about 1 MB: a client that comes back soon costs the database nothing. */
const KEPT = 2_000;
/** Events of one statement. */
const BATCH = 500;
/** Readers that ask the database for older events at a time: after a restart all clients come back at once. */
const READERS = 4;

/** The events of an installation as a process sees them: it reads each once, however many clients wait for it. */
export class EventLog {
  readonly store: EventStore;
  /** Bounded by `KEPT`. */
  #kept: readonly PublishedEvent[] = [];
  #last = 0;
  /** Those that are kept begin after this number. */
  #first = 0;
  /** Bounded by the parts of the service. */
  readonly #listeners = new Set<(events: readonly PublishedEvent[]) => void>();
  readonly #readers = new Turns(READERS);
  readonly #checks = new CoalescingRunner(() => this.#read());

  private constructor(store: EventStore) {
    this.store = store;
  }

  /** Rejects while the store is away. */
  static async open(store: EventStore): Promise<EventLog> {
    const log = new EventLog(store);
    const last = await store.last();
    log.#first = Math.max(0, last - KEPT);
    log.#last = log.#first;
    await log.check();
    store.follow(() => void log.check().catch(() => undefined));
    return log;
  }

  /** The number of the newest event. */
  get last(): number {
    return this.#last;
  }

  async publish(sightings: readonly Sighting[]): Promise<void> {
    if (sightings.length === 0) return;
    await this.store.publish(sightings);
    await this.check();
  }

  /** Reads what is new. Rejects while the store is away. */
  check(): Promise<void> {
    return this.#checks.run();
  }

  /** Those after a number, in their order; none where it is the newest. Rejects where the store is asked and away. */
  async after(sequence: number, limit: number): Promise<readonly PublishedEvent[]> {
    if (sequence >= this.#last) return [];
    if (sequence < this.#first) return this.#readers.take(() => this.store.after(sequence, limit));
    const from = this.#kept.findIndex((event) => event.sequence > sequence);
    return from === -1 ? [] : this.#kept.slice(from, from + limit);
  }

  /** Calls back with new events, until the returned function is called. */
  listen(listener: (events: readonly PublishedEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #read(): Promise<void> {
    const last = await this.store.last();
    while (this.#last < last) {
      const events = await this.store.after(this.#last, BATCH);
      this.#last = events.at(-1)?.sequence ?? last;
      const all = [...this.#kept, ...events];
      this.#kept = all.slice(-KEPT);
      this.#first = Math.max(this.#first, this.#last - KEPT);
      for (const tell of this.#listeners) tell(events);
    }
  }
}

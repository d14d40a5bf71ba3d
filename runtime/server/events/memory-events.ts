import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { eventId } from "./event-id.js";
import type { EventStore, PublishedEvent, Sighting } from "./event.js";

/** Older ones are forgotten: about 4 MB. */
const MAX_EVENTS = 10_000;

type Contract = Readonly<Record<string, string>>;

/** What was last said of an endpoint. */
interface Known {
  asOf: string;
  due: string;
  contract: Contract | null;
  deprecationDate: string;
}

/** Events of this process since its start, where there is no PostgreSQL. */
export class MemoryEvents implements EventStore {
  readonly prefix = `${randomBytes(4).toString("hex")}-`;
  readonly tables = null;
  /** Bounded by `MAX_EVENTS`. */
  #events: PublishedEvent[] = [];
  /** By path. Bounded by the endpoints that were served. */
  readonly #known = new Map<string, Known>();
  #last = 0;
  #wake: () => void = () => undefined;

  publish(sightings: readonly Sighting[]): Promise<void> {
    const before = this.#last;
    for (const sighting of sightings) this.#publish(sighting);
    if (this.#last > before) this.#wake();
    return Promise.resolve();
  }

  after(sequence: number, limit: number): Promise<readonly PublishedEvent[]> {
    const first = this.#events[0]?.sequence ?? 1;
    const from = Math.max(0, sequence + 1 - first);
    return Promise.resolve(this.#events.slice(from, from + limit));
  }

  newest(limit: number): Promise<readonly PublishedEvent[]> {
    return Promise.resolve(this.#events.slice(-limit).reverse());
  }

  last(): Promise<number> {
    return Promise.resolve(this.#last);
  }

  follow(wake: () => void): void {
    this.#wake = wake;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #publish(sighting: Sighting): void {
    const known = this.#known.get(sighting.path) ?? {
      asOf: "",
      due: "",
      contract: null,
      deprecationDate: "",
    };
    this.#known.set(sighting.path, known);
    const changed = newsOf(known, sighting);
    if (changed === null) return;
    const { type, path, data } = sighting;
    const all = changed.length > 0 ? { ...data, changed } : data;
    this.#last += 1;
    const [id, at] = [eventId(sighting), new Date().toISOString()];
    this.#events.push({ sequence: this.#last, id, type, path, organization: null, at, data: all });
    if (this.#events.length > MAX_EVENTS) this.#events = this.#events.slice(MAX_EVENTS / 10);
  }
}

/** Null: it was said before, or is older. The names of what changed of a contract. */
function newsOf(known: Known, sighting: Sighting): readonly string[] | null {
  switch (sighting.type) {
    case "data.rebuilt":
      if (sighting.asOf <= known.asOf) return null;
      known.asOf = sighting.asOf;
      return [];
    case "data.late":
      if (sighting.due <= known.due || (sighting.asOf ?? "") < known.asOf) return null;
      known.due = sighting.due;
      return [];
    case "contract.changed": {
      const { contract: before } = known;
      known.contract = sighting.contract;
      if (before === null || isDeepStrictEqual(before, sighting.contract)) return null;
      return changedParts(before, sighting.contract);
    }
    case "endpoint.deprecated":
      if (sighting.deprecationDate === known.deprecationDate) return null;
      known.deprecationDate = sighting.deprecationDate;
      return [];
  }
}

function changedParts(before: Contract, after: Contract): readonly string[] {
  const parts = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...parts].filter((part) => before[part] !== after[part]).sort();
}

import { BoundedCache } from "../http/bounded-cache.js";
import type { Result } from "../model/errors.js";
import type { Sent } from "./respond.js";

/** An answer to a question about an endpoint's rows. Null: its client has disconnected. */
export interface ReadAnswer<T extends object> {
  readonly outcome: Result<T> | null;
  readonly sent: Sent;
}

/** An answer, also while it is read. */
export class KeptAnswer<T extends object = object> {
  readonly reading: Promise<ReadAnswer<T>>;
  #bytes = 0;

  constructor(reading: Promise<ReadAnswer<T>>) {
    this.reading = reading;
  }

  /** Bytes in memory of the answer that has been read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** It has been read. */
  weigh({ sent }: ReadAnswer<T>): void {
    this.#bytes = (sent.rows ?? 0) * ROW_BYTES + 2 * sent.bytes;
  }
}

/** A row as an object with its place in the list. */
const ROW_BYTES = 120;

/** Answers by their query. */
export type ValuesCache = BoundedCache<KeptAnswer>;

export function valuesCache(): ValuesCache {
  return new BoundedCache("values", { sizeOf: ({ bytes }) => KEPT_BYTES + bytes });
}

/** The promise, and what it resolves with. */
const KEPT_BYTES = 600;

import { BoundedCache } from "../http/bounded-cache.js";
import { isHttpError, type Result } from "../model/errors.js";
import type { Sent } from "./respond.js";

/** The values of a column. */
export interface ListedValues {
  readonly values: readonly ListedValue[];
  /** Whether there are others. */
  readonly more: boolean;
}

export interface ListedValue {
  readonly value: unknown;
  /** How many rows have it; absent where rows are not served. */
  readonly rows?: number;
}

/** An answer to a request for values. Null: its client has disconnected. */
export interface ReadValues {
  readonly outcome: Result<ListedValues> | null;
  readonly sent: Sent;
}

/** Values, also while they are read. */
export class KeptValues {
  readonly reading: Promise<ReadValues>;
  #bytes = 0;

  constructor(reading: Promise<ReadValues>) {
    this.reading = reading;
  }

  /** Bytes in memory of the values that have been read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** They have been read. */
  weigh({ outcome }: ReadValues): void {
    const values = outcome === null || isHttpError(outcome) ? [] : outcome.values;
    this.#bytes = values.reduce((sum, { value }) => sum + VALUE_BYTES + 2 * String(value).length, 0);
  }
}

/** A listed value with its place in the list, and the head of its text. */
const VALUE_BYTES = 120;

/** Values by their query. */
export type ValuesCache = BoundedCache<KeptValues>;

export function valuesCache(): ValuesCache {
  return new BoundedCache("values", { sizeOf: ({ bytes }) => KEPT_BYTES + bytes });
}

/** The promise, and what it resolves with. */
const KEPT_BYTES = 600;

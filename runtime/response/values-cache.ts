import { LRUCache } from "lru-cache";
import type { Result } from "../model/errors.js";
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

/** Values by their query, also while they are read. */
export type ValuesCache = LRUCache<string, Promise<ReadValues>>;

/** What people choose among changes slowly. */
const KEPT_MS = 60_000;

/** Each has at most 64 KiB of JSON. */
const MAX_KEPT = 500;

export function valuesCache(): ValuesCache {
  return new LRUCache({ max: MAX_KEPT, ttl: KEPT_MS });
}

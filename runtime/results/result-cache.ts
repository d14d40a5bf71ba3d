import { LRUCache } from "lru-cache";
import type { BufferedResult } from "./buffered-result.js";

/** Approximate size of an entry without its body. */
const ENTRY_BYTES = 1000;

/** Maximum share of one result: a larger one would evict too many others. */
const LARGEST_SHARE = 1 / 16;

interface Entry {
  readonly answer: BufferedResult;
  /** Version of the rows; null if unknown. */
  readonly version: string | null;
}

export interface CacheOptions {
  /** Lifetime of results without a known version. */
  readonly ttlSeconds: number;
  /** Memory for all entries. */
  readonly maxBytes: number;
}

/**
 * LRU cache of complete results. A result with a known version is valid until the version changes, others expire
 * (runtime/README.md, Caching and freshness).
 */
export class ResultCache {
  readonly #entries: LRUCache<string, Entry>;
  readonly #ttlMs: number;

  constructor({ ttlSeconds, maxBytes }: CacheOptions) {
    this.#ttlMs = ttlSeconds * 1000;
    this.#entries = new LRUCache<string, Entry>({
      maxSize: maxBytes,
      maxEntrySize: Math.floor(maxBytes * LARGEST_SHARE),
      // Doubled: entries hold compressed copies, and a character of a string may take two bytes.
      sizeCalculation: ({ answer }, key) => 2 * (answer.bytes + key.length) + ENTRY_BYTES,
    });
  }

  get(key: string, version: string | null): BufferedResult | undefined {
    const entry = this.#entries.get(key);
    return entry?.version === version ? entry.answer : undefined;
  }

  set(key: string, answer: BufferedResult, version: string | null): void {
    this.#entries.set(key, { answer, version }, { ttl: version === null ? this.#ttlMs : 0 });
  }

  /** Approximate size in bytes. */
  get bytes(): number {
    return this.#entries.calculatedSize;
  }
}

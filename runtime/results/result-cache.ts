import { LRUCache } from "lru-cache";
import type { BufferedResult } from "./buffered-result.js";

/** What an entry takes besides its body, about. */
const ENTRY_BYTES = 1000;

/** One answer may take this share of the whole: more would push out too many others. */
const LARGEST_SHARE = 1 / 16;

interface Entry {
  readonly answer: BufferedResult;
  /** Of the rows; null where it is not known. */
  readonly version: string | null;
}

export interface CacheOptions {
  /** How long an answer of which no version is known is kept. */
  readonly ttlSeconds: number;
  /** Memory for bodies and what is kept with them. */
  readonly maxBytes: number;
}

/**
 * Complete answers, the least recently used of which go first. One whose version is known is good until there is another
 * version, others for a time.
 */
export class ResultCache {
  readonly #entries: LRUCache<string, Entry>;
  readonly #ttlMs: number;

  constructor({ ttlSeconds, maxBytes }: CacheOptions) {
    this.#ttlMs = ttlSeconds * 1000;
    this.#entries = new LRUCache<string, Entry>({
      maxSize: maxBytes,
      maxEntrySize: Math.floor(maxBytes * LARGEST_SHARE),
      // A compressed copy or two may hang on it; characters of a text may take two bytes each.
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

  /** Bytes held, about. */
  get bytes(): number {
    return this.#entries.calculatedSize;
  }
}

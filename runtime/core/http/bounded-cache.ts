import { hash } from "node:crypto";

const MB = 1024 * 1024;

/**
 * Every cache of the services: what is kept by a text that a caller chose. The sum of the limits is what they take at most.
 * runtime/docs/operations.md has the same table with what each is keyed by.
 */
export const CACHES = {
  /** `CACHE_MAX_MEGABYTES` sets its limit. */
  results: { service: "data", maxBytes: 64 * MB, lifeSeconds: null },
  whole_results: { service: "data", maxBytes: 64 * MB, lifeSeconds: 60 },
  readings: { service: "data", maxBytes: 4 * MB, lifeSeconds: 60 },
  values: { service: "data", maxBytes: 32 * MB, lifeSeconds: 60 },
  requests: { service: "data", maxBytes: 8 * MB, lifeSeconds: 60 },
  documents: { service: "data", maxBytes: 64 * MB, lifeSeconds: null },
  statements: { service: "data", maxBytes: 1 * MB, lifeSeconds: null },
  plans: { service: "data", maxBytes: 32 * MB, lifeSeconds: 60 },
  choices: { service: "data", maxBytes: 16 * MB, lifeSeconds: 60 },
  derived_columns: { service: "data", maxBytes: 2 * MB, lifeSeconds: null },
  groupings: { service: "data", maxBytes: 8 * MB, lifeSeconds: 60 },
  callers: { service: "data", maxBytes: 4 * MB, lifeSeconds: null },
  customer_tokens: { service: "ramp", maxBytes: 4 * MB, lifeSeconds: null },
  provider_schemas: { service: "ramp", maxBytes: 16 * MB, lifeSeconds: null },
} as const satisfies Record<string, CacheLimits>;

export type CachedService = "data" | "ramp";

interface CacheLimits {
  readonly service: CachedService;
  readonly maxBytes: number;
  /** Null: an entry is kept until there is no room for it, it is of no use, or as long as it says itself. */
  readonly lifeSeconds: number | null;
}

export type CacheName = keyof typeof CACHES;

interface CacheOptions<V> {
  /** Bytes of a value in memory, without its entry. A value may grow: it is asked at each use. */
  readonly sizeOf: (value: V) => number;
  readonly maxBytes?: number;
  /** Part of the cache that one entry may take: a larger one would evict too many others. Default: all. */
  readonly maxShare?: number;
  /** Whether a value can still be used: what cannot is freed without being asked for. */
  readonly isCurrent?: (value: V) => boolean;
  /** Called with each value that the cache no longer has. */
  readonly onRemove?: (value: V) => void;
}

/** What the entries of a cache form a ring with, in the order of their use. */
interface Link<V> {
  older: Link<V>;
  newer: Link<V>;
  /** Null: the end of the ring, which is no entry. */
  readonly entry: CacheEntry<V> | null;
}

class CacheEntry<V> implements Link<V> {
  older: Link<V> = this;
  newer: Link<V> = this;
  readonly key: string;
  readonly value: V;
  bytes: number;
  /** By `performance.now()`, in milliseconds. */
  readonly expiresAt: number;

  constructor(key: string, value: V, bytes: number, expiresAt: number) {
    this.key = key;
    this.value = value;
    this.bytes = bytes;
    this.expiresAt = expiresAt;
  }

  get entry(): this {
    return this;
  }
}

/** Of an entry with its key and its place in the map: 173 to 254 were measured, by how full the map is. */
const ENTRY_BYTES = 260;

/** A text from this length is kept as its digest. Below it V8 copies a part of a text; a longer part keeps the whole text. */
const MIN_DIGEST = 13;

/** At most 32 bytes. No short text is as long as a digest, so that none can stand for another text. */
export function keyOf(text: string): string {
  return text.length < MIN_DIGEST ? text : hash("sha256", text, "binary");
}

/**
 * What is kept by a text that a caller chose: bounded in bytes, of keys, values and entries alike. The least recently used entry
 * gives way; what has expired is freed within `SWEEP_MS`. With caches that were bounded by number, or that did not count keys,
 * 50,000 requests without a key took 1 GB, and 100 tool calls 500 MB.
 *
 * Not `lru-cache`: its arrays stay as long as they ever were, values that grow are not weighed again, and what has expired stays
 * until it is asked for, or has a timer each.
 */
export class BoundedCache<V> {
  readonly name: CacheName;
  readonly maxBytes: number;
  readonly #options: CacheOptions<V>;
  readonly #lifeMs: number;
  readonly #maxEntryBytes: number;
  /** Bounded by `maxBytes`, by keys of at most 32 bytes. */
  readonly #entries = new Map<string, CacheEntry<V>>();
  /** Its `newer` is the least recently used entry, its `older` the most recently used. */
  readonly #end: Link<V>;
  #bytes = 0;

  constructor(name: CacheName, options: CacheOptions<V>) {
    const { maxBytes, lifeSeconds }: CacheLimits = CACHES[name];
    this.name = name;
    this.maxBytes = options.maxBytes ?? maxBytes;
    this.#maxEntryBytes = this.maxBytes * (options.maxShare ?? 1);
    this.#options = options;
    this.#lifeMs = lifeSeconds === null ? Infinity : lifeSeconds * 1000;
    const end = { entry: null } as unknown as Link<V>;
    this.#end = end.older = end.newer = end;
    opened.add(new WeakRef(this as BoundedCache<unknown>));
    sweeper ??= setInterval(sweepAll, SWEEP_MS).unref();
  }

  /** Bytes of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** `key`: where it is known. A cache that has whole texts as keys is always given them: their bytes are of its values. */
  get(text: string, key = keyOf(text)): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (!this.#isCurrent(entry)) {
      this.#remove(entry);
      return undefined;
    }
    unlink(entry);
    link(entry, this.#end);
    this.#weigh(entry);
    return entry.value;
  }

  /** Keeps a value in place of the one before, if it is not too large. */
  set(text: string, value: V, lifeMs = this.#lifeMs, key = keyOf(text)): void {
    const known = this.#entries.get(key);
    if (known !== undefined) this.#remove(known);
    const bytes = this.#bytesOf(value);
    if (bytes > this.#maxEntryBytes) return this.#options.onRemove?.(value);
    const entry = new CacheEntry(key, value, bytes, performance.now() + lifeMs);
    this.#entries.set(key, entry);
    link(entry, this.#end);
    this.#bytes += bytes;
    this.#evict();
  }

  delete(text: string): void {
    const entry = this.#entries.get(keyOf(text));
    if (entry !== undefined) this.#remove(entry);
  }

  /** Frees what cannot be used any more, and weighs the others again. */
  sweep(): void {
    for (const entry of this.#entries.values())
      if (this.#isCurrent(entry)) this.#weigh(entry);
      else this.#remove(entry);
  }

  #isCurrent({ expiresAt, value }: CacheEntry<V>): boolean {
    return expiresAt > performance.now() && this.#options.isCurrent?.(value) !== false;
  }

  #bytesOf(value: V): number {
    return ENTRY_BYTES + this.#options.sizeOf(value);
  }

  #weigh(entry: CacheEntry<V>): void {
    const bytes = this.#bytesOf(entry.value);
    if (bytes === entry.bytes) return;
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    this.#evict();
  }

  #evict(): void {
    for (let oldest; this.#bytes > this.maxBytes && (oldest = this.#end.newer.entry) !== null;)
      this.#remove(oldest);
  }

  #remove(entry: CacheEntry<V>): void {
    if (!this.#entries.delete(entry.key)) return;
    unlink(entry);
    this.#bytes -= entry.bytes;
    this.#options.onRemove?.(entry.value);
  }
}

function unlink<V>({ older, newer }: Link<V>): void {
  older.newer = newer;
  newer.older = older;
}

/** Puts an entry before the end of the ring: it is the most recently used. */
function link<V>(entry: CacheEntry<V>, end: Link<V>): void {
  entry.older = end.older;
  entry.newer = end;
  end.older.newer = entry;
  end.older = entry;
}

/** How often expired entries are freed: a pass over 100,000 takes about 10 ms. */
const SWEEP_MS = 10_000;

/** All caches of the process that are in use. Bounded by the caches in use. */
const opened = new Set<WeakRef<BoundedCache<unknown>>>();
let sweeper: NodeJS.Timeout | undefined;

function openCaches(): readonly BoundedCache<unknown>[] {
  return [...opened].flatMap((reference) => {
    const cache = reference.deref();
    if (cache === undefined) opened.delete(reference);
    return cache ?? [];
  });
}

/** Frees in all caches what has expired. */
function sweepAll(): void {
  for (const cache of openCaches()) cache.sweep();
}

/** Bytes that the caches of a service take, by their names. */
export function cacheBytes(service: CachedService): readonly (readonly [CacheName, number])[] {
  const names = (Object.keys(CACHES) as CacheName[]).filter((name) => CACHES[name].service === service);
  const caches = openCaches();
  return names.map((name) => [
    name,
    caches.reduce((sum, cache) => sum + (cache.name === name ? cache.bytes : 0), 0),
  ]);
}

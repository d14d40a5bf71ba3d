import { BoundedCache } from "../http/bounded-cache.js";
import type { BufferedResult } from "./buffered-result.js";

/** Maximum share of the cache for one result: a larger one would evict too many others. */
const MAX_ENTRY_SHARE = 1 / 16;

interface CachedResult {
  readonly result: BufferedResult;
  /** The build of the rows where they change only with builds. */
  readonly build: string | null;
  /** The endpoint whose builds these are. */
  readonly route: string;
}

interface ResultCacheOptions {
  /** Lifetime of results of other rows; 0: they are not kept. */
  readonly ttlSeconds: number;
  /** Memory for all entries. */
  readonly maxBytes: number;
  /** Whether a build of an endpoint is the latest: results of an earlier one are freed. */
  readonly isLatest?: (build: string, route: string) => boolean;
}

/**
 * Complete results. Rows that change only with builds are valid until the next one, of others the time alone
 * decides (runtime/docs/freshness.md).
 */
export class ResultCache {
  readonly #entries: BoundedCache<CachedResult>;
  readonly #ttlMs: number;

  constructor({ ttlSeconds, maxBytes, isLatest = () => true }: ResultCacheOptions) {
    this.#ttlMs = ttlSeconds * 1000;
    this.#entries = new BoundedCache<CachedResult>("results", {
      maxBytes,
      maxShare: MAX_ENTRY_SHARE,
      sizeOf: ({ result }) => result.memory,
      isCurrent: ({ build, route }) => build === null || isLatest(build, route),
    });
  }

  /** Whether results of this build, or of rows without one, are kept. */
  keeps(build: string | null): boolean {
    return build !== null || this.#ttlMs > 0;
  }

  get(key: string, build: string | null, cacheKey?: string): BufferedResult | undefined {
    if (!this.keeps(build)) return undefined;
    const entry = this.#entries.get(key, cacheKey);
    return entry?.build === build ? entry.result : undefined;
  }

  set(key: string, result: BufferedResult, build: string | null, route = ""): void {
    if (!this.keeps(build)) return;
    result.keep();
    this.#entries.set(key, { result, build, route }, build === null ? this.#ttlMs : Infinity);
  }
}

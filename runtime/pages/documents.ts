import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { callablePart, catalogueFor, type CatalogueSource } from "./catalogue.js";
import type { CatalogueBody, CatalogueScope } from "./catalogue-body.js";
import { type CallerAccess, allows, type Tier } from "../model/tier.js";
import { BufferedResult } from "../response/buffered-result.js";
import type { BuildRecords } from "../warehouse/data-versions.js";
import type { OpenApiJob, OpenApiResult } from "./openapi-thread.js";
import { Search } from "./search.js";
import type { ActiveRelease, LoadedRelease } from "../release/release.js";

/** A rendered document and the state that it was rendered from. */
interface CachedDocument<T> {
  readonly release: LoadedRelease;
  readonly results: string;
  readonly value: Promise<T>;
}

interface CatalogueDocument {
  readonly body: CatalogueBody;
  /** The part that the caller may call. */
  readonly callable: CatalogueBody;
  readonly result: BufferedResult;
}

/** Callers of different access whose documents are kept: the tiers, and keys with lists of their own. */
const MAX_KEPT = 32;

const cacheOf = <T>() => new LRUCache<string, CachedDocument<T>>({ max: MAX_KEPT });

/** Documents that describe the active release. Each is rendered once per release and access, at its first request. */
export class Documents {
  readonly #title: string;
  readonly #active: ActiveRelease;
  readonly #builds: BuildRecords;
  readonly #lineageTier: Tier | null;
  readonly #scope: CatalogueScope;
  readonly #openApi = cacheOf<BufferedResult>();
  readonly #searches = cacheOf<Search>();
  readonly #catalogues = cacheOf<CatalogueDocument>();

  constructor(
    title: string,
    active: ActiveRelease,
    builds: BuildRecords,
    { lineageTier, scope }: Pick<CatalogueSource, "lineageTier" | "scope">,
  ) {
    this.#title = title;
    this.#scope = scope;
    this.#active = active;
    this.#builds = builds;
    this.#lineageTier = lineageTier;
  }

  /**
   * The OpenAPI document for a caller; with `only`, the endpoints that this tier may call, and the caller may see.
   */
  openApi({ tier, allowed }: CallerAccess, only: Tier | null): Promise<BufferedResult> {
    const isPublic = this.#scope === "public";
    const seen = only !== null && (isPublic || allows(tier, only)) ? only : isPublic ? null : tier;
    const access = seen === null ? null : { tier: seen, allowed: isPublic ? null : allowed };
    return this.#cached(this.#openApi, access, "", async ({ openApi }) => {
      const { text, tag } = await inThread({ openApi, access });
      const body = text ?? openApi;
      return new BufferedResult(Buffer.from(body.buffer, body.byteOffset, body.length), 0, 0, false, tag);
    });
  }

  /** The catalogue for a caller. */
  catalogue(caller: CallerAccess): Promise<CatalogueDocument> {
    const builds = this.#builds;
    const results = `${String(builds.changes)} ${String(builds.testChanges)}`;
    return this.#cached(this.#catalogues, caller, results, async ({ endpoints, documentation }) => {
      const source = {
        title: this.#title,
        endpoints: [...endpoints.values()].map(({ spec }) => spec),
        ...documentation,
        results: builds,
        lineageTier: this.#lineageTier,
        scope: this.#scope,
      };
      const { body, text } = await catalogueFor(source, caller);
      return { body, callable: callablePart(body), result: new BufferedResult(text, 0, 0) };
    });
  }

  /** The search over the endpoints that a caller may call. Builds and tests do not change it. */
  search(caller: CallerAccess): Promise<Search> {
    return this.#cached(this.#searches, caller, "", async () => {
      const { callable } = await this.catalogue(caller);
      const search = new Search(callable.endpoints);
      // Other requests run between the pieces.
      while (search.prepare()) await setImmediate();
      return search;
    });
  }

  #cached<T>(
    cache: LRUCache<string, CachedDocument<T>>,
    access: CallerAccess | null,
    results: string,
    make: (release: LoadedRelease) => Promise<T>,
  ): Promise<T> {
    const release = this.#active.current;
    const key = access === null ? "" : JSON.stringify([access.tier, access.allowed]);
    const known = cache.get(key);
    if (known?.release === release && known.results === results) return known.value;
    const value = make(release);
    cache.set(key, { release, results, value });
    // The next caller tries again.
    value.catch(() => cache.get(key)?.value === value && cache.delete(key));
    return value;
  }
}

/** Compiled: seen from the sources, or from the package. */
const THREAD = new URL(
  import.meta.url.endsWith(".ts") ? "../dist/pages/openapi-thread.js" : "openapi-thread.js",
  import.meta.url,
);

/**
 * Hashes and filters the document in a thread: that of 5,000 endpoints (17 MB) takes 270 ms of processor time per tier,
 * that of 500 takes 34.
 */
function inThread(job: OpenApiJob): Promise<OpenApiResult> {
  return new Promise((resolve, reject) => {
    new Worker(THREAD, { workerData: job })
      .once("message", resolve)
      .once("error", reject)
      .once("exit", (code) => reject(new Error(`The OpenAPI thread ended with code ${String(code)}.`)));
  });
}

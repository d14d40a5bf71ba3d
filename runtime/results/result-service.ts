import {
  type IsStillNeeded,
  type QueryContext,
  QueryTimeout,
  type ResolvedQuery,
  type RowStream,
  type Warehouse,
} from "../query/warehouse.js";
import { type Frame, frameOf, compress, type Encoding } from "./content-negotiation.js";
import { hash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { LRUCache } from "lru-cache";

/** A result that is sent while it is read from the database. */
export interface StreamedResult {
  readonly kind: "stream";
  readonly frame: Frame;
  readonly stream: RowStream;
}

export interface QueryResult {
  readonly result: BufferedResult | StreamedResult;
  /** Whether this request ran the query itself. */
  readonly hasRunQuery: boolean;
}

type RunResult = BufferedResult | StreamedResult | "overloaded";

/**
 * An in-flight query and the callers that wait for it. Cleared when it ends, because V8's maps can retain deleted entries
 * until they are rehashed.
 */
interface InFlightQuery {
  result: Promise<RunResult> | null;
  callers: IsStillNeeded[];
}

/** After a timeout, a waiter that has used less than this share of its own time limit runs the query again. */
const WAITED_SHARE = 0.9;

/** Returns query results: from the cache, from an in-flight query, or by running one. */
export class ResultService {
  readonly #warehouse: Warehouse;
  readonly #cache: ResultCache | null;
  readonly #inFlight = new Map<string, InFlightQuery>();

  /** Without a cache, results are only shared between concurrent callers. */
  constructor(warehouse: Warehouse, cache: ResultCache | null) {
    this.#warehouse = warehouse;
    this.#cache = cache;
  }

  /** `key`: the query's (`queryKey`). Rejects when the database fails. */
  get(key: string, query: ResolvedQuery, context: QueryContext): Promise<QueryResult | "overloaded"> {
    const cached = this.#cache?.get(key, context.version);
    if (cached) return Promise.resolve({ result: cached, hasRunQuery: false });
    // Callers share a query only within one version of the rows.
    const versioned = `${context.version ?? ""}\0${key}`;
    const inFlight = this.#inFlight.get(versioned);
    if (!inFlight?.result) return this.#runFirst(versioned, key, query, context);
    inFlight.callers.push(context.isStillNeeded);
    return this.#wait(inFlight.result, key, query, context);
  }

  /** A stream has one reader: each other caller reads its own. */
  async #wait(
    shared: Promise<RunResult>,
    key: string,
    query: ResolvedQuery,
    context: QueryContext,
  ): Promise<QueryResult | "overloaded"> {
    const started = performance.now();
    try {
      const result = await shared;
      if (result === "overloaded") return result;
      if (result.kind === "buffered") return { result, hasRunQuery: false };
    } catch (error) {
      // The first caller's time limit was reached, not this one's.
      const waitedMs = performance.now() - started;
      if (!(error instanceof QueryTimeout) || waitedMs > WAITED_SHARE * query.timeoutMs) throw error;
      return this.get(key, query, context);
    }
    const result = await this.#run(query, context);
    return result === "overloaded" ? result : { result, hasRunQuery: true };
  }

  async #runFirst(
    versioned: string,
    key: string,
    query: ResolvedQuery,
    context: QueryContext,
  ): Promise<QueryResult | "overloaded"> {
    const callers = [context.isStillNeeded];
    const inFlight: InFlightQuery = { result: null, callers };
    this.#inFlight.set(versioned, inFlight);
    try {
      const isStillNeeded = (): boolean => isAwaited(inFlight, callers);
      inFlight.result = this.#run(query, { ...context, isStillNeeded });
      const result = await inFlight.result;
      if (result === "overloaded") return result;
      if (result.kind === "buffered") this.#cache?.set(key, result, context.version);
      return { result, hasRunQuery: true };
    } finally {
      if (this.#inFlight.get(versioned) === inFlight) this.#inFlight.delete(versioned);
      inFlight.result = null;
      inFlight.callers = [];
    }
  }

  async #run(query: ResolvedQuery, context: QueryContext): Promise<RunResult> {
    const rows = await this.#warehouse.rows(query, context);
    if (rows === "overloaded") return rows;
    const frame = frameOf(query.format, query.selection.page, rows.columns);
    if (rows.kind === "stream") return { kind: "stream", frame, stream: rows };
    return new BufferedResult(
      frame.head + rows.text + frame.tail(rows),
      rows.returned,
      rows.milliseconds,
      rows.hasMore,
    );
  }
}

/** Whether any caller still needs the query. If not it is cancelled, and a later caller runs it again. */
function isAwaited(inFlight: InFlightQuery, callers: readonly IsStillNeeded[]): boolean {
  const isNeeded = callers.some((isStillNeeded) => isStillNeeded());
  if (!isNeeded) inFlight.result = null;
  return isNeeded;
}

/** A weak entity tag (RFC 9110 §8.8.3): the same for all content codings of the same rows. */
export function entityTag(text: string | Buffer): string {
  return `W/"${hash("sha1", text, "base64url" as "base64")}"`;
}

/** Whether `If-None-Match` names the tag, or any tag (RFC 9110 §13.1.2). */
export function matchesTag(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag || ifNoneMatch === "*") return true;
  const opaque = tag.slice(2);
  return ifNoneMatch.split(",").some((part) => part.trim().replace(/^W\//, "") === opaque);
}

/** From this length on a body is stored as bytes, so that hashing and sending do not convert it each time. */
const BYTES_FROM = 16 * 1024;

/** Shorter bodies are not counted: even one per connection takes little memory. */
const COUNTED_FROM = 4 * 1024;

/** Memory budget for bodies that clients have not read yet (runtime/README.md, Limits). */
export class ResponseMemory {
  #free: number;

  constructor(megabytes: number) {
    this.#free = megabytes * 1024 * 1024;
  }

  /** Whether another query may start. */
  readonly hasRoom = (): boolean => this.#free > 0;

  /** Reserves the bytes until the response is closed. */
  reserve(response: ServerResponse, bytes: number): void {
    if (bytes < COUNTED_FROM || response.destroyed) return;
    this.#free -= bytes;
    response.once("close", () => (this.#free += bytes));
  }
}

/** A complete result, shared by all callers of the same query. */
export class BufferedResult {
  readonly kind = "buffered";
  readonly body: string | Buffer;
  readonly bytes: number;
  readonly rows: number;
  /** Whether rows follow this page. */
  readonly hasMore: boolean;
  readonly databaseMs: number;
  #tag: string | null = null;
  #compressed: Map<Encoding, Promise<Buffer>> | null = null;

  /** `tag`: the entity tag, where it is known already. */
  constructor(
    text: string | Buffer,
    rows: number,
    databaseMs: number,
    hasMore = false,
    tag: string | null = null,
  ) {
    this.body = typeof text !== "string" || text.length < BYTES_FROM ? text : Buffer.from(text);
    this.#tag = tag;
    this.bytes = Buffer.byteLength(this.body);
    this.rows = rows;
    this.hasMore = hasMore;
    this.databaseMs = databaseMs;
  }

  /** The entity tag of the rows. */
  get tag(): string {
    return (this.#tag ??= entityTag(this.body));
  }

  /** The compressed body, computed once per coding. */
  compressed(encoding: Encoding): Promise<Buffer> {
    this.#compressed ??= new Map();
    const known = this.#compressed.get(encoding);
    if (known) return known;
    const bytes = typeof this.body === "string" ? Buffer.from(this.body) : this.body;
    const made = compress(encoding, bytes);
    this.#compressed.set(encoding, made);
    return made;
  }
}

/** Approximate size of an entry without its body. */
const ENTRY_BYTES = 1000;

/** Maximum share of one result: a larger one would evict too many others. */
const LARGEST_SHARE = 1 / 16;

interface Entry {
  readonly result: BufferedResult;
  /** Version of the rows; null if unknown. */
  readonly version: string | null;
}

interface CacheOptions {
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
      sizeCalculation: ({ result }, key) => 2 * (result.bytes + key.length) + ENTRY_BYTES,
    });
  }

  get(key: string, version: string | null): BufferedResult | undefined {
    const entry = this.#entries.get(key);
    return entry?.version === version ? entry.result : undefined;
  }

  set(key: string, result: BufferedResult, version: string | null): void {
    this.#entries.set(key, { result, version }, { ttl: version === null ? this.#ttlMs : 0 });
  }

  /** Approximate size in bytes. */
  get bytes(): number {
    return this.#entries.calculatedSize;
  }
}

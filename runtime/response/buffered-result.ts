import type { IncomingMessage, ServerResponse } from "node:http";
import { type Sharer, SharedResource } from "../warehouse/shares.js";
import { freeMemory } from "../warehouse/free-memory.js";
import { joined } from "../warehouse/warehouse.js";
import type { Reply } from "../http/send.js";
import { privateControl } from "./caching-headers.js";
import { COMPRESSED_FROM_BYTES, compress, type Encoding, encodingOf } from "./content-negotiation.js";
import { entityTag, matchesTag } from "./entity-tag.js";

/** A complete result, shared by all callers of the same query. */
export class BufferedResult {
  readonly kind = "buffered";
  readonly bytes: number;
  /** Null where they are not counted. */
  readonly rows: number | null;
  /** Whether rows follow this page. */
  readonly hasMore: boolean;
  readonly databaseMs: number;
  /** The cursor of the next page; null on the last page, and where pages have none. */
  readonly nextCursor: string | null;
  #parts: readonly Buffer[];
  #tag: string | null = null;
  #compressed: Map<Encoding, Promise<Buffer>> | null = null;

  /** `body`: whole, or the parts in which its bytes came. */
  constructor(
    body: Buffer | readonly Buffer[],
    rows: number | null,
    databaseMs: number,
    hasMore = false,
    nextCursor: string | null = null,
  ) {
    this.#parts = Buffer.isBuffer(body) ? [body] : body;
    this.bytes = this.#parts.reduce((bytes, { length }) => bytes + length, 0);
    this.rows = rows;
    this.hasMore = hasMore;
    this.databaseMs = databaseMs;
    this.nextCursor = nextCursor;
  }

  /** The body in consecutive parts: joining them copies a page, and the copy waits for the garbage collector. */
  get parts(): readonly Buffer[] {
    return this.#parts;
  }

  get body(): Buffer {
    const body = joined(this.#parts);
    this.#parts = [body];
    return body;
  }

  /** Frees its memory: nobody may read it after this. */
  free(): void {
    freeMemory(this.#parts);
  }

  /** The entity tag: the digest of the body. */
  get tag(): string {
    return (this.#tag ??= entityTag(this.#parts));
  }

  /** The compressed body, computed once per coding. */
  compressed(encoding: Encoding): Promise<Buffer> {
    this.#compressed ??= new Map();
    const known = this.#compressed.get(encoding);
    if (known) return known;
    const made = compress(encoding, this.body);
    this.#compressed.set(encoding, made);
    return made;
  }
}

/** Shorter bodies do not count against the memory budget: even one per connection takes little memory. */
const RESERVED_FROM_BYTES = 4 * 1024;

/** Memory of bodies that clients have not read yet, shared by callers (runtime/docs/limits.md). */
export class ResponseMemory {
  readonly shares: SharedResource;

  constructor(megabytes: number) {
    this.shares = new SharedResource(megabytes * 1024 * 1024);
  }

  /** Reserves the bytes until the response is closed. */
  reserve(response: ServerResponse, caller: Sharer, bytes: number): void {
    if (bytes < RESERVED_FROM_BYTES || response.destroyed) return;
    this.shares.take(caller, bytes);
    response.once("close", () => this.shares.take(caller, -bytes));
  }
}

/** A document of this server: revalidated by its entity tag, compressed where the client accepts that. */
export async function documentReply(
  document: BufferedResult,
  request: IncomingMessage,
  more: Readonly<Record<string, string>>,
): Promise<Reply> {
  // Shared caches would repeat the rate limit of one reader. Browsers ask again, so that files of two versions never mix.
  const headers = { "Cache-Control": privateControl(request), ...more, ETag: document.tag };
  if (matchesTag(document.tag, request.headers["if-none-match"])) return { status: 304, body: "", headers };
  const encoding = document.bytes < COMPRESSED_FROM_BYTES ? null : encodingOf(request);
  if (encoding === null) return { status: 200, body: document.body, headers };
  const body = await document.compressed(encoding);
  return { status: 200, body, headers: { ...headers, "Content-Encoding": encoding } };
}

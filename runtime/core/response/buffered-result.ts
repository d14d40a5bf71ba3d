import type { IncomingMessage, ServerResponse } from "node:http";
import { type Sharer, SharedResource } from "../warehouse/caller-shares.js";
import { freeMemory } from "../warehouse/free-memory.js";
import { joined } from "../warehouse/warehouse.js";
import type { Reply } from "../http/send.js";
import { privateControl } from "./caching-headers.js";
import { compress, type Encoding, encodingOf } from "./content-negotiation.js";
import { entityTag, matchesTag } from "./entity-tag.js";

/** The object with its tag, and a buffer with what V8 and the allocator need for its memory: measured. */
const KEPT_BYTES = 400;
const PART_BYTES = 300;

/** Memory that a kept result may hold, as a multiple of its bytes. */
const MAX_HELD = 1.1;

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
  #text: string | null = null;
  #tag: string | null = null;
  /** Bounded by the codings. */
  #compressed: Map<Encoding, Promise<Buffer>> | null = null;
  #compressedBytes = 0;
  #isKept = false;

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

  /** The body, a character for each byte. Of a kept result it stays: only short ones are asked for it, which are not compressed. */
  get text(): string {
    if (this.#text !== null) return this.#text;
    const text = joined(this.#parts).toString("latin1");
    if (this.#isKept) this.#text = text;
    return text;
  }

  get body(): Buffer {
    const body = joined(this.#parts);
    this.#parts = [body];
    return body;
  }

  /** Bytes in memory of a result that is kept, with room for one more compressed copy, or for its text. */
  get memory(): number {
    const strings = 2 * (this.nextCursor?.length ?? 0);
    return KEPT_BYTES + this.#parts.length * PART_BYTES + 2 * this.bytes + this.#compressedBytes + strings;
  }

  /** It is kept from now on: a part of memory that others use too would keep the whole of it. */
  keep(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    const held = new Set(this.#parts.map(({ buffer }) => buffer));
    const bytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (bytes > MAX_HELD * this.bytes) this.#parts = [ownMemory(this.#parts, this.bytes)];
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
    const made = this.#isKept ? this.#keptCopy(encoding) : compress(encoding, this.body);
    this.#compressed.set(encoding, made);
    made.catch(() => this.#compressed?.delete(encoding));
    return made;
  }

  async #keptCopy(encoding: Encoding): Promise<Buffer> {
    const made = await compress(encoding, this.body);
    this.#compressedBytes += PART_BYTES + made.length;
    return made.buffer.byteLength > MAX_HELD * made.length ? ownMemory([made], made.length) : made;
  }
}

/** The bytes in memory that nothing else uses. */
function ownMemory(parts: readonly Buffer[], bytes: number): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const part of parts) at += part.copy(own, at);
  return own;
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

/** A page asks for a dozen documents at once, which share the initial congestion window; each is compressed once. */
const COMPRESSED_DOCUMENT_FROM_BYTES = 1024;

/** A document of this server: revalidated by its entity tag, compressed where the client accepts that. */
export async function documentReply(
  document: BufferedResult,
  request: IncomingMessage,
  more: Readonly<Record<string, string>>,
): Promise<Reply> {
  // Shared caches would repeat the rate limit of one reader. Browsers ask again, so that files of two versions never mix.
  const headers = { "Cache-Control": privateControl(request), ...more, ETag: document.tag };
  if (matchesTag(document.tag, request.headers["if-none-match"])) return { status: 304, body: "", headers };
  const encoding = document.bytes < COMPRESSED_DOCUMENT_FROM_BYTES ? null : encodingOf(request);
  if (encoding === null) return { status: 200, body: document.body, headers };
  const body = await document.compressed(encoding);
  return { status: 200, body, headers: { ...headers, "Content-Encoding": encoding } };
}

import type { ServerResponse } from "node:http";
import { entityTag } from "./entity-tag.js";
import { type Holder, SharedResource } from "../warehouse/shares.js";
import { compress, type Encoding } from "./content-negotiation.js";

/** From this length on a body is stored as bytes, so that hashing and sending do not convert it each time. */
const STORED_AS_BYTES_FROM = 16 * 1024;

/** A complete result, shared by all callers of the same query. */
export class BufferedResult {
  readonly kind = "buffered";
  readonly body: string | Buffer;
  readonly bytes: number;
  readonly rows: number;
  /** Whether rows follow this page. */
  readonly hasMore: boolean;
  readonly databaseMs: number;
  /** The cursor of the next page; null on the last page, and where pages have none. */
  readonly nextCursor: string | null;
  #tag: string | null = null;
  #compressed: Map<Encoding, Promise<Buffer>> | null = null;

  /** `tag`: the entity tag, where it is known already. */
  constructor(
    text: string | Buffer,
    rows: number,
    databaseMs: number,
    hasMore = false,
    tag: string | null = null,
    nextCursor: string | null = null,
  ) {
    this.body = typeof text !== "string" || text.length < STORED_AS_BYTES_FROM ? text : Buffer.from(text);
    this.#tag = tag;
    this.bytes = Buffer.byteLength(this.body);
    this.rows = rows;
    this.hasMore = hasMore;
    this.databaseMs = databaseMs;
    this.nextCursor = nextCursor;
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

/** Shorter bodies do not count against the memory budget: even one per connection takes little memory. */
const RESERVED_FROM_BYTES = 4 * 1024;

/** Memory of bodies that clients have not read yet, shared by callers (runtime/docs/limits.md). */
export class ResponseMemory {
  readonly shares: SharedResource;

  constructor(megabytes: number) {
    this.shares = new SharedResource(megabytes * 1024 * 1024);
  }

  /** Reserves the bytes until the response is closed. */
  reserve(response: ServerResponse, { callerId, tier }: Holder, bytes: number): void {
    if (bytes < RESERVED_FROM_BYTES || response.destroyed) return;
    this.shares.take({ callerId, tier }, bytes);
    response.once("close", () => this.shares.take({ callerId, tier }, -bytes));
  }
}

import type { ServerResponse } from "node:http";
import { entityTag } from "./entity-tag.js";
import { type Holder, SharedResource } from "../warehouse/shares.js";
import { compress, type Encoding } from "./content-negotiation.js";

/** A complete result, shared by all callers of the same query. */
export class BufferedResult {
  readonly kind = "buffered";
  readonly body: Buffer;
  readonly bytes: number;
  /** Null where they are not counted. */
  readonly rows: number | null;
  /** Whether rows follow this page. */
  readonly hasMore: boolean;
  readonly databaseMs: number;
  /** The cursor of the next page; null on the last page, and where pages have none. */
  readonly nextCursor: string | null;
  #tag: string | null = null;
  #compressed: Map<Encoding, Promise<Buffer>> | null = null;

  constructor(
    body: Buffer,
    rows: number | null,
    databaseMs: number,
    hasMore = false,
    nextCursor: string | null = null,
  ) {
    this.body = body;
    this.bytes = body.length;
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
  reserve(response: ServerResponse, { callerId, tier }: Holder, bytes: number): void {
    if (bytes < RESERVED_FROM_BYTES || response.destroyed) return;
    this.shares.take({ callerId, tier }, bytes);
    response.once("close", () => this.shares.take({ callerId, tier }, -bytes));
  }
}

import { compress, type Encoding } from "./encoding.js";
import { entityTag } from "./entity-tag.js";

/** From this length on a body is turned into bytes once, instead of each time that it is looked at or sent. */
const BYTES_FROM = 16 * 1024;

/** A complete answer, for everybody who asks the same question. */
export class BufferedResult {
  readonly kind = "whole";
  readonly body: string | Buffer;
  readonly bytes: number;
  readonly rows: number;
  readonly databaseMs: number;
  #tag: string | null = null;
  #compressed: Map<Encoding, Promise<Buffer>> | null = null;

  constructor(text: string, rows: number, databaseMs: number) {
    this.body = text.length < BYTES_FROM ? text : Buffer.from(text);
    this.bytes = Buffer.byteLength(this.body);
    this.rows = rows;
    this.databaseMs = databaseMs;
  }

  /** The tag that the rows themselves give. */
  get tag(): string {
    return (this.#tag ??= entityTag(this.body));
  }

  /** Done once for each coding. */
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

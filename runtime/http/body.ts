import type { IncomingMessage } from "node:http";

/** Largest request body, in bytes (decisions.md §A, Requests). */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Room for a body at first; it doubles whenever it does not suffice. */
const FIRST_BYTES = 4096;

/** A body as text, or why there is none; a client that goes away in the middle gets no answer at all. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-text" }
  | { readonly kind: "gone" };

/** Whether a request says beforehand that its body is over the limit. */
export function announcesTooMuch({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES;
}

/** Reads a body whole, up to the limit; invalid UTF-8 is no text. */
export function readBody(request: IncomingMessage): Promise<Body> {
  if (announcesTooMuch(request)) return Promise.resolve({ kind: "too-large" });
  return new Promise((resolve) => {
    const bytes = new Bytes();
    const take = (chunk: Buffer): void => {
      if (bytes.add(chunk)) return;
      // What else comes is read and dropped: a socket that is closed with something unread is reset, answer and all.
      request.off("data", take).resume();
      resolve({ kind: "too-large" });
    };
    request.on("data", take);
    request.once("end", () => resolve(decode(bytes.all)));
    request.once("error", () => resolve({ kind: "gone" }));
    request.once("close", () => resolve({ kind: "gone" }));
  });
}

/**
 * Bytes that come in pieces. They are copied together at once: a piece of one byte, as the pieces of a chunked body may be,
 * takes a hundred times as much memory by itself.
 */
class Bytes {
  #room = Buffer.alloc(0);
  #size = 0;

  /** False when there are more than a body may have. */
  add(chunk: Buffer): boolean {
    const size = this.#size + chunk.length;
    if (size > MAX_BODY_BYTES) return false;
    if (size > this.#room.length) this.#grow(size);
    chunk.copy(this.#room, this.#size);
    this.#size = size;
    return true;
  }

  get all(): Buffer {
    return this.#room.subarray(0, this.#size);
  }

  #grow(size: number): void {
    const room = Buffer.allocUnsafeSlow(Math.min(MAX_BODY_BYTES, Math.max(FIRST_BYTES, 2 * size)));
    this.all.copy(room);
    this.#room = room;
  }
}

function decode(bytes: Buffer): Body {
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { kind: "not-text" };
  }
}

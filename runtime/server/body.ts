import type { IncomingMessage } from "node:http";

/** Largest request body, in bytes (runtime/docs/limits.md). */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Initial buffer size; it doubles when it is full. */
const FIRST_BYTES = 4096;

/** A body as text, or why there is none. `gone`: the client disconnected while sending, so it gets no response. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-text" }
  | { readonly kind: "gone" };

/** Whether the request's `Content-Length` is over the limit. */
export function exceedsBodyLimit({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES;
}

/** Reads the whole body, up to the limit. Invalid UTF-8 is `not-text`. */
export function readBody(request: IncomingMessage): Promise<Body> {
  if (exceedsBodyLimit(request)) return Promise.resolve({ kind: "too-large" });
  return new Promise((resolve) => {
    const bytes = new Bytes();
    const take = (chunk: Buffer): void => {
      if (bytes.add(chunk)) return;
      // Read and discard the rest: closing a socket with unread data resets it, and the client loses the response.
      request.off("data", take).resume();
      resolve({ kind: "too-large" });
    };
    request.on("data", take);
    request.once("end", () => resolve(decode(bytes.all)));
    request.once("error", () => resolve({ kind: "gone" }));
    request.once("close", () => resolve({ kind: "gone" }));
  });
}

/** Collects chunks in one buffer: kept separately, chunks of one byte would take a hundred times as much memory. */
class Bytes {
  #buffer = Buffer.alloc(0);
  #size = 0;

  /** False when the body exceeds the limit. */
  add(chunk: Buffer): boolean {
    const size = this.#size + chunk.length;
    if (size > MAX_BODY_BYTES) return false;
    if (size > this.#buffer.length) this.#grow(size);
    chunk.copy(this.#buffer, this.#size);
    this.#size = size;
    return true;
  }

  get all(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  #grow(size: number): void {
    const buffer = Buffer.allocUnsafeSlow(Math.min(MAX_BODY_BYTES, Math.max(FIRST_BYTES, 2 * size)));
    this.all.copy(buffer);
    this.#buffer = buffer;
  }
}

function decode(bytes: Buffer): Body {
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { kind: "not-text" };
  }
}

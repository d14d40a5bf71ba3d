import type { IncomingMessage } from "node:http";

/** Largest request body, in bytes (runtime/docs/limits.md). */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Initial buffer size; it doubles when it is full. So much of a body is read in any case. */
const FIRST_BYTES = 4096;

/** Memory for longer bodies that have not arrived whole, per process. 500 of one key took 823 MB, 2.6 GB of tier3. */
const MAX_UNFINISHED_BYTES = 64 * 1024 * 1024;

/** Whose body it is. */
export interface Sender {
  /** One sender has at most half of the memory. */
  readonly id: string;
  /** The part of the memory that all bodies may take together when this sender's needs more. */
  readonly share: number;
}

/** A body as text, or why there is none. `gone`: the client disconnected while sending, so it gets no response. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too-large" }
  /** The memory for unfinished bodies is used up. */
  | { readonly kind: "overloaded" }
  | { readonly kind: "not-text" }
  | { readonly kind: "gone" };

/** Why a service refuses a body, in its own errors. Without one for it, `Content-Encoding` is not looked at. */
export type BodyErrors<E> = Readonly<Record<"too-large" | "overloaded" | "not-text", E>> & {
  readonly compressed?: E;
};

/** The text of a body, or the service's error; null when the client disconnected while sending. */
export async function readText<E>(
  request: IncomingMessage,
  sender: Sender,
  errors: BodyErrors<E>,
): Promise<string | E | null> {
  const body = await readBody(request, sender);
  if (body.kind === "gone") return null;
  if (body.kind === "too-large" || body.kind === "overloaded") return errors[body.kind];
  const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity" && errors.compressed !== undefined) return errors.compressed;
  return body.kind === "text" ? body.text : errors[body.kind];
}

/** Reads the whole body, up to the limits. Invalid UTF-8 is `not-text`. */
export function readBody(request: IncomingMessage, sender: Sender): Promise<Body> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES)
    return Promise.resolve({ kind: "too-large" });
  return new Promise((resolve) => {
    const bytes = new Bytes(sender);
    const end = (body: Body): void => {
      bytes.release();
      resolve(body);
    };
    const take = (chunk: Buffer): void => {
      const refusal = bytes.add(chunk);
      if (refusal === null) return;
      // Read and discard the rest: closing a socket with unread data resets it, and the client loses the response.
      request.off("data", take).resume();
      end({ kind: refusal });
    };
    request.on("data", take);
    request.once("end", () => end(decode(bytes.all)));
    request.once("error", () => end({ kind: "gone" }));
    request.once("close", () => end({ kind: "gone" }));
  });
}

/** Bytes of unfinished bodies, by their sender. Bounded by open connections. */
const taken = new Map<string, number>();
let takenByAll = 0;

function changeTaken(id: string, bytes: number): void {
  takenByAll += bytes;
  const own = (taken.get(id) ?? 0) + bytes;
  if (own === 0) taken.delete(id);
  else taken.set(id, own);
}

function hasRoom({ id, share }: Sender, bytes: number): boolean {
  const own = (taken.get(id) ?? 0) + bytes;
  return own <= MAX_UNFINISHED_BYTES / 2 && takenByAll + bytes <= MAX_UNFINISHED_BYTES * share;
}

/**
 * Collects chunks in one buffer: kept separately, a chunk of one byte takes 454, and clients that send such would use up
 * the memory for all bodies with 0.13 MB.
 */
class Bytes {
  readonly #sender: Sender;
  #buffer = Buffer.alloc(0);
  #size = 0;
  #taken = 0;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** Why the chunk is refused; null when it is not. */
  add(chunk: Buffer): "too-large" | "overloaded" | null {
    const size = this.#size + chunk.length;
    if (size > MAX_BODY_BYTES) return "too-large";
    if (size > this.#buffer.length && !this.#grow(size)) return "overloaded";
    chunk.copy(this.#buffer, this.#size);
    this.#size = size;
    return null;
  }

  get all(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  /** May be called again. */
  release(): void {
    changeTaken(this.#sender.id, -this.#taken);
    this.#taken = 0;
  }

  #grow(size: number): boolean {
    const length = Math.min(MAX_BODY_BYTES, Math.max(FIRST_BYTES, 2 * size));
    const more = length - this.#buffer.length;
    if (size > FIRST_BYTES) {
      if (!hasRoom(this.#sender, more)) return false;
      changeTaken(this.#sender.id, more);
      this.#taken += more;
    }
    const buffer = Buffer.allocUnsafeSlow(length);
    this.all.copy(buffer);
    this.#buffer = buffer;
    return true;
  }
}

function decode(bytes: Buffer): Body {
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { kind: "not-text" };
  }
}

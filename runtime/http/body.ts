import type { IncomingMessage } from "node:http";

/** Largest request body, in bytes (decisions.md §A, Requests). */
export const MAX_BODY_BYTES = 1024 * 1024;

/** A body as text, or why there is none; a client that goes away in the middle gets no answer at all. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-text" }
  | { readonly kind: "gone" };

/** Reads a body whole, up to the limit; invalid UTF-8 is no text. */
export async function readBody(request: IncomingMessage): Promise<Body> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return { kind: "too-large" };
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) return { kind: "too-large" };
      chunks.push(chunk);
    }
  } catch {
    return { kind: "gone" };
  }
  return decode(Buffer.concat(chunks));
}

function decode(bytes: Buffer): Body {
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { kind: "not-text" };
  }
}

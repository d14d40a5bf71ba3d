import type { ServerResponse } from "node:http";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RowChunks, RowStream, StreamEnd } from "../query/warehouse.js";
import type { Frame } from "./frame.js";

/** A client that does not take a piece in this time is cut off: it holds a connection of the database. */
const STALL_MS = 30_000;

export interface SentStream extends StreamEnd {
  /** Bytes of the body, as sent. */
  readonly bytes: number;
}

/**
 * Sends a stream of rows, no faster than the client takes it. Rejects when the database fails, or the client goes away or
 * stalls; the connection is then destroyed, so that a body which ends cleanly is always complete.
 */
export async function sendStream(
  response: ServerResponse,
  frame: Frame,
  { pieces }: RowStream,
  compressor: Transform | null,
  stallMs = STALL_MS,
): Promise<SentStream> {
  const progress: Progress = { end: { returned: 0, hasMore: false, milliseconds: 0 }, bytes: 0 };
  try {
    const text = Readable.from(whole(response, frame, pieces, progress, stallMs));
    const count = counting(progress);
    if (compressor === null) await pipeline(text, count, response);
    else await pipeline(text, compressor, count, response);
    return { ...progress.end, bytes: progress.bytes };
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    await pieces.return();
  }
}

interface Progress {
  end: StreamEnd;
  bytes: number;
}

/** The body in pieces, each of which has to be taken in time. */
async function* whole(
  response: ServerResponse,
  { head, tail }: Frame,
  pieces: RowChunks,
  progress: Progress,
  stallMs: number,
): AsyncGenerator<Buffer> {
  let timer: NodeJS.Timeout | undefined;
  try {
    let before = head;
    for (;;) {
      const piece = await pieces.next();
      if (piece.done) {
        progress.end = piece.value;
        yield Buffer.from(before + tail(piece.value));
        return;
      }
      timer = setTimeout(() => response.destroy(), stallMs);
      yield Buffer.from(before + piece.value);
      clearTimeout(timer);
      before = "";
    }
  } finally {
    clearTimeout(timer);
  }
}

function counting(progress: Progress): (chunks: AsyncIterable<Buffer>) => AsyncGenerator<Buffer> {
  return async function* (chunks) {
    for await (const chunk of chunks) {
      progress.bytes += chunk.length;
      yield chunk;
    }
  };
}

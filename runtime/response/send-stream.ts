import type { ServerResponse } from "node:http";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RowStream, StreamEnd } from "../warehouse/warehouse.js";
import type { Frame } from "./content-negotiation.js";

/**
 * A client that reads nothing for this long is disconnected. Long, because a slow reader's progress is only visible when a
 * large part of the system's socket buffer is free again.
 */
const STALL_MS = 120_000;

/** Interval of the check for stalled clients, as a share of the time after which one is disconnected; at most 1 s. */
const CHECK_INTERVAL_SHARE = 1 / 20;

interface SentStream extends StreamEnd {
  /** Bytes of the body, as sent. */
  readonly bytes: number;
}

/** A stream was aborted: the reason, and what was sent before. */
export class StreamAborted extends Error {
  readonly sent: SentStream;

  constructor(cause: Error, sent: SentStream) {
    super(`The stream was aborted: ${cause.message}`, { cause });
    this.sent = sent;
  }
}

interface StreamOptions {
  readonly compressor: Transform | null;
  /** Time limit of the whole stream; 0: no limit. */
  readonly timeLimitMs: number;
  /** Resets the client's connection, so that the client detects the incomplete body. */
  readonly reset: (response: ServerResponse) => void;
  readonly stallMs?: number;
}

/**
 * Sends a stream of rows with back-pressure. Rejects with `StreamAborted` when the database fails, the client stalls or the
 * time limit is reached, and resets the connection, so that the client detects the incomplete body. Resolves with what was
 * sent when the client disconnects (runtime/README.md, Streams).
 */
export async function sendStream(
  response: ServerResponse,
  frame: Frame,
  { chunks }: RowStream,
  { compressor, timeLimitMs, reset, stallMs = STALL_MS }: StreamOptions,
): Promise<SentStream> {
  let end: StreamEnd = { returned: 0, hasMore: false, milliseconds: 0 };
  let bytes = 0;
  const abort: { reason: Error | null } = { reason: null };
  const fail = (error: Error): void => {
    abort.reason ??= error;
    reset(response);
  };
  async function* body(): AsyncGenerator<Buffer> {
    let before = frame.head;
    for (;;) {
      const chunk = await chunks.next().catch((error: unknown) => {
        fail(error as Error);
        throw error;
      });
      if (chunk.done) {
        end = chunk.value;
        yield Buffer.from(before + frame.tail(end));
        return;
      }
      if (before !== "") yield Buffer.from(before);
      before = "";
      yield typeof chunk.value === "string" ? Buffer.from(chunk.value) : chunk.value;
    }
  }
  async function* count(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  const stopWatching = watchClient(response, { timeLimitMs, stallMs, fail });
  try {
    const source = Readable.from(body());
    if (compressor === null) await pipeline(source, count, response);
    else await pipeline(source, compressor, count, response);
    return { ...end, bytes };
  } catch {
    const { value } = await chunks.return();
    const sent = { ...value, bytes };
    if (abort.reason !== null) throw new StreamAborted(abort.reason, sent);
    return sent;
  } finally {
    stopWatching();
    await chunks.return();
  }
}

interface ClientLimits {
  readonly timeLimitMs: number;
  readonly stallMs: number;
  readonly fail: (error: Error) => void;
}

/** Fails a stream whose client stalls, or that exceeds its time limit. Returns a function that ends the check. */
function watchClient(response: ServerResponse, { timeLimitMs, stallMs, fail }: ClientLimits): () => void {
  const started = performance.now();
  let lastSent = -1;
  let progressAt = started;
  const timer = setInterval(
    () => {
      const now = performance.now();
      const { socket } = response;
      const sent = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
      if (sent !== lastSent || response.writableLength === 0) progressAt = now;
      lastSent = sent;
      if (now - progressAt > stallMs) fail(new Error("The client has stopped reading."));
      else if (timeLimitMs > 0 && now - started > timeLimitMs)
        fail(new Error("The stream exceeded its time limit."));
    },
    Math.min(1000, stallMs * CHECK_INTERVAL_SHARE),
  ).unref();
  return () => clearInterval(timer);
}

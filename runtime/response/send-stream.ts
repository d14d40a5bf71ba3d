import type { ServerResponse } from "node:http";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { resetConnection } from "../http/client-connection.js";
import type { RowStream, StreamEnd } from "../warehouse/warehouse.js";
import type { Frame } from "./content-negotiation.js";

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
}

/**
 * Sends a stream of rows with back-pressure. When the database fails or the time limit is reached it resets the connection,
 * so that the client detects the incomplete body, and rejects with `StreamAborted`; so it does when the server has reset it
 * for a slow client. Resolves with what was sent when the client disconnects (runtime/docs/limits.md, Streams).
 */
export async function sendStream(
  response: ServerResponse,
  frame: Frame,
  { chunks }: RowStream,
  { compressor, timeLimitMs }: StreamOptions,
): Promise<SentStream> {
  let end: StreamEnd = { returned: 0, hasMore: false, milliseconds: 0 };
  let bytes = 0;
  async function* body(): AsyncGenerator<Buffer> {
    let before = frame.head;
    for (;;) {
      const chunk = await chunks.next().catch((error: unknown) => {
        resetConnection(response, error as Error);
        throw error;
      });
      if (chunk.done) {
        end = chunk.value;
        yield Buffer.from(before + frame.tail(end));
        return;
      }
      if (before !== "") yield Buffer.from(before);
      before = "";
      yield chunk.value;
    }
  }
  async function* count(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  const exceeded = (): void => resetConnection(response, new Error("The stream exceeded its time limit."));
  const timer = timeLimitMs === 0 ? undefined : setTimeout(exceeded, timeLimitMs).unref();
  try {
    const source = Readable.from(body());
    if (compressor === null) await pipeline(source, count, response);
    else await pipeline(source, compressor, count, response);
    return { ...end, bytes };
  } catch {
    const { value } = await chunks.return();
    const sent = { ...value, bytes };
    if (response.errored) throw new StreamAborted(response.errored, sent);
    return sent;
  } finally {
    clearTimeout(timer);
    await chunks.return();
  }
}

import type { ServerResponse } from "node:http";
import type { Transform } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { resetConnection } from "../http/client-connection.js";
import type { RowChunks, RowStream, StreamEnd } from "../warehouse/warehouse.js";
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
  const output = compressor ?? response;
  let bytes = 0;
  let interrupt: (error: Error) => void = () => undefined;
  /** Resolves when the chunk has left this process, or its compressor has read it: then its memory is used again. */
  const write = (chunk: Buffer): Promise<void> =>
    new Promise((resolve, reject) => {
      interrupt = reject;
      output.write(chunk, (error) => (error ? reject(error) : resolve()));
      if (compressor === null) bytes += chunk.length;
    });
  async function* counted(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of compressed) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  const sent = compressor === null ? finished(response) : pipeline(compressor, counted, response);
  sent.catch((error: unknown) => {
    interrupt(error as Error);
    void chunks.return();
  });
  const next = (): ReturnType<RowChunks["next"]> =>
    chunks.next().catch((error: unknown) => {
      resetConnection(response, error as Error);
      throw error;
    });
  const exceeded = (): void => resetConnection(response, new Error("The stream exceeded its time limit."));
  const timer = timeLimitMs === 0 ? undefined : setTimeout(exceeded, timeLimitMs).unref();
  try {
    let chunk = await next();
    if (frame.head !== "") await write(Buffer.from(frame.head));
    for (; chunk.done !== true; chunk = await next()) await write(chunk.value);
    const tail = frame.tail(chunk.value);
    if (tail !== "") await write(Buffer.from(tail));
    output.end();
    await sent;
    return { ...chunk.value, bytes };
  } catch {
    const { value } = await chunks.return();
    if (response.errored) throw new StreamAborted(response.errored, { ...value, bytes });
    return { ...value, bytes };
  } finally {
    clearTimeout(timer);
    await chunks.return();
  }
}

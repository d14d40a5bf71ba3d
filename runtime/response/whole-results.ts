import type { IncomingMessage } from "node:http";
import { LRUCache } from "lru-cache";
import type { RowChunks } from "../warehouse/warehouse.js";
import { BufferedResult } from "./buffered-result.js";
import type { QueryResult, StreamedResult } from "./result-service.js";

/** A longer result is streamed: it has neither a length nor ranges. */
const MAX_RESULT_BYTES = 32 * 1024 * 1024;

/** Memory for all results. */
const MAX_BYTES = 64 * 1024 * 1024;

/** How long a client may read the parts of one result. */
const KEPT_MS = 60_000;

/** Whether a client asks for a length, or for parts: polars reads a file so. */
export function readsParts({ method, headers }: IncomingMessage): boolean {
  return method === "HEAD" || (method === "GET" && headers.range !== undefined);
}

/** Results that would be streams, as a whole, so that their parts are of the same rows (runtime/docs/requests.md). */
export class WholeResults {
  readonly #results = new LRUCache<string, BufferedResult>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
    ttl: KEPT_MS,
  });

  get(key: string): QueryResult | undefined {
    const result = this.#results.get(key);
    return result && { result, hasRunQuery: false };
  }

  /** Reads a stream to its end. A result over the size limit stays a stream. */
  async complete(key: string, { result, hasRunQuery }: QueryResult, hasMore: boolean): Promise<QueryResult> {
    if (result.kind === "buffered") return { result, hasRunQuery };
    const { frame, stream, nextCursor } = result;
    const read: Buffer[] = [];
    for (let bytes = 0; bytes <= MAX_RESULT_BYTES;) {
      const chunk = await stream.chunks.next();
      if (chunk.done) {
        const body = Buffer.concat([Buffer.from(frame.head), ...read, Buffer.from(frame.tail(chunk.value))]);
        const { returned, milliseconds } = chunk.value;
        const whole = new BufferedResult(body, returned, milliseconds, hasMore, nextCursor);
        this.#results.set(key, whole);
        return { result: whole, hasRunQuery };
      }
      read.push(Buffer.from(chunk.value));
      bytes += chunk.value.length;
    }
    const chunks = readAhead(read, stream.chunks);
    return {
      result: { kind: "stream", frame, stream: { ...stream, chunks }, nextCursor } satisfies StreamedResult,
      hasRunQuery,
    };
  }
}

/** A stream whose first chunks have been read. */
function readAhead(read: Buffer[], rest: RowChunks): RowChunks {
  return {
    next() {
      const value = read.shift();
      return value === undefined ? rest.next() : Promise.resolve({ done: false, value });
    },
    return: () => rest.return(),
  };
}

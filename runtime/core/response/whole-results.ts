import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BoundedCache } from "../http/bounded-cache.js";
import type { RowChunks } from "../warehouse/warehouse.js";
import { BufferedResult } from "./buffered-result.js";
import type { Answer, QueryResult } from "./answer.js";

/** A longer result is streamed: it has neither a length nor ranges. */
const MAX_RESULT_BYTES = 32 * 1024 * 1024;

/** A range of a body; `last` is inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The single range that a request asks for; null for all other requests, which get the whole body (RFC 9110 §14.2). One that begins
 * behind the body has its `first` there.
 */
export function rangeOf({ method, headers }: IncomingMessage, bytes: number): ByteRange | null {
  // `If-Range` needs a strong tag; ours are weak.
  if (method !== "GET" || headers["if-range"] !== undefined) return null;
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "") ?? [];
  if (from === "" && to === "") return null;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return null;
  if (from !== "")
    return { first: Number(from), last: Math.min(to === "" ? Infinity : Number(to), bytes - 1) };
  // The last bytes of an empty body are the whole.
  const isWhole = bytes === 0 && Number(to) > 0;
  return isWhole ? null : { first: Math.max(0, bytes - Number(to)), last: bytes - 1 };
}

/** Whether a request asks for a range behind the body: an error. */
export function isBehind(request: IncomingMessage, bytes: number): boolean {
  return request.headers.range !== undefined && (rangeOf(request, bytes)?.first ?? -1) >= bytes;
}

/** Whether a client asks for a length, or for parts: polars reads a file so. */
export function readsParts({ method, headers }: IncomingMessage): boolean {
  return method === "HEAD" || (method === "GET" && headers.range !== undefined);
}

/**
 * Whether a request may be answered by a part of a kept result of so many bytes. A condition asks for the rows of this moment,
 * and so does a request that gets the whole body.
 */
export function partFinder(request: IncomingMessage): (bytes: number) => boolean {
  const isConditional = request.headers["if-none-match"] !== undefined;
  return (bytes) => !isConditional && rangeOf(request, bytes) !== null;
}

/** A result with what its response says of it. */
type WholeResult = Pick<Answer, "version" | "due" | "quality" | "tag" | "hasMore"> & {
  readonly result: BufferedResult;
};

/** What a response says of a result, which is kept by the key. */
type UnfinishedRead = Omit<WholeResult, "result"> & { readonly resultKey: string };

/** The digest, the tag and the object; the version is shared. */
const READING_BYTES = 250;

/**
 * Results of which clients read parts: all parts that a caller reads are of the first one's rows, and have its tag
 * (runtime/docs/requests.md).
 */
export class WholeResults {
  /** By query and rows: callers that read the same rows share the body. */
  readonly #results = new BoundedCache<BufferedResult>("whole_results", { sizeOf: ({ memory }) => memory });
  /** By caller and query. */
  readonly #readings = new BoundedCache<UnfinishedRead>("readings", { sizeOf: () => READING_BYTES });

  /** The result that a caller reads in parts. */
  get(callerId: string, key: string): WholeResult | undefined {
    const { resultKey, ...reading } = this.#readings.get(`${callerId}\0${key}`) ?? {};
    const result = resultKey === undefined ? undefined : this.#results.get(resultKey);
    return result && ({ result, ...reading } as WholeResult);
  }

  /** Keeps a result for the parts that follow. Returns the one that other callers read too, where it has the same rows. */
  keep(callerId: string, key: string, { result, ...said }: WholeResult): BufferedResult {
    const { version, due, quality, tag, hasMore } = said;
    const resultKey = hash("sha256", `${key}\0${result.nextCursor ?? ""}\0${result.tag}`, "base64");
    result.keep();
    const shared = this.#results.get(resultKey) ?? result;
    this.#results.set(resultKey, shared);
    this.#readings.set(`${callerId}\0${key}`, { resultKey, version, due, quality, tag, hasMore });
    return shared;
  }
}

/** Reads a stream to its end. A result over the size limit stays a stream. */
export async function completed(result: QueryResult, hasMore: boolean): Promise<QueryResult> {
  if (result.kind === "buffered") return result;
  const { frame, stream, nextCursor } = result;
  const read: Buffer[] = [];
  for (let bytes = 0; bytes <= MAX_RESULT_BYTES;) {
    const chunk = await stream.chunks.next();
    if (chunk.done) {
      const body = Buffer.concat([Buffer.from(frame.head), ...read, Buffer.from(frame.tail(chunk.value))]);
      const { returned, milliseconds } = chunk.value;
      return new BufferedResult(body, returned, milliseconds, hasMore, nextCursor);
    }
    read.push(Buffer.from(chunk.value));
    bytes += chunk.value.length;
  }
  return { ...result, stream: { ...stream, chunks: readAhead(read, stream.chunks) } };
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

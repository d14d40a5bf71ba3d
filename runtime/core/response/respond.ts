import { type IncomingMessage, OutgoingMessage, type ServerResponse } from "node:http";
import type { BufferedResult, ResponseMemory } from "./buffered-result.js";
import { matchesTag } from "./entity-tag.js";
import type { Answer, StreamedResult } from "./answer.js";
import { type ByteRange, rangeOf } from "./whole-results.js";
import {
  COMPRESSED_FROM_BYTES,
  compressor,
  encodingOf,
  CONTENT_TYPES,
  type Frame,
} from "./content-negotiation.js";
import { COMMON_HEADERS, TEXT_POLICY, writeHead } from "../http/headers.js";
import type { Endpoint } from "../model/endpoint.js";
import type { HttpError } from "../model/errors.js";
import type { Caller } from "../model/caller.js";
import type { Transform } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { resetConnection } from "../http/send.js";
import type { DataQuality } from "../warehouse/data-quality.js";
import type { Due } from "../warehouse/freshness-checks.js";
import { joined, type RowChunks, type RowStream, type StreamEnd } from "../warehouse/warehouse.js";
import { Timer } from "../model/timer.js";

/** The outcome of a request, for logs and metrics. */
export interface Sent {
  /** Whether the response was aborted after a successful status was sent. */
  readonly isAborted?: boolean;
  /** Why, where the query was too large. */
  readonly error?: HttpError | null;
  /** Null for a response without rows. */
  readonly rows: number | null;
  /** Bytes of the body, as sent. */
  readonly bytes: number;
  /** Null when no query ran. */
  readonly databaseMs: number | null;
}

export const NO_ROWS: Sent = { rows: null, bytes: 0, databaseMs: null };

/** What is sent: the answer, and the response that carries it. */
export interface RowsResponse {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly answer: Answer;
  /** Headers so far, as flat name and value pairs; the others are appended to this list. */
  readonly headers: string[];
  /** Who may keep the response, as flat name and value pairs (`cachingHeaders`). */
  readonly caching: readonly string[];
  /** Where it is not that of the format. */
  readonly contentType?: string;
  readonly caller: Caller;
  readonly responseMemory: ResponseMemory;
  /** Time limit of a stream; 0: no limit. */
  readonly streamTimeoutMs: number;
}

/** Headers of responses with rows. */
const ROW_HEADERS: readonly string[] = [...COMMON_HEADERS, ...TEXT_POLICY];

/**
 * Headers of a deprecated endpoint, as flat name and value pairs: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and a
 * link to its successor (RFC 5829). dbt has one date for both: when the model may be removed. `prefix`: of the public
 * address.
 */
export function deprecationHeaders(
  { deprecationDate }: Endpoint,
  successor: string | null,
  prefix: string,
): readonly string[] {
  const headers: string[] = [];
  if (deprecationDate !== null) {
    const date = new Date(deprecationDate);
    headers.push(
      "Deprecation",
      `@${String(Math.floor(date.getTime() / 1000))}`,
      "Sunset",
      date.toUTCString(),
    );
  }
  if (successor !== null) headers.push("Link", `<${prefix}${successor}>; rel="successor-version"`);
  return headers;
}

/** Whether rows keep the promise now; null: nobody knows. */
export function isFresh(due: Due | null): boolean {
  return due !== null && due.due >= Date.now();
}

/** Whether rows are as fresh as promised, and until when (runtime/docs/freshness.md), as flat name and value pairs. */
export function freshnessHeaders(until: Due): readonly string[] {
  const { due, warnAt } = until;
  const state = !isFresh(until) ? "error" : warnAt < Date.now() ? "warn" : "ok";
  const time = new Date(due === Infinity ? warnAt : due);
  return ["X-Data-Freshness", `${state};due="${time.toISOString()}"`];
}

const NO_HEADERS: readonly string[] = [];

/** What dbt's tests say of the rows (runtime/docs/freshness.md), as flat name and value pairs; none without tests. */
export function qualityHeaders(quality: DataQuality | null): readonly string[] {
  if (quality === null) return NO_HEADERS;
  const { state, failed } = quality;
  return ["X-Data-Quality", failed === 0 ? state : `${state};failed=${String(failed)}`];
}

/** Sends an answer, compressed if the client accepts that. For a stream it resolves at its end. */
export function respond(sending: RowsResponse): Sent | Promise<Sent> {
  const { result, hasRunQuery, tag: tagOfBuild } = sending.answer;
  if (result === null) return sendNotModified(sending, tagOfBuild);
  if (result.kind === "stream") {
    const ended = () => result.stream.chunks.return().then(() => undefined);
    return respondWithStream(sending, result).finally(ended);
  }
  // Without one, the digest of the body. A stream has no digest: its body is not in memory.
  const tag = tagOfBuild ?? result.tag;
  const databaseMs = hasRunQuery ? result.databaseMs : null;
  const { method, headers } = sending.request;
  const isRead = method === "GET" || method === "HEAD";
  return isRead && matchesTag(tag, headers["if-none-match"])
    ? { ...sendNotModified(sending, tag), databaseMs }
    : sendBuffered(sending, result, tag, databaseMs);
}

function sendNotModified(sending: RowsResponse, tag: string | null): Sent {
  writeHead(sending.response, 304, headersOf(sending, tag));
  sending.response.end();
  return NO_ROWS;
}

function sendBuffered(
  sending: RowsResponse,
  result: BufferedResult,
  tag: string,
  databaseMs: number | null,
): Sent | Promise<Sent> {
  const { rows, bytes } = result;
  const headers = headersOf(sending, tag);
  headers.push("Content-Type", typeOf(sending), "Content-Length");
  if (sending.request.headers.range !== undefined) {
    const range = rangeOf(sending.request, bytes);
    if (range !== null) return { rows, bytes: sendRange(sending, headers, result, range), databaseMs };
  }
  const encoding =
    bytes < COMPRESSED_FROM_BYTES ? null : encodingOf(sending.request, sending.answer.query.format);
  if (encoding === null) {
    headers.push(String(bytes));
    freeOnceSent(sending, result);
    return { rows, bytes: sendBody(sending, headers, result, bytes), databaseMs };
  }
  return result.compressed(encoding).then((compressed) => {
    freeOnceSent(sending, result);
    headers.push(String(compressed.length), "Content-Encoding", encoding);
    return {
      rows,
      bytes: sendBody(sending, headers, { parts: [compressed] }, compressed.length),
      databaseMs,
    };
  });
}

const typeOf = ({ contentType, answer }: RowsResponse): string =>
  contentType ?? CONTENT_TYPES[answer.query.format];

/** False where a middleware has replaced `write` or `end`: it may keep the buffer, so memory is copied and not reused. */
const writesItself = (response: ServerResponse): boolean =>
  response.write === OutgoingMessage.prototype.write && response.end === OutgoingMessage.prototype.end;

/** Called when nothing but the response reads the bytes. Not on "close": the system may still read what it could not send. */
function freeOnceSent({ response, answer }: RowsResponse, result: BufferedResult): void {
  if (result.bytes <= MAX_JOINED_BYTES || !answer.ownsResult) return;
  if (writesItself(response) && !response.writableEnded) response.once("finish", () => result.free());
}

/** Clients such as polars fetch a file in ranges, which refer to the uncompressed body. */
function sendRange(
  { response, caller, responseMemory }: RowsResponse,
  headers: string[],
  { body, bytes }: BufferedResult,
  { first, last }: ByteRange,
): number {
  if (response.destroyed) return 0;
  const part = body.subarray(first, last + 1);
  const range = `bytes ${String(first)}-${String(last)}/${String(bytes)}`;
  headers.push(String(part.length), "Content-Range", range);
  writeHead(response, 206, headers);
  response.end(part);
  // The part keeps the whole body in memory.
  responseMemory.reserve(response, caller, bytes);
  return part.length;
}

/**
 * Node sends a short text in one write with the headers, bytes in a second one: 17,600 requests a second for one row instead
 * of 15,900.
 */
const MAX_JOINED_BYTES = 4096;

/** Returns the bytes that were sent. */
function sendBody(
  { request, response, caller, responseMemory }: RowsResponse,
  headers: string[],
  body: Pick<BufferedResult, "parts"> & Partial<Pick<BufferedResult, "text">>,
  bytes: number,
): number {
  if (response.destroyed) return 0;
  writeHead(response, 200, headers);
  if (request.method === "HEAD") {
    response.end();
    return 0;
  }
  if (bytes > MAX_JOINED_BYTES) {
    // In one write, with the head.
    response.cork();
    for (const part of body.parts) response.write(part);
    response.end();
    response.uncork();
  } else sendText(response, body.text ?? joined(body.parts).toString("latin1"));
  responseMemory.reserve(response, caller, bytes);
  return bytes;
}

/** Each character of the text is a byte of the body. */
function sendText(response: ServerResponse, text: string): void {
  if (!writesItself(response)) return void response.end(text, "latin1");
  // `end` with a text writes it, and then an empty one, as a list: `node:http` alone takes a seventh more of a processor so.
  response.cork();
  response.write(text, "latin1");
  response.uncork();
  response.end();
}

async function respondWithStream(sending: RowsResponse, { frame, stream }: StreamedResult): Promise<Sent> {
  const { request, response, answer } = sending;
  const { format } = answer.query;
  const encoding = encodingOf(request, format);
  const headers = headersOf(sending, answer.tag);
  headers.push("Content-Type", typeOf(sending));
  if (encoding !== null) headers.push("Content-Encoding", encoding);
  writeHead(response, 200, headers);
  if (request.method === "HEAD") {
    const { value } = await stream.chunks.return();
    response.end();
    return { rows: null, bytes: 0, databaseMs: value.milliseconds };
  }
  const end = await sendStream(response, frame, stream, {
    compressor: encoding === null ? null : compressor(encoding),
    timeLimitMs: sending.streamTimeoutMs,
  });
  return { rows: end.returned, bytes: end.bytes, databaseMs: end.milliseconds };
}

/** Appends the headers of responses with rows to the sending list, which is used once. */
function headersOf({ headers, caching, answer }: RowsResponse, tag: string | null): string[] {
  for (const text of ROW_HEADERS) headers.push(text);
  for (const text of caching) headers.push(text);
  if (answer.version !== null) headers.push("X-Data-As-Of", answer.version.asOf);
  if (tag !== null) headers.push("ETag", tag);
  return headers;
}

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

interface SendOptions {
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
  { compressor, timeLimitMs }: SendOptions,
): Promise<SentStream> {
  const output = compressor ?? response;
  const isLent = compressor !== null || writesItself(response);
  let bytes = 0;
  let interrupt: (error: Error) => void = () => undefined;
  /** Resolves when the chunk has left this process, or its compressor has read it: then its memory is used again. */
  const write = (chunk: Buffer): Promise<void> =>
    new Promise((resolve, reject) => {
      interrupt = reject;
      output.write(isLent ? chunk : Buffer.from(chunk), (error) => (error ? reject(error) : resolve()));
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
  const timer = timeLimitMs === 0 ? null : new Timer(timeLimitMs, exceeded).unref();
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
    timer?.stop();
    await chunks.return();
  }
}

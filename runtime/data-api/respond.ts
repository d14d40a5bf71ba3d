import type { IncomingMessage, ServerResponse } from "node:http";
import type { QueryResult, StreamedResult } from "../results/result-service.js";
import { COMPRESSED_FROM_BYTES, compressor, encodingOf } from "../results/encoding.js";
import { CONTENT_TYPES } from "../results/format.js";
import { sendStream } from "../results/send-stream.js";
import { type AnswerMemory, type BufferedResult, isNamed } from "../results/buffered-result.js";
import { resetConnection } from "../http/reset.js";
import { COMMON_HEADERS, TEXT_POLICY } from "../http/headers.js";
import type { RawFields } from "../query/request-fields.js";
import type { Page, RowFormat } from "../query/warehouse.js";
import type { Version } from "./data-versions.js";
import type { Endpoint } from "../model/endpoint.js";

/** What a request came to. */
export interface Sent {
  /** Whether the response was cut although its status says that it succeeded. */
  readonly isCut?: boolean;
  /** Null where the answer is none of rows. */
  readonly rows: number | null;
  /** Bytes of the body, as sent. */
  readonly bytes: number;
  /** Null when the database was not asked. */
  readonly databaseMs: number | null;
}

export const NO_ROWS: Sent = { rows: null, bytes: 0, databaseMs: null };

/** Rows on their way to a client. */
export interface PendingResponse {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly format: RowFormat;
  /** What the answer says of the caller and of the endpoint, as flat name and value pairs; the rest is added to it. */
  readonly headers: string[];
  readonly version: Version | null;
  readonly answerMemory: AnswerMemory;
  /** The longest that a stream may take; 0: no limit. */
  readonly streamTimeoutMs: number;
  /** Of the answer, where the version gives it. */
  readonly tag: string | null;
}

/** Rows may be kept by the client alone, who must ask whether they are still good. */
const REVALIDATED: readonly string[] = [
  ...COMMON_HEADERS,
  ...TEXT_POLICY,
  "Cache-Control",
  "private, no-cache",
  "Vary",
  "Accept, Accept-Encoding",
];

/** Answers 304 when the client has what the tag names; else nothing is sent, and null returned. */
export function sendNotModified(delivery: PendingResponse, tag: string): Sent | null {
  const { request, response } = delivery;
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (!isRead || !isNamed(tag, request.headers["if-none-match"])) return null;
  response.writeHead(304, headersOf(delivery, tag));
  response.end();
  return NO_ROWS;
}

/** Sends a result, compressed where the client takes that. A streamed one has ended when this resolves. */
export function respond(
  delivery: PendingResponse,
  { answer, hasRunQuery }: QueryResult,
): Sent | Promise<Sent> {
  if (answer.kind === "stream") return respondWithStream(delivery, answer);
  const tag = delivery.tag ?? answer.tag;
  const databaseMs = hasRunQuery ? answer.databaseMs : null;
  const notModified = sendNotModified(delivery, tag);
  return notModified ? { ...notModified, databaseMs } : sendWhole(delivery, answer, tag, databaseMs);
}

function sendWhole(
  delivery: PendingResponse,
  answer: BufferedResult,
  tag: string,
  databaseMs: number | null,
): Sent | Promise<Sent> {
  const { rows, body, bytes } = answer;
  const headers = headersOf(delivery, tag);
  headers.push("Content-Type", CONTENT_TYPES[delivery.format], "Content-Length");
  if (delivery.request.headers.range !== undefined) {
    const range = rangeOf(delivery.request, bytes);
    if (range !== null) return { rows, bytes: sendRange(delivery, headers, answer, range), databaseMs };
  }
  const encoding = bytes < COMPRESSED_FROM_BYTES ? null : encodingOf(delivery.request);
  if (encoding === null) {
    headers.push(String(bytes));
    return { rows, bytes: sendBody(delivery, headers, body, bytes), databaseMs };
  }
  return answer.compressed(encoding).then((compressed) => {
    headers.push(String(compressed.length), "Content-Encoding", encoding);
    return { rows, bytes: sendBody(delivery, headers, compressed, compressed.length), databaseMs };
  });
}

/** Bytes of a body, the last one included. */
interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** One range of a body that holds it; null for all other requests, which get the whole body (RFC 9110 §14.2). */
function rangeOf({ method, headers }: IncomingMessage, bytes: number): ByteRange | null {
  // `If-Range` needs a strong tag, and there is none.
  if (method !== "GET" || headers["if-range"] !== undefined) return null;
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "") ?? [];
  if (from === "" && to === "") return null;
  const first = from === "" ? Math.max(0, bytes - Number(to)) : Number(from);
  const last = from === "" || to === "" ? bytes - 1 : Math.min(Number(to), bytes - 1);
  return first <= last ? { first, last } : null;
}

/** Readers such as polars fetch a file in parts. They are of the body without compression. */
function sendRange(
  { response, answerMemory }: PendingResponse,
  headers: string[],
  { body, bytes }: BufferedResult,
  { first, last }: ByteRange,
): number {
  if (response.destroyed) return 0;
  const part = (typeof body === "string" ? Buffer.from(body) : body).subarray(first, last + 1);
  const range = `bytes ${String(first)}-${String(last)}/${String(bytes)}`;
  headers.push(String(part.length), "Content-Range", range);
  response.writeHead(206, headers);
  response.end(part);
  answerMemory.holdFor(response, part.length);
  return part.length;
}

/** Returns the bytes that were sent. */
function sendBody(
  { request, response, answerMemory }: PendingResponse,
  headers: string[],
  body: string | Buffer,
  bytes: number,
): number {
  if (response.destroyed) return 0;
  response.writeHead(200, headers);
  if (request.method === "HEAD") {
    response.end();
    return 0;
  }
  response.end(body);
  answerMemory.holdFor(response, bytes);
  return bytes;
}

async function respondWithStream(
  delivery: PendingResponse,
  { frame, stream }: StreamedResult,
): Promise<Sent> {
  const { request, response, format, tag } = delivery;
  const encoding = encodingOf(request);
  const headers = headersOf(delivery, tag);
  headers.push("Content-Type", CONTENT_TYPES[format]);
  if (encoding !== null) headers.push("Content-Encoding", encoding);
  response.writeHead(200, headers);
  if (request.method === "HEAD") {
    const { value } = await stream.pieces.return();
    response.end();
    return { rows: null, bytes: 0, databaseMs: value.milliseconds };
  }
  const end = await sendStream(response, frame, stream, {
    compressor: encoding === null ? null : compressor(encoding),
    timeLimitMs: delivery.streamTimeoutMs,
    reset: resetConnection,
  });
  return { rows: end.returned, bytes: end.bytes, databaseMs: end.milliseconds };
}

/** The caller's own list, with all else that is said of rows: it is made for one answer, and written once. */
function headersOf({ headers, version }: PendingResponse, tag: string | null): string[] {
  for (const text of REVALIDATED) headers.push(text);
  if (version !== null) headers.push("X-Data-As-Of", version.asOf);
  if (tag !== null) headers.push("ETag", tag);
  return headers;
}

const deprecationHeadersByEndpoint = new WeakMap<Endpoint, readonly string[]>();

/**
 * What answers say of an endpoint that will go, as flat name and value pairs: `Deprecation` (RFC 9745), `Sunset`
 * (RFC 8594), and the way to its successor (RFC 5829). dbt has one date for both: from then on the model may be gone.
 */
export function deprecationHeaders(endpoint: Endpoint): readonly string[] {
  if (endpoint.deprecationDate === null && endpoint.successor === null) return NONE;
  const headers = deprecationHeadersByEndpoint.get(endpoint) ?? makeDeprecationHeaders(endpoint);
  deprecationHeadersByEndpoint.set(endpoint, headers);
  return headers;
}

const NONE: readonly string[] = [];

function makeDeprecationHeaders({ deprecationDate, successor }: Endpoint): readonly string[] {
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
  if (successor !== null) headers.push("Link", `<${successor}>; rel="successor-version"`);
  return headers;
}

/**
 * The address of the next page, as a GET with the same parameters. A list of a body whose values contain commas has no
 * such address.
 */
export function nextPageLink(
  request: IncomingMessage & { readonly originalUrl?: string },
  fields: RawFields,
  { limit, offset }: Page,
): readonly string[] {
  const parameters = new URLSearchParams();
  for (const [name, raw] of fields) {
    const texts = raw.from === "query" ? raw.texts : bodyTexts(raw.value);
    if (raw.from === "body" && Array.isArray(raw.value) && texts.some((text) => text.includes(",")))
      return [];
    for (const text of texts) parameters.append(name, text);
  }
  parameters.set("limit", String(limit));
  parameters.set("offset", String(offset + limit));
  const path = (request.originalUrl ?? request.url ?? "").split("?", 1)[0] ?? "";
  return ["Link", `<${path}?${parameters.toString()}>; rel="next"`];
}

function bodyTexts(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).filter((each) => each !== null).map(String);
}

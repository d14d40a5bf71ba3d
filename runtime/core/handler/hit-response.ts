import {
  IncomingMessage,
  OutgoingMessage,
  ServerResponse,
  validateHeaderName,
  validateHeaderValue,
} from "node:http";
import { Socket } from "node:net";
import type { Endpoint } from "../model/endpoint.js";
import type { RequestContext } from "../model/caller.js";
import { RATE_WINDOW_SECONDS } from "../model/tier.js";
import { MINUTE_POLICY } from "../request/authorize.js";
import { secondsLeft } from "../request/rate-limit/memory-store.js";
import type { Answer } from "../response/answer.js";
import type { BufferedResult } from "../response/buffered-result.js";
import { cachingHeaders } from "../response/caching-headers.js";
import { COMPRESSED_FROM_BYTES, CONTENT_TYPES } from "../response/content-negotiation.js";
import {
  freshnessHeaders,
  NO_ROWS,
  qualityHeaders,
  ROW_HEADERS,
  type Sent,
  sendBytes,
} from "../response/respond.js";
import type { Exchange } from "./exchange.js";
import { isTimed, noticeOf } from "./run.js";

/** The text of lists of headers: the same lists have the same text, whatever they depend on. */
export class HeaderLines {
  #lists: readonly (readonly string[])[] = [];
  #text = "";

  /** `lists`: flat name and value pairs, which nobody changes. */
  of(lists: readonly (readonly string[])[]): string {
    if (!areEqual(lists, this.#lists, areEqual)) {
      this.#text = lists.map(linesOf).join("");
      this.#lists = lists;
    }
    return this.#text;
  }
}

function areEqual<T>(
  one: readonly T[],
  other: readonly T[],
  areSame: (a: T, b: T) => boolean = Object.is,
): boolean {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (!areSame(one[i] as T, other[i] as T)) return false;
  return true;
}

/** @throws as `writeHead` does, on what no header may have */
function linesOf(list: readonly string[]): string {
  let text = "";
  for (let i = 0; i < list.length; i += 2) {
    const [name = "", value = ""] = [list[i], list[i + 1]];
    validateHeaderName(name);
    validateHeaderValue(name, value);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

/** What `callerHeaders` has, without CORS, in few parts. */
function callerLines({ id, window, caller }: RequestContext): string {
  const { limit, resetAt, count } = window;
  const remaining = String(Math.max(0, limit - count));
  const reset = String(Math.ceil(resetAt / 1000));
  const month = caller.key?.use?.month;
  return (
    `X-RateLimit-Limit: ${String(limit)}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${reset}\r\n` +
    `RateLimit: "${MINUTE_POLICY}";r=${remaining};t=${String(secondsLeft(window))}${month?.limit ?? ""}\r\n` +
    `RateLimit-Policy: "${MINUTE_POLICY}";q=${String(limit)};w=${String(RATE_WINDOW_SECONDS)}${month?.policy ?? ""}\r\n` +
    `X-Request-Id: ${id}\r\n`
  );
}

/** Node's own text of a head, until it is sent. */
type Head = ServerResponse & { _header?: string };

/** Whether this Node has the text of a head where it had it since its first versions. */
const HAS_TEXT = ((): boolean => {
  const head: Head = new ServerResponse(new IncomingMessage(new Socket())).writeHead(204);
  return head._header?.startsWith("HTTP/1.1 204 ") === true && head._header.endsWith("\r\n\r\n");
})();

/** Whether a middleware neither sees the headers nor has added some. */
const isPlain = (response: ServerResponse): boolean =>
  HAS_TEXT &&
  response.writeHead === ServerResponse.prototype.writeHead &&
  response.write === OutgoingMessage.prototype.write &&
  response.end === OutgoingMessage.prototype.end &&
  response.getHeaderNames().length === 0;

/** `own`: for `writeHead`. Node looks for characters that no header may have in each of the others, and joins them anew each time. */
function writeLines(response: Head, status: number, own: string[], lines: string): void {
  response.writeHead(status, own);
  response._header = `${response._header?.slice(0, -2) ?? ""}${lines}\r\n`;
}

/** With the tag of a build. */
export type HitAnswer = Answer & { readonly result: BufferedResult | null; readonly tag: string };

/** Sends a hit, or 304, as `respond` does; undefined where `respond` must. */
export function sendHit(
  exchange: Exchange,
  endpoint: Endpoint,
  answer: HitAnswer,
  known: HeaderLines,
): Sent | undefined {
  const { request, response, context, gateway, times } = exchange;
  const { result, tag, query } = answer;
  const mayBeCompressed =
    result !== null &&
    result.bytes >= COMPRESSED_FROM_BYTES &&
    request.headers["accept-encoding"] !== undefined;
  if (mayBeCompressed || !isPlain(response)) return undefined;
  let lines = callerLines(context) + known.of(headersOf(exchange, endpoint, answer));
  if (isTimed(exchange)) lines += `Server-Timing: ${times.serverTiming}\r\n`;
  lines += `ETag: ${tag}\r\n`;
  if (result === null) {
    writeLines(response, 304, [], lines);
    response.end();
    return NO_ROWS;
  }
  const { rows, bytes } = result;
  if (response.destroyed) return { rows, bytes: 0, databaseMs: null };
  lines += `Content-Type: ${CONTENT_TYPES[query.format]}\r\n`;
  writeLines(response, 200, ["Content-Length", String(bytes)], lines);
  sendBytes(response, result.parts, bytes);
  gateway.responseMemory.reserve(response, context.caller, bytes);
  return { rows, bytes, databaseMs: null };
}

/** Headers that stay the same from hit to hit, mostly. */
function headersOf(
  exchange: Exchange,
  endpoint: Endpoint,
  { version, due, quality, link = NONE }: Answer,
): readonly (readonly string[])[] {
  const { request, context, gateway } = exchange;
  const { isPrefixForwarded } = gateway.publicAddressOf;
  return [
    context.cors,
    noticeOf(exchange, endpoint),
    link,
    due === null ? NONE : freshnessHeaders(due),
    qualityHeaders(quality),
    ROW_HEADERS,
    cachingHeaders(endpoint, context.caller, { request, isPrefixForwarded, due }),
    version === null ? NONE : ["X-Data-As-Of", version.asOf],
  ];
}

const NONE: readonly string[] = [];

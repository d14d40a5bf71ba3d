import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { NO_STORE, TEXT_POLICY, writeHead } from "./headers.js";

/** A complete response; by default uncached JSON in which a browser runs nothing. */
export interface Reply {
  readonly status: number;
  readonly body: string | Buffer;
  /** Headers of this response; one of a default's name replaces it. */
  readonly headers?: Readonly<Record<string, string>>;
}

const JSON_TYPE: readonly string[] = ["Content-Type", "application/json; charset=utf-8"];

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Sends a response in one write; returns the bytes of its body. `common`: headers of every response to this caller. */
export function send(
  response: ServerResponse,
  { status, body, headers = NO_HEADERS }: Reply,
  common: readonly string[],
): number {
  if (response.destroyed || response.headersSent) return 0;
  const bytes = Buffer.byteLength(body);
  const hasContent = status !== 204 && status !== 304;
  const all = [...common];
  for (const defaults of hasContent ? [TEXT_POLICY, NO_STORE, JSON_TYPE] : [TEXT_POLICY, NO_STORE])
    if (headers[defaults[0] ?? ""] === undefined) all.push(...defaults);
  for (const name in headers) all.push(name, headers[name] ?? "");
  if (hasContent) all.push("Content-Length", String(bytes));
  writeHead(response, status, all);
  response.end(body);
  return bytes;
}

/** What the headers of an error say; its body is its service's. */
export interface ErrorFacts {
  readonly status: number;
  /** Seconds to wait before a retry; null when a retry does not help. */
  readonly retryAfter: number | null;
  /** `WWW-Authenticate` of a 401. */
  readonly challenge?: string | null;
}

/** The headers of an error. `allowed`: methods of the path. */
export function errorHeaders(
  { status, retryAfter, challenge = null }: ErrorFacts,
  allowed: string | null,
): Readonly<Record<string, string>> {
  if (retryAfter !== null) return { "Retry-After": String(retryAfter) };
  if (challenge !== null) return { "WWW-Authenticate": challenge };
  if (status === 405 && allowed !== null) return Object.fromEntries(allowHeaders(allowed));
  if (status === 415) return ACCEPT_QUERY;
  // The rest of the body is not read: the connection closes after the response.
  return status === 413 ? { Connection: "close" } : NO_HEADERS;
}

/** What `QUERY` takes (RFC 10008), as the name and value of a header. */
const QUERY_TYPES = ["Accept-Query", "application/json"] as const;
const ACCEPT_QUERY = Object.fromEntries([QUERY_TYPES]);

/** The methods of a path, and what its `QUERY` takes. */
function allowHeaders(allowed: string): readonly (readonly [name: string, value: string])[] {
  return [["Allow", allowed], ...(/\bQUERY\b/.test(allowed) ? [QUERY_TYPES] : [])];
}

/** What pages of other origins may send, as headers of a preflight. */
export function preflightHeaders(methods: string, headers: string): readonly string[] {
  return [
    ...["Access-Control-Allow-Methods", methods, "Access-Control-Allow-Headers", headers],
    // Browsers cache a preflight for at most two hours.
    ...["Access-Control-Max-Age", "7200"],
  ];
}

export function isPreflight({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["access-control-request-method"] !== undefined;
}

/** Responds to `OPTIONS`. `allowed`: methods of the path; null for an unknown one. */
export function sendOptions(
  response: ServerResponse,
  request: IncomingMessage,
  allowed: string | null,
  common: readonly string[],
  preflight: readonly string[],
): void {
  const allow = allowed === null ? [] : allowHeaders(allowed).flat();
  const network = asksForPrivateNetwork(request, common) ? PRIVATE_NETWORK : [];
  writeHead(response, 204, [...common, ...preflight, ...network, ...allow]);
  response.end();
}

/** A public page may call a server of its reader's private network where `CORS_ORIGINS` names its origin. */
const PRIVATE_NETWORK = ["Access-Control-Allow-Private-Network", "true"];

function asksForPrivateNetwork(request: IncomingMessage, common: readonly string[]): boolean {
  const { origin, "access-control-request-private-network": asked } = request.headers;
  return asked === "true" && origin !== undefined && common.includes(origin);
}

/**
 * Aborts a response; `reason` becomes its `errored`. An orderly close would end a body without a length as if it were
 * complete (HTTP/1.0, which proxies use); a reset does not.
 */
export function resetConnection(response: ServerResponse, reason: Error): void {
  if (response.socket !== null) resetSocket(response.socket);
  response.destroy(reason);
}

export function resetSocket(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // Only TCP sockets can be reset.
    socket.destroy();
  }
}

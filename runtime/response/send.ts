import type { IncomingMessage, ServerResponse } from "node:http";
import { MAX_BODY_BYTES, readBody } from "../http/body.js";
import { COMMON_HEADERS, NO_STORE, TEXT_POLICY } from "../http/headers.js";
import type { Endpoint } from "../model/endpoint.js";
import { httpError, type HttpError, type Result } from "../model/errors.js";
import type { Caller } from "../model/caller.js";
import { TIER_SHARES } from "../warehouse/shares.js";

/** A complete response; by default uncached JSON. */
export interface Reply {
  readonly status: number;
  readonly body: string | Buffer;
  readonly contentType?: string;
  /** Caching and encoding headers, as flat name and value pairs. */
  readonly caching?: readonly string[];
}

/** Sends a response in one write; returns the bytes of its body. `headers`: of the caller, and others. */
export function send(
  response: ServerResponse,
  { status, body, contentType = "application/json; charset=utf-8", caching = NO_STORE }: Reply,
  headers: readonly string[],
): number {
  if (response.destroyed) return 0;
  const bytes = Buffer.byteLength(body);
  const content = ["Content-Type", contentType, "Content-Length", String(bytes)];
  response.writeHead(status, [
    ...headers,
    ...COMMON_HEADERS,
    ...TEXT_POLICY,
    ...caching,
    ...(status === 304 ? [] : content),
  ]);
  response.end(body);
  return bytes;
}

/**
 * Sends an error: `{"detail": …}` with its headers (runtime/docs/errors.md). Returns the bytes of its body.
 */
export function sendHttpError(
  response: ServerResponse,
  error: HttpError,
  route: ErrorRoute,
  headers: readonly string[],
): number {
  const reply = { status: error.status, body: JSON.stringify({ detail: error.detail }) };
  return send(response, reply, [...headers, ...errorHeaders(error, route)]);
}

/** What the headers of an error say of its path. */
interface ErrorRoute {
  /** Methods, as in `Allow`; null for an unknown path. */
  readonly allowed: string | null;
  readonly oauth?: { readonly metadata: string } | undefined;
}

function errorHeaders({ code, retryAfter }: HttpError, { allowed, oauth }: ErrorRoute): readonly string[] {
  if (retryAfter !== null) return ["Retry-After", String(retryAfter)];
  if (code === "invalidToken" || code === "tokenRequired") {
    // RFC 6750: clients renew their token. RFC 9728: where they get one.
    const parts = [
      ...(code === "invalidToken" ? ['error="invalid_token"'] : []),
      ...(oauth ? [`resource_metadata="${oauth.metadata}"`] : []),
    ];
    return ["WWW-Authenticate", `Bearer ${parts.join(", ")}`];
  }
  if (code === "methodNotAllowed" && allowed !== null) return ["Allow", allowed];
  // The rest of the body is not read: the connection closes after the response.
  return code === "bodyTooLarge" ? ["Connection", "close"] : [];
}

/** Browsers cache a preflight for at most two hours. */
const PREFLIGHT = [
  "Access-Control-Allow-Methods",
  "GET, HEAD, POST, OPTIONS",
  "Access-Control-Allow-Headers",
  "X-API-Key, Authorization, Content-Type, If-None-Match, Prefer, X-Request-Id, Traceparent, Tracestate",
  "Access-Control-Max-Age",
  "7200",
];

/** Responds to `OPTIONS`. A preflight succeeds for unknown paths too, so that the page can read the actual error. */
export function sendOptions(
  response: ServerResponse,
  request: IncomingMessage,
  allowed: string | null,
  headers: readonly string[],
): void {
  const isPreflight = request.headers["access-control-request-method"] !== undefined;
  if (!isPreflight && allowed === null)
    return void sendHttpError(response, httpError("notFound"), { allowed: null }, headers);
  const allow = allowed === null ? [] : ["Allow", allowed];
  const network = asksForPrivateNetwork(request, headers) ? PRIVATE_NETWORK : [];
  response.writeHead(204, [...headers, ...COMMON_HEADERS, ...PREFLIGHT, ...network, ...allow]);
  response.end();
}

/** A public page may call a server of its reader's private network where `CORS_ORIGINS` names its origin. */
const PRIVATE_NETWORK = ["Access-Control-Allow-Private-Network", "true"];

function asksForPrivateNetwork(request: IncomingMessage, headers: readonly string[]): boolean {
  const { origin, "access-control-request-private-network": asked } = request.headers;
  return asked === "true" && origin !== undefined && headers.includes(origin);
}

/**
 * Headers of a deprecated endpoint, as flat name and value pairs: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and a
 * link to its successor (RFC 5829). dbt has one date for both: when the model may be removed. `prefix`: of the public
 * address.
 */
export function deprecationHeaders(
  { deprecationDate, successor }: Endpoint,
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

/** The text of a caller's body; null when the client disconnected while sending. */
export async function readBodyText(
  request: IncomingMessage,
  { id, tier }: Caller,
): Promise<Result<string> | null> {
  const body = await readBody(request, { id, share: TIER_SHARES[tier] });
  switch (body.kind) {
    case "text":
      return body.text;
    case "not-text":
      return httpError("bodyNotJson");
    case "too-large":
      return httpError("bodyTooLarge", { max: MAX_BODY_BYTES });
    case "overloaded":
      return httpError("overloaded", { n: 1 });
    case "gone":
      return null;
  }
}

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/**
 * The caller's `X-Request-Id` if it is safe to log, otherwise a new one (runtime/README.md, Errors). An API key sent in the
 * wrong header is not logged.
 */
export function requestIdOf(request: Pick<IncomingMessage, "headers">): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && /^(?!.*sk_live_)[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

/** A request's span in its caller's trace (W3C Trace Context). */
export interface Trace {
  /** 32 hex digits, the caller's. */
  readonly traceId: string;
  /** 16 hex digits: the span of this request. */
  readonly spanId: string;
  /** The caller's span. */
  readonly parentId: string;
  /** Two hex digits: the caller's flags, without undefined ones. */
  readonly flags: string;
}

/** Version, trace, parent, flags. Later versions may append fields after a hyphen (W3C Trace Context §3.2). */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Sampled, and random trace id. Undefined flags are not propagated. */
const KNOWN_FLAGS = 0b11;

/**
 * The trace that a request belongs to; null without a valid `traceparent`: callers who do not trace cost nothing.
 * `tracestate` is ignored.
 */
export function traceOf(request: Pick<IncomingMessage, "headers">): Trace | null {
  const header = request.headers["traceparent"];
  return typeof header === "string" ? parseTraceparent(header) : null;
}

function parseTraceparent(header: string): Trace | null {
  const [whole, version, traceId = "", parentId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  if (whole === undefined || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return null;
  const known = (parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, "0");
  return { traceId, spanId: newSpanId(), parentId, flags: known };
}

/** Random digits of a UUID: Node caches entropy for UUIDs, while `randomBytes` takes ten times as long. */
function newSpanId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(-8);
}

/** The response's `traceparent`: the caller's trace and this request's span. */
export function traceparent({ traceId, spanId, flags }: Trace): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

/** Headers of every response, as the flat list that `writeHead` takes: any origin may read it, without MIME sniffing. */
export const COMMON_HEADERS: readonly string[] = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Expose-Headers",
  "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id, ETag, X-Data-As-Of, Deprecation, Sunset, Link, Traceparent",
  "X-Content-Type-Options",
  "nosniff",
];

/** Responses depend on the key and change with each dbt build: caches must not store them. */
export const NO_STORE: readonly string[] = ["Cache-Control", "no-store"];

/** Responses are data, not pages: a browser that displays one must not run anything in it. */
export const TEXT_POLICY: readonly string[] = [
  "Content-Security-Policy",
  "default-src 'none'; frame-ancestors 'none'",
];

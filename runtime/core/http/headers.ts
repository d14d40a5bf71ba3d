import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isIPv4, isIPv6 } from "node:net";
import { foreignName } from "./origins.js";

/**
 * The caller's `X-Request-Id` if it is safe to log, otherwise a new one (runtime/docs/errors.md). An API key sent in the
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
  /** The caller's span; empty in a trace that begins here. */
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

/** Lets pages of any origin read the response. */
export const ANY_ORIGIN: readonly string[] = ["Access-Control-Allow-Origin", "*"];

/** Headers that let pages of these origins (null: of all) read the response; without an origin of the list there are none. */
export function corsHeaders(
  origins: ReadonlySet<string> | null,
  { headers: { origin } }: Pick<IncomingMessage, "headers">,
): readonly string[] {
  if (origins === null) return ANY_ORIGIN;
  if (origin === undefined || !origins.has(origin)) return VARY_ORIGIN;
  return ["Access-Control-Allow-Origin", origin, ...VARY_ORIGIN];
}

/** Caches keep a copy for each origin. */
export const VARY_ORIGIN: readonly string[] = ["Vary", "Origin"];

/** No MIME sniffing. */
export const NOSNIFF: readonly string[] = ["X-Content-Type-Options", "nosniff"];

/** Headers of every response of the data API, as the flat list that `writeHead` takes: what scripts may read of it. */
export const COMMON_HEADERS: readonly string[] = [
  "Access-Control-Expose-Headers",
  "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, ETag, X-Data-As-Of, X-Data-Freshness, X-Data-Quality, Deprecation, Sunset, Link, Traceparent, Server-Timing, X-Total-Count, Preference-Applied, Accept-Query, OData-Version",
  ...NOSNIFF,
];

/** Responses depend on the key and change with each dbt build: caches must not store them. */
export const NO_STORE: readonly string[] = ["Cache-Control", "no-store"];

/** Responses are data, not pages: a browser that displays one must not run anything in it. */
export const TEXT_POLICY: readonly string[] = [
  "Content-Security-Policy",
  "default-src 'none'; frame-ancestors 'none'",
];

/** `Retry-After` of a server that is overloaded, without its database or out of connections, in seconds. */
export const BUSY_RETRY_SECONDS = 1;

/** `Retry-After` while another system (keys, issuer, quota, events) does not respond, in seconds: a failover takes some. */
export const FAILOVER_RETRY_SECONDS = 5;

/** The parts of a request that identify its client. */
export type RequestSource = Pick<IncomingMessage, "headers" | "socket">;

/** Returns a caller's IP address. */
export interface ClientAddress {
  (request: RequestSource): string;
  /**
   * Whether a trusted proxy sends the request. Undefined where none is configured: else a loopback connection may come from
   * another machine.
   */
  readonly isTrustedProxy?: (request: RequestSource) => boolean;
}

/** The caller's address where no proxy is trusted. */
export function socketAddress(request: RequestSource): string {
  return plainAddress(request.socket.remoteAddress ?? "");
}

/** A dual-stack socket reports an IPv4 caller as an IPv4-mapped address. */
export function plainAddress(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

/** Headers that proxies and content delivery networks add. */
const FORWARDING =
  /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|x-original-.*|cf-connecting-ip|true-client-ip)$/;

/**
 * Whether a request comes from this machine: over the loopback interface, without headers of a proxy, and without a proxy
 * in `TRUST_PROXY`, and not from a page of another one (runtime/docs/system-endpoints.md).
 */
export function isLocalCaller(addressOf: ClientAddress, request: RequestSource): boolean {
  const address = socketAddress(request);
  if (addressOf.isTrustedProxy !== undefined || !(address === "::1" || address.startsWith("127.")))
    return false;
  const isForwarded = Object.keys(request.headers).some((name) => FORWARDING.test(name));
  return !isForwarded && foreignName(request.headers) === null;
}

/** An IPv6 address whose first four groups are not abbreviated: no parsing is needed. */
const UNABBREVIATED = /^([1-9a-f][0-9a-f]{0,3}):((0|[1-9a-f][0-9a-f]{0,3}):){3}/;

/** Callers with an invalid address share one window: forged text cannot open new ones. */
const INVALID_ADDRESS = "no-address";

/**
 * The network that counts as one caller: the IPv4 address, or the /64 of an IPv6 address. A /64 is the smallest block a
 * customer gets (RFC 6177): with a window per address each customer would have 2^64 windows.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return isIPv4(address) ? address : INVALID_ADDRESS;
  const first = UNABBREVIATED.exec(address)?.[0];
  return first === undefined ? parsed(withoutPort(address)) : `${first}:/64`;
}

/** Some proxies append the caller's port to the address. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.*)\](:\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
}

function parsed(text: string): string {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return INVALID_ADDRESS;
  const groups = groupsOf(text);
  const network = groups.slice(0, 4).join(":");
  // IPv4-mapped addresses are all in one /64: count each as its IPv4 address.
  if (network !== "0:0:0:0" || groups[4] !== "0" || groups[5] !== "ffff") return `${network}::/64`;
  return groups
    .slice(6)
    .map((group) => parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff])
    .join(".");
}

/** The eight groups of an IPv6 address, without leading zeros: URLs have its digits so. */
function groupsOf(address: string): readonly string[] {
  const { hostname } = new URL(`http://[${address.replace(/%.*$/s, "")}]`);
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  return [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
}

/** Sets headers for a response that other code writes. `headers`: flat name and value pairs; a name may stand twice. */
export function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  const set = new Set<string>();
  for (let i = 0; i < headers.length; i += 2) {
    const [name = "", value = ""] = [headers[i], headers[i + 1]];
    // What the app around an embedded API varies by stays.
    if (set.has(name) || name === "Vary") response.appendHeader(name, value);
    else response.setHeader(name, value);
    set.add(name);
  }
}

/**
 * Writes the head of a response. Where a header was set before, `writeHead` of Node 20 keeps only the last of two with one
 * name, such as `Link` and `Vary`.
 */
export function writeHead(response: ServerResponse, status: number, headers: readonly string[]): void {
  if (response.getHeaderNames().length === 0) response.writeHead(status, headers as string[]);
  else {
    setHeaders(response, headers);
    response.writeHead(status);
  }
}

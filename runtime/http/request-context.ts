import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/**
 * The caller's own X-Request-Id where it is fit for a log line, else a new one (decisions.md §A, Responses). A key that
 * was put into the wrong header is not.
 */
export function requestIdOf(request: Pick<IncomingMessage, "headers">): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && /^(?!.*sk_live_)[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

/** A request's place in its caller's trace (W3C Trace Context). */
export interface Trace {
  /** 32 hex digits, the caller's. */
  readonly traceId: string;
  /** 16 hex digits that name our answering of this request. */
  readonly spanId: string;
  /** The caller's own span. */
  readonly parentId: string;
  /** Two hex digits: what of the caller's flags is defined. */
  readonly flags: string;
}

/** Version, trace, parent, flags; a version that is not known yet may add more behind a hyphen (W3C Trace Context §3.2). */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Sampled, and random trace id. Those that no version defines are not passed on. */
const KNOWN_FLAGS = 0b11;

/**
 * The trace that a request belongs to. Null without a valid `traceparent`: nothing is made up, so that nobody pays who
 * does not trace. `tracestate` is other parties' and is not looked at.
 */
export function traceOf(request: Pick<IncomingMessage, "headers">): Trace | null {
  const header = request.headers["traceparent"];
  return typeof header === "string" ? parse(header) : null;
}

function parse(header: string): Trace | null {
  const [whole, version, traceId = "", parentId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  if (whole === undefined || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return null;
  const known = (parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, "0");
  return { traceId, spanId: newSpanId(), parentId, flags: known };
}

/** Of a UUID, whose digits at both ends are random: Node keeps these in stock, and random bytes take ten times as long. */
function newSpanId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(-8);
}

/** What the answer's `traceparent` says: the caller's trace, and our span in it. */
export function traceparent({ traceId, spanId, flags }: Trace): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

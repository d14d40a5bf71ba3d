import type { IncomingMessage } from "node:http";
import type { Endpoint, PublicAge } from "../model/endpoint.js";
import type { Due } from "../warehouse/freshness-checks.js";
import type { Caller } from "../model/caller.js";

/** Only the client may store the response, and must revalidate it. */
const REVALIDATED = "private, no-cache";

/** Nobody may store the response. */
const NOT_KEPT = "private, no-store";

/** What a response that only the client may store depends on. */
const VARY = "Accept, Accept-Encoding";

const ONLY_OF_CLIENT: readonly string[] = ["Cache-Control", REVALIDATED, "Vary", VARY];

/** What a response that shared caches may keep depends on: a caller with a key neither gets nor makes a public copy. */
const PUBLIC_VARY = "Accept, Accept-Encoding, X-API-Key, Authorization, Prefer";

/** Headers on which responses depend, each with a bit of its own. */
const READ_HEADERS: ReadonlyMap<string, number> = new Map(
  [
    ...["accept", "accept-encoding", "prefer", "range", "if-range", "if-none-match"],
    ...["x-api-key", "authorization", "origin", "x-forwarded-prefix"],
  ].map((name, i) => [name, 1 << i]),
);

/**
 * Whether a header on which responses depend comes in several lines. Caches look for a copy by the first line, while all count here:
 * with `Accept: application/json;q=0` in a second line a caller put CSV at the address of JSON, for everybody.
 */
function repeatsHeader({ headers, rawHeaders }: Pick<IncomingMessage, "headers" | "rawHeaders">): boolean {
  // Most requests repeat none.
  if (2 * Object.keys(headers).length === rawHeaders.length) return false;
  let seen = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const bit = READ_HEADERS.get((rawHeaders[i] ?? "").toLowerCase()) ?? 0;
    if ((seen & bit) !== 0) return true;
    seen |= bit;
  }
  return false;
}

/** `Cache-Control` of a response that only its client may store. A cache that does not know `QUERY` would key it by the address. */
export function privateControl(request: CachingContext["request"]): string {
  return request.method === "QUERY" || repeatsHeader(request) ? NOT_KEPT : REVALIDATED;
}

/** What caching headers depend on besides the endpoint and its caller. */
interface CachingContext {
  readonly request: Pick<IncomingMessage, "method" | "headers" | "rawHeaders">;
  /** Whether the prefix of links comes with the request (`X-Forwarded-Prefix`). */
  readonly isPrefixForwarded: boolean;
  /** Until when the rows are as fresh as promised. */
  readonly due?: Due | null;
}

/**
 * `Cache-Control`, `Vary` and the tags by which a shared cache finds its copies, as flat name and value pairs
 * (runtime/docs/how-to/shared-caches.md).
 */
export function cachingHeaders(
  { model, tier, rows, publicAge }: Endpoint,
  { key }: Caller,
  { request, isPrefixForwarded, due = null }: CachingContext,
): readonly string[] {
  // The generator does not write it for others; a module that was edited must not publish rows.
  const isPublic = publicAge !== undefined && tier === "tier0" && rows === undefined;
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (!isPublic && isRead && !repeatsHeader(request)) return ONLY_OF_CLIENT;
  const vary = !isPublic ? VARY : isPrefixForwarded ? `${PUBLIC_VARY}, X-Forwarded-Prefix` : PUBLIC_VARY;
  if (!isPublic || key !== null || !isRead || repeatsHeader(request))
    return ["Cache-Control", privateControl(request), "Vary", vary];
  const { maxAge, staleWhileRevalidate } = untilDue(publicAge, due);
  const stale = staleWhileRevalidate > 0 ? `, stale-while-revalidate=${String(staleWhileRevalidate)}` : "";
  const control = `public, max-age=${String(maxAge)}${stale}`;
  return ["Cache-Control", control, "Vary", vary, "Cache-Tag", model, "Surrogate-Key", model];
}

/** A copy that outlives the promise, or the time of its warning, would go on saying that its rows are fresh. */
function untilDue(age: PublicAge, due: Due | null): PublicAge {
  const now = Date.now();
  const until = due === null ? 0 : due.warnAt < now ? due.due : Math.min(due.warnAt, due.due);
  const left = Math.floor((until - now) / 1000);
  if (left < 0) return age;
  const maxAge = Math.min(age.maxAge, left);
  return { maxAge, staleWhileRevalidate: Math.min(age.staleWhileRevalidate, left - maxAge) };
}

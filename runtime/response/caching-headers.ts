import type { Endpoint } from "../model/endpoint.js";
import type { Caller } from "../model/caller.js";

/** Rows that only the client may store, and must revalidate. */
const PRIVATE = ["Cache-Control", "private, no-cache", "Vary", "Accept, Accept-Encoding"] as const;

/** What a response that shared caches may keep depends on: a caller with a key neither gets nor makes a public copy. */
const PUBLIC_VARY = "Accept, Accept-Encoding, X-API-Key, Authorization, Prefer";

/** What caching headers depend on besides the endpoint and its caller. */
interface CachingContext {
  readonly method: string | undefined;
  /** Whether the prefix of links comes with the request (`X-Forwarded-Prefix`). */
  readonly isPrefixForwarded: boolean;
}

/**
 * `Cache-Control`, `Vary` and the tags by which a shared cache finds its copies, as flat name and value pairs
 * (runtime/docs/how-to/shared-caches.md).
 */
export function cachingHeaders(
  { model, tier, rows, publicAge }: Endpoint,
  { key }: Caller,
  { method, isPrefixForwarded }: CachingContext,
): readonly string[] {
  // The generator does not write it for others; a module that was edited must not publish rows.
  if (publicAge === undefined || tier !== "tier0" || rows !== undefined) return PRIVATE;
  const vary = isPrefixForwarded ? `${PUBLIC_VARY}, X-Forwarded-Prefix` : PUBLIC_VARY;
  if (key !== null || (method !== "GET" && method !== "HEAD"))
    return ["Cache-Control", "private, no-cache", "Vary", vary];
  const { maxAge, staleWhileRevalidate } = publicAge;
  const stale = staleWhileRevalidate > 0 ? `, stale-while-revalidate=${String(staleWhileRevalidate)}` : "";
  const control = `public, max-age=${String(maxAge)}${stale}`;
  return ["Cache-Control", control, "Vary", vary, "Cache-Tag", model, "Surrogate-Key", model];
}

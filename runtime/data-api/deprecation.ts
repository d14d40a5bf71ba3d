import type { Endpoint } from "../model/endpoint.js";

const known = new WeakMap<Endpoint, readonly string[]>();

/**
 * What answers say of an endpoint that will go, as flat name and value pairs: `Deprecation` (RFC 9745), `Sunset`
 * (RFC 8594), and the way to its successor (RFC 5829). dbt has one date for both: from then on the model may be gone.
 */
export function deprecationHeaders(endpoint: Endpoint): readonly string[] {
  if (endpoint.deprecationDate === null && endpoint.successor === null) return NONE;
  const headers = known.get(endpoint) ?? headersOf(endpoint);
  known.set(endpoint, headers);
  return headers;
}

const NONE: readonly string[] = [];

function headersOf({ deprecationDate, successor }: Endpoint): readonly string[] {
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

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

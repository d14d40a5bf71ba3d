/** What every answer carries, as the flat list that `writeHead` takes: a browser may read it, and must not guess at it. */
export const COMMON_HEADERS: readonly string[] = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Expose-Headers",
  "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id, ETag, X-Data-As-Of, Deprecation, Sunset, Link, Traceparent",
  "X-Content-Type-Options",
  "nosniff",
];

/** Answers depend on the key and change with each dbt build: no shared cache may keep them. */
export const NO_STORE: readonly string[] = ["Cache-Control", "no-store"];

/** An answer is data, never a page: should a browser be made to show it, nothing in it runs. */
export const TEXT_POLICY: readonly string[] = [
  "Content-Security-Policy",
  "default-src 'none'; frame-ancestors 'none'",
];

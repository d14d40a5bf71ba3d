import { RATE_LIMITS, RATE_WINDOW_SECONDS, TIER_NAMES, TIERS } from "@routewright/runtime/model";

/** The front page of the documentation: what the API is, who may call it how often, what errors look like. */
export const API_DESCRIPTION = [
  "Read-only access to tables of analytics. Every endpoint is generated from a published dbt model.",
  "",
  `A key goes in the header \`X-API-Key\`; it may call the endpoints of its tier and of those below. Public endpoints ` +
    `need none. Requests are counted in windows of ${RATE_WINDOW_SECONDS} seconds, by key, or by IP address without one.`,
  "",
  `| Tier | Name | Requests per ${RATE_WINDOW_SECONDS} s |`,
  "|---|---|---|",
  ...TIERS.map((tier) => `| ${tier} | ${TIER_NAMES[tier]} | ${RATE_LIMITS[tier]} |`),
  "",
  "400: the request is not as described here. 403: the key is missing, not known, or of too low a tier. " +
    "429: the window is used up. 500: the query failed. 503: overloaded. With 429 and 503, `Retry-After` tells how " +
    "many seconds to wait. Each operation lists what it can answer.",
  "",
  "Rows come as JSON, or as `Accept` asks for: `text/csv`, or `application/x-ndjson`. Answers with rows have an " +
    "`ETag`; sent back in `If-None-Match`, it brings 304 while the rows are the same.",
  "",
  'Every error is a JSON object `{"detail": "…"}`. Numbers carry all their digits, also beyond 2^53; times are in UTC.',
].join("\n");

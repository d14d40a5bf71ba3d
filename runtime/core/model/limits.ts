/** Settings of a server, or of a gateway in an app of your own, that sets none (runtime/docs/settings.md). */
export const SERVER_DEFAULTS = {
  statementTimeoutMs: 30_000,
  /** Higher tiers may read longer results. */
  streamTimeoutMs: { tier0: 600_000, tier1: 1_200_000, tier2: 1_800_000, tier3: 3_600_000 },
  databasePoolSize: 10,
  databaseStreamPoolSize: 4,
  streamsPerCaller: 2,
  streamSpoolMegabytes: 1024,
  answerMemoryMegabytes: 256,
  cacheTtlSeconds: 0,
  documentRateLimit: 300,
  cacheMaxMegabytes: 64,
} as const;

/** Characters of a value: `max_length` of a parameter that sets none (generator/docs/meta-api.md). */
export const DEFAULT_MAX_LENGTH = 1000;

/** Values of a list: `max_items` of a parameter that sets none. */
export const DEFAULT_MAX_ITEMS = 1000;

/** Of the parameter `filter` (runtime/docs/filter.md): an address has room for the bytes, and what is nested is read by recursion. */
export const FILTER_LIMITS = { bytes: 8192, values: 1000, depth: 16 } as const;

/** Largest `offset`: the largest exact integer of JSON. */
export const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

/** Characters of a `cursor`. Longer ones do not fit into the headers of a request, which Node.js limits to 16 KiB. */
export const MAX_CURSOR_LENGTH = 8192;

/** Columns whose values one request asks: each is a statement (runtime/docs/system-endpoints.md, Values). */
export const MAX_FACETS = 10;

/** Values of a column in one answer. */
export const VALUES_PAGE = { defaultLimit: 100, maxLimit: 1000, response: "list" } as const;

/** Points of a chart in one answer: each of 1,000 days in ten series, drawn in a second. */
export const MAX_CHART_POINTS = 10_000;

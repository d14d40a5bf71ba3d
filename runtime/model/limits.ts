/** Limits and defaults of requests, where an endpoint sets none (generator/docs/meta-api.md). */

/** Characters of a value: `max_length` of a parameter. */
export const DEFAULT_MAX_LENGTH = 1000;

/** Values of a list: `max_items` of a parameter. */
export const DEFAULT_MAX_ITEMS = 1000;

/** Largest `offset`: the largest exact integer of JSON. */
export const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

/** Characters of a `cursor`. */
export const MAX_CURSOR_LENGTH = 8192;

/** Values of a column in one answer. */
export const VALUES_PAGE = { defaultLimit: 100, maxLimit: 1000, response: "list" } as const;

import type { Pagination } from "../endpoint-parts.js";

/** Parameters that change the rows of groups. */
export const OPTION_FIELDS = ["top", "other", "totals", "compare"] as const;

/** Columns that they add. */
export const OPTION_COLUMNS = ["level", "other"] as const;

/** Values of `compare`. */
export const COMPARISONS = ["previous_period", "previous_year"] as const;

/** Columns that `compare` adds to a measure. */
export const previousName = (measure: string): string => `${measure}__previous`;
export const changeName = (measure: string): string => `${measure}__change`;

/** Largest `top`. */
export const MAX_TOP = 1000;

/** Groups of a request with `totals`: each is another statement over the same rows. */
export const MAX_TOTALS = 8;

/** Rows of a grouping, where the endpoint says nothing of pages. */
export const GROUP_PAGES: Pagination = { defaultLimit: 10_000, maxLimit: 50_000, response: "list" };

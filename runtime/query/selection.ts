import type { Filter, SortKey } from "../endpoint/endpoint.js";

/** One filter of a request: a declared parameter with its value, already checked. */
export type Condition = Filter & { readonly column: string; readonly value: string | readonly string[] };

/** A stretch of the sorted rows. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Whether to find out if there are more rows behind it. */
  readonly lookAhead: boolean;
}

/** Which rows of a relation, in which order: what a request comes down to once its parameters are checked. */
export interface Selection {
  readonly conditions: readonly Condition[];
  /** No column twice. */
  readonly sort: readonly SortKey[];
  readonly page: Page | null;
}

import type { Filter, SortKey } from "../model/endpoint.js";

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

/** How rows are written: JSON objects with commas, JSON objects on lines (NDJSON), or CSV records (RFC 4180). */
export type RowFormat = "json" | "ndjson" | "csv";

/** What stands between two rows. */
export const ROW_SEPARATORS = { json: ",", ndjson: "\n", csv: "\r\n" } as const satisfies Record<
  RowFormat,
  string
>;

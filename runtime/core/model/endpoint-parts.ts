import type { ValueKind } from "./column-types.js";

/** A column that callers filter by: `?amount_usd[gte]=10` (generator/docs/meta-routewright.md, Queries). */
export interface ColumnFilter {
  readonly column: string;
  /** What its values are: it decides the operators. */
  readonly type: ValueKind;
}

/** The rows of a caller: those whose column equals the `org` of the caller's key. */
export interface OwnRows {
  readonly column: string;
  readonly equals: "org";
}

/** Page sizes of an endpoint, in rows (generator/docs/meta-api.md). */
export interface Pagination {
  readonly defaultLimit: number;
  readonly maxLimit: number;
  /** A bare array of rows, or `{items, pagination}`. */
  readonly response: "list" | "envelope";
}

/** A column of the model, in the model's order. */
export interface Column {
  readonly name: string;
  /** The declared database type, or null. */
  readonly type: string | null;
  /** IANA time zone of a `timestamp` without zone; UTC when absent. */
  readonly timezone?: string;
  /** Whether its numbers may have more digits than a JavaScript number holds. */
  readonly wide?: true;
  /** How they are written in JSON, where that is not as the endpoint's. */
  readonly numbers?: "number" | "string";
  /** Its name in a row, where that is not its own. */
  readonly as?: string;
}

/** Schema and name of a relation, unquoted. */
export type Relation = readonly [schema: string, name: string];

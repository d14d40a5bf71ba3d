import type { Relation } from "../endpoint/endpoint.js";
import type { Selection } from "../query/selection.js";

/** The rows of a selection, as the database wrote them. */
export interface Rows {
  /** JSON objects with commas between them; empty when there is no row. */
  readonly json: string;
  /** How many there are. */
  readonly returned: number;
  /** Whether rows follow this page; always false where nobody asked. */
  readonly hasMore: boolean;
}

/** A database that answers selections. Every engine passes the same contract suite (tests/warehouse/). */
export interface Warehouse {
  /**
   * The selected rows, or "overloaded" when too many queries are waiting already. Rejects when the database fails.
   */
  rows(relation: Relation, selection: Selection): Promise<Rows | "overloaded">;
  /** Whether the database answers within a short time. */
  isReachable(): Promise<boolean>;
  /** Ends the connections once the queries under way are done. */
  close(): Promise<void>;
}

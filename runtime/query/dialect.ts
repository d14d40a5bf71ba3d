import type { Relation } from "../endpoint/endpoint.js";
import type { Selection } from "./selection.js";
import type { Statement } from "./sql.js";

/** A column as the warehouse has it, which need not be as the manifest says. */
export interface RealColumn {
  readonly name: string;
  /** The engine's own name of the type. */
  readonly type: string;
}

/** The columns of a relation, in its own order. */
export type RelationShape = readonly RealColumn[];

/** What differs from engine to engine: one small file each. */
export interface Dialect {
  /** Asks for the columns of a relation: rows of `name`, `type`. */
  describe(relation: Relation): Statement;
  /**
   * Asks for one row: `rows`, the JSON objects of the selected rows with commas between them (or null), and `found`,
   * how many rows there are, one past the page at most.
   */
  select(relation: Relation, shape: RelationShape, selection: Selection): Statement;
}

import type { Relation } from "../model/endpoint.js";
import type { RowFormat, Selection } from "./selection.js";
import type { Statement } from "./sql.js";

/** A column as the warehouse has it, which need not be as the manifest says. */
export interface ResultColumn {
  readonly name: string;
  /** The engine's own name of the type. */
  readonly type: string;
}

/** The columns of a relation, in its own order. */
export type ResultColumns = readonly ResultColumn[];

/** What differs from engine to engine: one small file each. */
export interface Dialect {
  /** Asks for the columns of a relation: one row, a JSON list of `RealColumn` in the order of the columns, or null. */
  describe(relation: Relation): Statement;
  /**
   * Asks for one row: `rows`, the selected rows in the format with its separator between them (or null), and `found`, how
   * many rows there are: one past the page at most, and one past `WHOLE_ROWS` at most.
   */
  whole(relation: Relation, shape: ResultColumns, selection: Selection, format: RowFormat): Statement;
  /** Asks for the selected rows one by one, in one text column: one past the page at most where the page looks ahead. */
  each(relation: Relation, shape: ResultColumns, selection: Selection, format: RowFormat): Statement;
}

/** Rows that are answered in one piece at most; longer answers come piece by piece. */
export const BUFFERED_ROWS = 1000;

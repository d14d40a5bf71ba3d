import type { ResultColumns } from "../core/warehouse/warehouse.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";

/** A step of a plan: rows with named columns, from those of the steps that it reads. */
export type PlanStep =
  | ReadRelation
  | JoinRelations
  | FilterRows
  | ComputeColumns
  | AggregateRows
  | CombineGroups
  | LimitRows
  | WrittenRows;

/** Columns of the rows that a step reads, as its statement writes them. */
export interface ReadColumns {
  readonly value: (name: string) => Part;
  /** The name of a column of `s`, for a condition that names it. */
  readonly nameOf: (name: string) => string;
}

/** Made of the columns of a row, or of the rows of a group. */
export type ColumnExpression = (columns: ReadColumns) => Part;

/** A column as it is, by its name; or computed. */
export type ColumnValue = string | ColumnExpression;

export type Named<T> = readonly (readonly [name: string, of: T])[];

/** Values of a relation, which is `s`. `column`: where one is a column and not an expression of the project. */
export interface ReadRelation {
  readonly kind: "read";
  readonly relation: Part;
  readonly columns: Named<{ readonly column: string | null; readonly value: Part }>;
  readonly conditions: readonly Part[];
  /** The end of the statement. */
  readonly proof: Part;
  /** Columns of the relation that conditions and the end name. */
  readonly names: readonly string[];
}

/** The rows of `fact`, as `f`, each with at most one row of every other table. */
export interface JoinRelations {
  readonly kind: "join";
  readonly fact: PlanStep;
  readonly tables: readonly Part[];
  readonly columns: Named<Part>;
}

/** The rows for which all conditions hold. `compared`: columns that conditions of a request compare. */
export interface FilterRows {
  readonly kind: "filter";
  readonly rows: PlanStep;
  readonly conditions: readonly ColumnExpression[];
  readonly compared: readonly string[];
}

/** Other columns of the same rows. */
export interface ComputeColumns {
  readonly kind: "compute";
  readonly rows: PlanStep;
  readonly columns: Named<ColumnValue>;
}

/** A row for each combination of the values of `groups`. */
export interface AggregateRows {
  readonly kind: "aggregate";
  readonly rows: PlanStep;
  readonly groups: readonly string[];
  readonly totals: Named<ColumnExpression>;
}

/** A row for each combination of groups that a source has, with the columns of all. `groups`: their columns. */
export interface CombineGroups {
  readonly kind: "combine";
  readonly sources: readonly { readonly rows: PlanStep; readonly columns: readonly string[] }[];
  readonly groups: ResultColumns;
}

/** The first rows of an order. */
export interface LimitRows {
  readonly kind: "limit";
  readonly rows: PlanStep;
  readonly order: Named<"ASC" | "DESC">;
  readonly limit: number;
}

/** Rows of a statement that is written already. */
export interface WrittenRows {
  readonly kind: "statement";
  readonly select: Part;
  readonly columns: readonly string[];
}

export function valueAt(value: ColumnValue, columns: ReadColumns): Part {
  return typeof value === "string" ? columns.value(value) : value(columns);
}

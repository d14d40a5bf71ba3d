import type { AskedGroup } from "../core/model/aggregate/aggregate.js";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";

/** A step of a plan: rows with named columns, from those of the steps that it reads. */
export type PlanStep =
  | ReadRelation
  | JoinRows
  | FilterRows
  | ComputeColumns
  | WindowColumns
  | AggregateRows
  | UnionRows
  | RepeatRows
  | SharedRows
  | CombineGroups
  | LimitRows;

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

/** Rows beside those of other steps, with the columns of all: of a name that several have, the column of the first. */
export interface JoinRows {
  readonly kind: "join";
  readonly rows: PlanStep;
  readonly others: readonly JoinedRows[];
}

export interface JoinedRows {
  readonly rows: PlanStep;
  /** Whether a row of the first step, and of the others before, goes with one of these. */
  readonly on: (row: ReadColumns, other: ReadColumns) => Part;
  /** A row that goes with none is removed, or has null in its place; `any`: what it has is not read. */
  readonly unmatched: "removed" | "null" | "any";
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

/** The same rows with further columns, each computed over the rows around. */
export interface WindowColumns {
  readonly kind: "window";
  readonly rows: PlanStep;
  readonly columns: Named<ColumnExpression>;
}

/** A row for each combination of the values of `groups`. */
export interface AggregateRows {
  readonly kind: "aggregate";
  readonly rows: PlanStep;
  readonly groups: readonly string[];
  readonly totals: Named<ColumnExpression>;
}

/** The rows of all parts, which have the same columns in the same order. */
export interface UnionRows {
  readonly kind: "union";
  readonly parts: readonly PlanStep[];
}

/** Each row once for every integer from one of its values on, below another; the integer is the column `number`. */
export interface RepeatRows {
  readonly kind: "repeat";
  readonly rows: PlanStep;
  readonly number: string;
  readonly from: ColumnExpression;
  readonly below: ColumnExpression;
}

/** Rows that several steps read. Their statement is written once. */
export interface SharedRows {
  readonly kind: "shared";
  readonly rows: PlanStep;
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

/** The time of a row, in the finest grain that its measure has. */
export const TIME = "time";
/** A period of the time spine. */
export const PERIOD = "period";
/** What is aggregated, and the result. */
export const VALUE = "value";

/** The column of a group in every step: a name that no other column has. */
export const groupName = ({ key }: Pick<AskedGroup, "key">): string => `group ${key}`;

/** Columns as they are. */
export const kept = (names: readonly string[]): Named<ColumnValue> => names.map((name) => [name, name]);

export function valueAt(value: ColumnValue, columns: ReadColumns): Part {
  return typeof value === "string" ? columns.value(value) : value(columns);
}

export function filter(rows: PlanStep, ...conditions: readonly ColumnExpression[]): FilterRows {
  return { kind: "filter", rows, conditions, compared: [] };
}

export function compute(rows: PlanStep, ...columns: Named<ColumnValue>): ComputeColumns {
  return { kind: "compute", rows, columns };
}

export function windows(rows: PlanStep, ...columns: Named<ColumnExpression>): WindowColumns {
  return { kind: "window", rows, columns };
}

export function aggregate(
  rows: PlanStep,
  groups: readonly string[],
  ...totals: AggregateRows["totals"]
): AggregateRows {
  return { kind: "aggregate", rows, groups, totals };
}

export function joinRows(
  rows: PlanStep,
  other: PlanStep,
  on: JoinedRows["on"],
  unmatched: JoinedRows["unmatched"] = "removed",
): JoinRows {
  return { kind: "join", rows, others: [{ rows: other, on, unmatched }] };
}

export function shared(rows: PlanStep): SharedRows {
  return { kind: "shared", rows };
}

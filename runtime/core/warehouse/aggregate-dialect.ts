import type { DatePart, Grain, Period } from "../model/aggregate/grains.js";
import type { Leaf } from "../model/aggregate/metric.js";
import type { Condition, Selection } from "../model/query.js";
import type { DerivedRows } from "./schema-cache.js";
import type { Sql } from "./sql.js";
import type { ResultColumn, ResultColumns } from "./warehouse.js";

/** A part of a statement of groups. */
export type Part = Sql<Selection>;

/** A select with groups, and columns of its own. */
export interface GroupedSource {
  readonly select: Part;
  /** Names of its columns besides the groups. */
  readonly columns: readonly string[];
}

/** Values of a relation. */
export interface SourceColumns {
  readonly select: Sql;
  readonly columns: ResultColumns;
}

/** The statement of a grouping. */
export interface GroupedStatement {
  readonly select: Part;
  /** Its columns with what they are made of, where the statement may go on with an order of them; null where it may not. */
  readonly columns: ReadonlyMap<string, Part> | null;
}

/** A grouping's statement, and what the database says of its columns. */
export interface PreparedGrouping {
  /** Where its columns are looked up. */
  readonly source: DerivedRows;
  /** The values that it reads of its relations, with their types. */
  readonly read: readonly SourceColumns[];
  /** Its conditions are deferred parts. `results`: its columns. */
  readonly select: (results: ResultColumns) => GroupedStatement;
  /** The columns that conditions compare with, of each fact and of the results. */
  readonly compared: (results: ResultColumns) => readonly ResultColumns[];
  /** Whether it reads columns of stored relations alone, and no SQL of the project is in it. */
  readonly isOfStored: boolean;
  /** The roll-up that it reads: its relation as `schema.name`, its dbt node, and the version of its rows. */
  readonly rollUp?: { readonly relation: string; readonly node: string; readonly version: string };
}

/** A statement of groups, which a query reads in place of a relation. */
export interface GroupsSource {
  readonly from?: () => Sql<Selection>;
  /** Its columns with what they are made of, where it may go on with an order of them. */
  readonly fromColumns?: GroupedStatement["columns"];
  /** What it reads of its relations. */
  readonly read?: readonly SourceColumns[];
  /** What its conditions compare with, where it reads stored columns alone and no SQL of the project is in it. */
  readonly compared?: readonly ResultColumns[];
}

/** `condition`: only rows that it selects count. `isGroup`: they are a group, which has a row. */
export interface AggregatedRows {
  readonly condition: Part | null;
  readonly isGroup: boolean;
}

export type NumberSign = "=" | "<>" | ">" | ">=" | "+" | "-";

/** What a statement of groups needs of an engine. */
export interface AggregateDialect {
  readonly identifier: (...names: readonly string[]) => Sql;
  /** A filter of a request on the columns of `s`. */
  readonly where: (condition: Condition, position: number, columns: ResultColumns) => Part;
  /** The end of a `SELECT` that fails unless values have the types of these columns; for engines whose statements prove it so. */
  readonly typeProof?: (values: readonly { readonly value: Part; readonly column: ResultColumn }[]) => Part;
  /** The column of a left join, which is null where no row matches. */
  readonly joined: (column: ResultColumn) => ResultColumn;
  readonly joinedValue: (value: Part) => Part;
  /** Whether a column of this type can be null. */
  readonly canBeNull: (column: ResultColumn) => boolean;
  /** The first day of a period in UTC; of a finer grain its first instant, without a zone. */
  readonly truncated: (value: Part, grain: Grain, column: ResultColumn) => Part;
  /** A part of a time's date in UTC, and its type. */
  readonly datePart: (value: Part, part: DatePart, column: ResultColumn) => Part;
  readonly datePartColumn: ResultColumn;
  /** The type of a truncated time. */
  readonly periodColumn: (grain: Grain) => ResultColumn;
  /** The same in the type that expressions of the project compare with a time. */
  readonly comparedTime: (value: Part, grain: Grain, column: ResultColumn) => Part;
  /** A truncated time in the type of a column. */
  readonly asTimeOf: (value: Part, column: ResultColumn) => Part;
  /** A truncated time of this grain, earlier by a period. */
  readonly earlier: (value: Part, period: Period, grain: Grain) => Part;
  readonly aggregate: (
    leaf: Leaf,
    value: Part | null,
    column: ResultColumn | null,
    rows: AggregatedRows,
  ) => Part;
  /** The same aggregation of its own results over parts of the rows, with an `OVER` clause; null of one that needs all rows. */
  readonly ofTotals: (leaf: Leaf, total: Part, column: ResultColumn | null, over: Part) => Part | null;
  /** Order and frame of the rows whose time of a grain is in the window that ends with the current row's; null where the engine has none. */
  readonly windowFrame: (time: Part, window: Period, grain: Grain) => Part | null;
  /** What `FROM` reads: each row of a table once for every integer, `number`, from one of its values on, below another. */
  readonly eachNumber: (table: Part, from: Part, below: Part, number: Sql) => Part;
  /** A whole number in the type of a count. */
  readonly asCount: (value: Part) => Part;
  /** The value of the first or the last row by `order`, nulls included. */
  readonly atEnd: (end: "first" | "last", value: Part, order: Part) => Part;
  /** An input of a formula of the project. `divides`: whether the formula has a division. */
  readonly operand: (value: Part, divides: boolean) => Part;
  readonly quotient: (numerator: Part, denominator: Part) => Part;
  /** A table with one row per combination of groups that any of the sources has; one without it has nulls. `groups`: their columns. */
  readonly combined: (sources: readonly GroupedSource[], groups: ResultColumns) => Part;
  /** Two numbers or times with an operator of the engine's own between them. */
  readonly infix: (left: Part, sign: NumberSign, right: Part) => Part;
  /** Whether the values of two columns are equal. */
  readonly equals: (left: Part, right: Part, columns: readonly [ResultColumn, ResultColumn]) => Part;
  /** The same with null equal to null, also where an engine joins by it. */
  readonly isSame: (left: Part, right: Part) => Part;
  /** A result of a measure less another; null of values that are no numbers. `column`: what a leaf aggregates. */
  readonly difference: (
    left: Part,
    right: Part,
    leaf: Leaf | null,
    column: ResultColumn | null,
  ) => Part | null;
  /** A function of the engine's own. */
  readonly functionName: (name: "dense_rank" | "max" | "min" | "row_number" | "sum") => Sql;
}

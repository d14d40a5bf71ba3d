import type { LetterCase } from "../model/endpoint.js";
import type { Comparison, FunctionOperator } from "../model/operators.js";
import { type ColumnCondition, type Condition, isGroup, type Selection } from "../model/query.js";
import { join, sql, type Sql } from "./sql.js";

export type MonthOrDay = "month" | "day";
export type TextOperator = Exclude<FunctionOperator, MonthOrDay>;

/** What the operators of filters mean in the SQL of an engine (runtime/docs/requests.md). `Side`: what it needs to know of the column and the value. */
export interface FilterDialect<Side, From> {
  readonly equals: (side: Side, letterCase: LetterCase | undefined) => Sql<From>;
  readonly isAnyOf: (side: Side, letterCase: LetterCase | undefined) => Sql<From>;
  /** Contains the pattern, in any letter case. */
  readonly matches: (side: Side, letterCase: LetterCase | undefined) => Sql<From>;
  /** Days are in UTC; the last one is included whole, also for columns with a time of day. */
  readonly comparesDay: (side: Side, operator: ">=" | "<=") => Sql<From>;
  /** A comparison in the column's type. What responses show as null, such as NaN, matches none. */
  readonly compares: (side: Side, operator: Comparison) => Sql<From>;
  /** In their letter case. */
  readonly hasText: (side: Side, operator: TextOperator) => Sql<From>;
  /** The month, or the day of the month, in UTC. */
  readonly isInPart: (side: Side, part: MonthOrDay) => Sql<From>;
  readonly isNull: (side: Side, isWanted: boolean) => Sql<From>;
  /** The rows for which a condition is false, or does not hold since the column is null. */
  readonly isNot: (condition: Sql<From>) => Sql<From>;
  /** Holds for every row, or for none. */
  readonly always: (holds: boolean) => Sql<From>;
}

/** Where a statement reads the values of a condition. */
export type ReadCondition = (selection: Selection) => ColumnCondition;

/** Of the condition at a position of a selection. */
export const readAt =
  (position: number): ((selection: Selection) => Condition) =>
  ({ conditions }) =>
    conditions[position] as Condition;

/** The SQL of a condition: the one walk of its tree. `sideOf`: what the dialect needs of a condition on a column. */
export function treeSql<Side, From>(
  condition: Condition,
  read: (selection: Selection) => Condition,
  dialect: FilterDialect<Side, From>,
  sideOf: (condition: ColumnCondition, read: ReadCondition) => Side,
): Sql<From> {
  if (!isGroup(condition)) return conditionSql(condition, sideOf(condition, read as ReadCondition), dialect);
  const { operator, of } = condition;
  const parts = of.map((each, i) => {
    const readPart = (selection: Selection) => (read(selection) as typeof condition).of[i] as Condition;
    return sql<From>`(${treeSql(each, readPart, dialect, sideOf)})`;
  });
  const [first] = parts;
  if (first === undefined) return dialect.always(operator === "and");
  if (operator === "not") return dialect.isNot(first);
  // Statements join conditions by AND.
  return operator === "and" ? join(parts, " AND ") : sql`(${join(parts, " OR ")})`;
}

/** It compares in the column's own type, so that an index serves it. */
function conditionSql<Side, From>(
  condition: ColumnCondition,
  side: Side,
  dialect: FilterDialect<Side, From>,
): Sql<From> {
  const letterCase = "case" in condition ? condition.case : undefined;
  switch (condition.operator) {
    case "=":
      return dialect.equals(side, letterCase);
    case "IN":
      return dialect.isAnyOf(side, letterCase);
    case "ILIKE":
      return dialect.matches(side, letterCase);
    case ">=":
    case "<=":
      return dialect.comparesDay(side, condition.operator);
    case "contains":
    case "startswith":
    case "endswith":
      return dialect.hasText(side, condition.operator);
    case "month":
    case "day":
      return dialect.isInPart(side, condition.operator);
    case "null":
      return dialect.isNull(side, condition.value === "true");
    case "ne":
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return dialect.compares(side, condition.operator);
  }
}

/** Behind 9999-12-31 it has an expanded year. */
export function dayAfter(day: string): string {
  const [next = ""] = new Date(Date.parse(day) + 86_400_000).toISOString().split("T");
  return next;
}

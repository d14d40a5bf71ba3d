import type { LetterCase } from "../model/endpoint.js";
import type { Comparison } from "../model/operators.js";
import type { Condition } from "../model/query.js";
import type { Sql } from "./sql.js";

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
  readonly isNull: (side: Side, isWanted: boolean) => Sql<From>;
}

/** The SQL of one filter. It compares in the column's own type, so that an index serves it. */
export function conditionSql<Side, From>(
  condition: Condition,
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

import type { ColumnFilter } from "../core/model/endpoint.js";
import { type ColumnCondition, type Condition, type ConditionGroup, FILTER } from "../core/model/query.js";
import type { Order } from "./expression.js";

/** What a filter may name. */
export interface FilterScope {
  readonly filters: readonly ColumnFilter[];
  readonly timezoneOf: (column: string) => string | undefined;
}

/** A column that a filter compares, and where. */
export interface Compared extends ColumnFilter {
  readonly timezone: string | undefined;
  readonly at: number;
}

/** By name: an expression may name a thousand. */
export type ComparedColumns = ReadonlyMap<string, Omit<Compared, "at">>;

export const columnsIn = ({ filters, timezoneOf }: FilterScope): ComparedColumns =>
  new Map(filters.map((filter) => [filter.column, { ...filter, timezone: timezoneOf(filter.column) }]));

export function group(operator: ConditionGroup["operator"], ...of: readonly Condition[]): ConditionGroup {
  return { operator, name: FILTER, of };
}

/** One of them holds. */
export function either(conditions: readonly Condition[]): Condition {
  const [first, ...others] = conditions;
  return first !== undefined && others.length === 0 ? first : group("or", ...conditions);
}

type Test = Pick<ColumnCondition, "operator" | "type"> & { readonly value: string | readonly string[] };

export function on({ column, timezone }: Compared, test: Test): ColumnCondition {
  return { name: FILTER, column, ...(timezone !== undefined && { timezone }), ...test } as ColumnCondition;
}

export const isNull = (compared: Compared, isWanted: boolean): ColumnCondition =>
  on(compared, { operator: "null", type: "boolean", value: String(isWanted) });

export function isAny(column: Compared, texts: readonly string[]): ColumnCondition {
  const [first = ""] = texts;
  return texts.length === 1
    ? on(column, { operator: "=", type: "string", value: first })
    : on(column, { operator: "IN", type: "string_list", value: texts });
}

const OPERATORS = { gt: "gt", ge: "gte", lt: "lt", le: "lte" } as const;

export function compares(column: Compared, sign: Exclude<Order, "eq">, value: string): ColumnCondition {
  return on(column, { operator: OPERATORS[sign], type: "value", value });
}

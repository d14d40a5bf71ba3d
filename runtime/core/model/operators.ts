/** How requests filter: one entry per operator. Imports nothing: the endpoint, the generator and the browser's pages read it. */

/**
 * What the value of an operator is: one of the column's type, a pattern of its text, a day, whether the column is null, a text in the
 * column's, or numbers of a part of its dates.
 */
type OperatorValue = "typed" | "pattern" | "day" | "flag" | "text" | "numbers";

/** Type of a parameter of `meta.api`. */
export type ParameterType = "string" | "date" | "string_list";

interface Operator {
  readonly value: OperatorValue;
  /** A parameter of `meta.api` may have it: the type that the parameter then has, and how its filter is documented after the column. */
  readonly parameter?: { readonly type: ParameterType; readonly sql: string; readonly note?: string };
  /** A column of `meta.routewright.filters` has it, by this name: `amount[gte]`. */
  readonly filter?: string;
  /** What it does, after the name of the column. */
  readonly text: string;
  /** It needs an order of the column's values. */
  readonly ordered?: true;
  readonly isUpperBound?: true;
  /** Which rows it excludes, for `allow_unfiltered: false`: most of them, next to none, or most of them under a condition. */
  readonly excludes: "most" | "few" | "most with an upper bound" | "most where true";
}

/** What an operator means in SQL stands in the `FilterDialect` of each engine (`<engine>/filters.ts`). */
export const OPERATORS = {
  "=": {
    value: "typed",
    parameter: { type: "string", sql: "= value" },
    filter: "eq",
    text: "is the value",
    excludes: "most",
  },
  ne: { value: "typed", filter: "ne", text: "is not the value", excludes: "few" },
  gt: {
    value: "typed",
    filter: "gt",
    text: "is greater",
    ordered: true,
    excludes: "most with an upper bound",
  },
  gte: {
    value: "typed",
    filter: "gte",
    text: "is greater or equal",
    ordered: true,
    excludes: "most with an upper bound",
  },
  lt: {
    value: "typed",
    filter: "lt",
    text: "is less",
    ordered: true,
    isUpperBound: true,
    excludes: "few",
  },
  lte: {
    value: "typed",
    filter: "lte",
    text: "is less or equal",
    ordered: true,
    isUpperBound: true,
    excludes: "few",
  },
  ">=": {
    value: "day",
    parameter: { type: "date", sql: ">= value", note: ", inclusive" },
    text: "is the day or later",
    excludes: "most",
  },
  "<=": {
    value: "day",
    parameter: { type: "date", sql: "<= value", note: ", inclusive" },
    text: "is the day or earlier",
    excludes: "most",
  },
  ILIKE: {
    value: "pattern",
    parameter: {
      type: "string",
      sql: "ILIKE value",
      note: ": in any letter case, `%` matches any text; a value without `%` matches anywhere in the column",
    },
    text: "contains the value",
    excludes: "most",
  },
  IN: {
    value: "typed",
    parameter: { type: "string_list", sql: "IN (values)" },
    filter: "in",
    text: "is one of the values",
    excludes: "most",
  },
  null: {
    value: "flag",
    filter: "null",
    text: "is null (`true`) or is not (`false`)",
    excludes: "most where true",
  },
  contains: { value: "text", text: "has the text in it", excludes: "most" },
  startswith: { value: "text", text: "begins with the text", excludes: "most" },
  endswith: { value: "text", text: "ends with the text", excludes: "most" },
  month: { value: "numbers", text: "is in one of the months", excludes: "few" },
  day: { value: "numbers", text: "is on one of the days of a month", excludes: "few" },
} as const satisfies Readonly<Record<string, Operator>>;

type OperatorTable = typeof OPERATORS;

export type OperatorName = keyof OperatorTable;

/** The operators that parameters of a type may have. */
export type ParameterOperator<Type extends ParameterType = ParameterType> = {
  [Name in OperatorName]: OperatorTable[Name] extends { readonly parameter: { readonly type: Type } }
    ? Name
    : never;
}[OperatorName];

/** The operators that only filtered columns have and that take a value of the column's type. Rows without a value match none of them. */
export type Comparison = {
  [Name in OperatorName]: OperatorTable[Name] extends { readonly parameter: object }
    ? never
    : OperatorTable[Name] extends { readonly value: "typed" }
      ? Name
      : never;
}[OperatorName];

/** The operators that only the parameter `filter` has. */
export type FunctionOperator = {
  [Name in OperatorName]: OperatorTable[Name] extends { readonly value: "text" | "numbers" } ? Name : never;
}[OperatorName];

/** An operator of a filtered column, as requests write it. */
export type FilterOperator = {
  [Name in OperatorName]: OperatorTable[Name] extends { readonly filter: infer Filter } ? Filter : never;
}[OperatorName];

const entries = Object.entries(OPERATORS) as readonly (readonly [OperatorName, Operator])[];

/** The operators of parameters, in the order of the documentation. */
export const PARAMETER_OPERATORS = entries
  .filter(([, { parameter }]) => parameter !== undefined)
  .map(([name]) => name as ParameterOperator);

/** The operators of filtered columns, by the names that requests write. */
export const FILTER_OPERATORS = new Map(
  entries.flatMap(([name, { filter }]) =>
    filter === undefined ? [] : [[filter as FilterOperator, name] as const],
  ),
);

export function operatorOf(name: OperatorName): Operator {
  return OPERATORS[name];
}

/** The type of a parameter with the operator. */
export function parameterTypeOf(name: ParameterOperator): ParameterType {
  return OPERATORS[name].parameter.type;
}

/** The pattern of texts that begin with these characters, in any letter case: none of them is a wildcard. */
export function beginsWith(characters: string) {
  return { operator: "ILIKE", value: `${characters.replace(/[\\%_]/g, "\\$&")}%` } as const;
}

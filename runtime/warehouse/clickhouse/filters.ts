import type { Comparison, LetterCase } from "../../model/endpoint.js";
import type { Condition } from "../../model/query.js";
import { constant, escapedIdentifier, join, sql, type Sql } from "../sql.js";
import type { FilterType } from "../filter-values.js";
import type { ResultColumns } from "../warehouse.js";
import { escaped, MAX_PARAMETER_LENGTH, parameter } from "./parameters.js";
import { filterType, parseType } from "./filter-types.js";

const NO_ROW = sql`0`;

/** One filter (runtime/docs/requests.md). The value has the column's type, so that the primary key serves it. */
export function where(condition: Condition, columns: ResultColumns): Sql {
  const { column, operator, value } = condition;
  const type = columns.find((each) => each.name === column)?.type ?? "String";
  const values = typeof value === "string" ? [value] : value;
  const letterCase = "case" in condition ? condition.case : undefined;
  switch (operator) {
    case "=":
    case "IN":
      return equals(column, type, values, letterCase);
    case "ILIKE":
      return sql`lowerUTF8(${textOf(column, type)}) LIKE lowerUTF8(${parameter(values[0] ?? "", "String")})`;
    case ">=":
    case "<=":
      return comparesDay(operator, column, type, values[0] ?? "");
    case "null":
      return isNull(column, type, value === "true");
    case "ne":
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return compares(operator, column, type, values[0] ?? "");
  }
}

const COMPARISONS = { ne: sql`!=`, gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` } as const;

/** A comparison in the column's type. What responses show as null, such as NaN, matches none. */
function compares(operator: Comparison, column: string, type: string, text: string): Sql {
  const filter = filterType(parseType(type));
  if (filter === null)
    return sql`${textOf(column, type)} ${COMPARISONS[operator]} ${parameter(text, "String")}`;
  const hasValue = isNull(column, type, false);
  const value = filter.parse(text) ?? null;
  if (value !== null) {
    const comparison = sql`${columnOf(column)} ${COMPARISONS[operator]} ${parameter(value, filter.cast)}`;
    return isFloat(type) ? sql`${comparison} AND ${hasValue}` : comparison;
  }
  if (operator === "ne") return hasValue;
  const isLower = operator === "gt" || operator === "gte";
  const floor = filter.bound(text, operator);
  if (floor === null) return isLower ? hasValue : NO_ROW;
  const sign = COMPARISONS[isLower ? "gt" : "lte"];
  return sql`${columnOf(column)} ${sign} ${parameter(floor, filter.cast)} AND ${hasValue}`;
}

function isFloat(type: string): boolean {
  return /Float/.test(parseType(type).name);
}

function isNull(column: string, type: string, isWanted: boolean): Sql {
  const value = columnOf(column);
  const isPresent = isFloat(type) ? sql`ifNull(isFinite(${value}), 0)` : sql`isNotNull(${value})`;
  return isWanted ? sql`NOT ${isPresent}` : isPresent;
}

export function columnOf(name: string): Sql {
  return escapedIdentifier(name);
}

/** The column as responses show it; `FixedString` without the zero bytes at its end. */
function textOf(column: string, type: string): Sql {
  return parseType(type).name === "String" ? columnOf(column) : valueText(columnOf(column), type);
}

/** The text of a value. `toString` drops the zeros at the end of a decimal. */
export function valueText(value: Sql, type: string): Sql {
  const { name, arguments: sizes } = parseType(type);
  return name === "Decimal"
    ? sql`toDecimalString(${value}, ${constant(Number(sizes[1]))})`
    : sql`toString(${value})`;
}

function equals(
  column: string,
  type: string,
  values: readonly string[],
  letterCase: LetterCase | undefined,
): Sql {
  const filter = letterCase === undefined ? filterType(parseType(type)) : null;
  if (filter !== null) return isAnyOf(columnOf(column), filter, values);
  return letterCase === undefined
    ? isAnyOf(textOf(column, type), null, values)
    : isAnyFolded(textOf(column, type), letterCase, values);
}

/** Parameters whose texts stand in quotes inside of an array. */
const QUOTED = /^(UUID|IPv[46]|Date.*)$/;

function isAnyOf(column: Sql, type: FilterType | null, values: readonly string[]): Sql {
  const read = values.map((text) => (type === null ? text : (type.parse(text) ?? null)));
  const known = read.filter((text) => text !== null);
  const cast = type?.cast ?? "String";
  const [first] = known;
  if (first === undefined) return NO_ROW;
  if (values.length === 1) return sql`${column} = ${parameter(first, cast)}`;
  return anyOf(known, {
    list: (list) => sql`${column} IN ${array(list, cast)}`,
    long: (value) => sql`${column} = ${parameter(value, cast)}`,
  });
}

interface Alternatives {
  readonly list: (values: readonly string[]) => Sql;
  /** A value that fits into no parameter. */
  readonly long: (value: string) => Sql;
}

function anyOf(values: readonly string[], { list, long }: Alternatives): Sql {
  const isLong = ({ length }: string): boolean => length > MAX_PARAMETER_LENGTH;
  const short = lists(values.filter((value) => !isLong(value)));
  return sql`(${join([...short.map(list), ...values.filter(isLong).map(long)], " OR ")})`;
}

export function array(values: readonly string[], type: string): Sql {
  const isQuoted = type === "String" || QUOTED.test(type);
  // `IN` tells 0 from -0, which `=` does not.
  const all =
    type.startsWith("Float") && values.some((text) => Number(text) === 0) ? [...values, "0", "-0"] : values;
  const items = all.map((text) => (isQuoted ? `'${escaped(text)}'` : text));
  return parameter(`[${items.join(",")}]`, `Array(${type})`);
}

/** ClickHouse folds both sides: its case rules differ from JavaScript's. */
function isAnyFolded(text: Sql, letterCase: LetterCase, values: readonly string[]): Sql {
  const fold = letterCase === "lower" ? sql`lowerUTF8` : sql`upperUTF8`;
  return anyOf(values, {
    list: (list) => sql`has(arrayMap(v -> ${fold}(v), ${array(list, "String")}), ${fold}(${text}))`,
    long: (value) => sql`${fold}(${parameter(value, "String")}) = ${fold}(${text})`,
  });
}

/** Cuts a list so that each part fits into a parameter. */
function lists(values: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let length = Infinity;
  for (const value of values) {
    if (length + value.length > MAX_PARAMETER_LENGTH) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1)?.push(value);
    length += value.length;
  }
  return parts;
}

/** Days are in UTC; the last one is included whole, also for columns with a time of day. */
function comparesDay(operator: ">=" | "<=", column: string, type: string, day: string): Sql {
  switch (parseType(type).name) {
    case "Date":
    case "Date32":
      return compares(operator === ">=" ? "gte" : "lte", column, type, day);
    case "DateTime":
    case "DateTime64":
      return operator === ">="
        ? compares("gte", column, type, `${day}T00:00:00Z`)
        : compares("lt", column, type, `${dayAfter(day)}T00:00:00Z`);
    default:
      return sql`${textOf(column, type)} ${operator === ">=" ? COMPARISONS.gte : COMPARISONS.lte} ${parameter(day, "String")}`;
  }
}

/** Behind 9999-12-31 it has an expanded year. */
function dayAfter(day: string): string {
  const [next = ""] = new Date(Date.parse(day) + 86_400_000).toISOString().split("T");
  return next;
}

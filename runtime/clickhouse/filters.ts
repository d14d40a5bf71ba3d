import type { LetterCase } from "../core/model/endpoint.js";
import type { Comparison } from "../core/model/operators.js";
import {
  type ColumnCondition,
  columnConditions,
  type Condition,
  type TypedValue,
} from "../core/model/query.js";
import {
  type MonthOrDay,
  dayAfter,
  type FilterDialect,
  type TextOperator,
  treeSql,
} from "../core/warehouse/condition-sql.js";
import { constant, escapedIdentifier, escapedLiteral, join, sql, type Sql } from "../core/warehouse/sql.js";
import { type FilterType, typedValues } from "../core/warehouse/filter-type.js";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import { escaped, MAX_PARAMETER_LENGTH, parameter } from "./parameters.js";
import { type ClickhouseType, databaseType, filterType, parseType } from "./filter-types.js";

const NO_ROW = sql`0`;

/** What a filter compares. */
interface FilterSide {
  readonly column: string;
  readonly type: string;
  /** As they were sent. */
  readonly values: readonly string[];
  readonly condition: ColumnCondition;
}

const DIALECT: FilterDialect<FilterSide, unknown> = {
  equals: isAnyOf,
  isAnyOf,
  matches: ({ column, type, values: [pattern = ""] }) =>
    sql`lowerUTF8(${textOf(column, type)}) LIKE lowerUTF8(${parameter(pattern, "String")})`,
  comparesDay,
  hasText,
  isInPart,
  compares: ({ column, type, condition }, operator) =>
    compares(operator, column, type, typedValues(condition, filterType(parseType(type)))[0]),
  isNull: ({ column, type }, isWanted) => isNull(column, type, isWanted),
  isNot: (condition) => sql`NOT ifNull(${condition}, 0)`,
  always: (holds) => (holds ? sql`1` : NO_ROW),
};

/** One filter. The value has the column's type, so that the primary key serves it. */
export function where(condition: Condition, columns: ResultColumns): Sql {
  return treeSql(
    condition,
    () => condition,
    DIALECT,
    (of) => {
      const { column, value } = of;
      const type = columns.find((each) => each.name === column)?.type ?? "String";
      return { column, type, values: [value].flat(), condition: of };
    },
  );
}

/** Whether conditions compare values as they are, and not their texts, which settings of the query change. */
export function compareValues(conditions: readonly Condition[], columns: ResultColumns): boolean {
  return columnConditions(conditions).every((condition) => {
    const found = columns.filter(({ name }) => name === condition.column);
    return found.length > 0 && found.every(({ type }) => comparesValue(condition, type));
  });
}

function comparesValue(condition: ColumnCondition, type: string): boolean {
  const { name } = parseType(type);
  if (name === "String") return true;
  const { operator } = condition;
  if (operator === ">=" || operator === "<=") return DAYS.test(name);
  return !("case" in condition) && !ON_TEXT.has(operator) && databaseType(type).value !== "other";
}

const DAYS = /^Date(?:32|Time|Time64)?$/;
const ON_TEXT = new Set<ColumnCondition["operator"]>(["ILIKE", "contains", "startswith", "endswith"]);

const COMPARISONS = { ne: sql`!=`, gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` } as const;

function compares(operator: Comparison, column: string, type: string, given: TypedValue | undefined): Sql {
  const filter = filterType(parseType(type));
  const hasValue = isNull(column, type, false);
  const compared = comparedColumn(column, type);
  const value = given?.written ?? null;
  if (value !== null) {
    const comparison = sql`${compared} ${COMPARISONS[operator]} ${parameter(value, filter.cast)}`;
    return isFloat(type) ? sql`${comparison} AND ${hasValue}` : comparison;
  }
  if (operator === "ne") return hasValue;
  const isLower = operator === "gt" || operator === "gte";
  const floor = given?.bound(operator) ?? null;
  if (floor === null) return isLower && filter.kind !== "text" ? hasValue : NO_ROW;
  const sign = COMPARISONS[isLower ? "gt" : "lte"];
  return sql`${compared} ${sign} ${parameter(floor, filter.cast)} AND ${hasValue}`;
}

/** What a filter compares of a column: its value, or of a type without a comparison of its own its text. */
function comparedColumn(column: string, type: string): Sql {
  return databaseType(type).value === "other"
    ? textOf(column, type)
    : comparedValue(columnOf(column), parseType(type));
}

/** A `Time64` compares as seconds: one server of a `Distributed` table writes it so that another cannot read it. */
export function comparedValue(value: Sql, { name, arguments: [scale], isNullable }: ClickhouseType): Sql {
  if (name !== "Time64") return value;
  const number = `Decimal(18, ${String(scale)})`;
  return sql`CAST(${value}, ${escapedLiteral(isNullable ? `Nullable(${number})` : number)})`;
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

/** The column as responses show it; `FixedString` without the zero bytes at its end, a time in RFC 3339. */
export function textOf(column: string, type: string): Sql {
  const value = columnOf(column);
  const { name, arguments: sizes } = parseType(type);
  if (name === "String") return value;
  if (name !== "DateTime" && name !== "DateTime64") return valueText(value, type);
  const text = sql`concat(replaceOne(toString(toTimeZone(${value}, 'UTC')), ' ', 'T'), 'Z')`;
  const hasFraction = name === "DateTime64" && sizes[0] !== "0";
  return hasFraction ? sql`replaceRegexpOne(${text}, '[.]?0*Z$', 'Z')` : text;
}

/** The text of a value. `toString` drops the zeros at the end of a decimal. */
export function valueText(value: Sql, type: string): Sql {
  const { name, arguments: sizes } = parseType(type);
  return name === "Decimal"
    ? sql`toDecimalString(${value}, ${constant(Number(sizes[1]))})`
    : sql`toString(${value})`;
}

/** Parameters whose texts stand in quotes inside of an array. */
const QUOTED = /^(UUID|IPv[46]|Date.*|Time)$/;

function isAnyOf({ column, type, values, condition }: FilterSide, letterCase: LetterCase | undefined): Sql {
  return letterCase === undefined
    ? isAnyValue(comparedColumn(column, type), filterType(parseType(type)), condition)
    : isAnyFolded(textOf(column, type), letterCase, values);
}

function isAnyValue(column: Sql, type: FilterType, condition: ColumnCondition): Sql {
  const values = typedValues(condition, type);
  const known = values.map(({ written }) => written).filter((text) => text !== null);
  const { cast } = type;
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

const TEXT_TESTS = {
  contains: (text: Sql, part: Sql) => sql`position(${text}, ${part}) > 0`,
  startswith: (text: Sql, part: Sql) => sql`startsWith(${text}, ${part})`,
  endswith: (text: Sql, part: Sql) => sql`endsWith(${text}, ${part})`,
} as const;

function hasText({ column, type, values: [text = ""] }: FilterSide, operator: TextOperator): Sql {
  return TEXT_TESTS[operator](textOf(column, type), parameter(text, "String"));
}

function isInPart({ column, type, values }: FilterSide, part: MonthOrDay): Sql {
  const value = columnOf(column);
  const isTime = parseType(type).name.startsWith("DateTime");
  const inUtc = isTime ? sql`toTimeZone(${value}, 'UTC')` : value;
  const number = part === "month" ? sql`toMonth(${inUtc})` : sql`toDayOfMonth(${inUtc})`;
  return sql`${number} IN (${join(
    values.map((each) => constant(Number(each))),
    ", ",
  )})`;
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

function comparesDay({ column, type, values: [day = ""] }: FilterSide, operator: ">=" | "<="): Sql {
  const valueOf = (text: string): TypedValue | undefined => filterType(parseType(type)).read(text);
  switch (parseType(type).name) {
    case "Date":
    case "Date32":
      return compares(operator === ">=" ? "gte" : "lte", column, type, valueOf(day));
    case "DateTime":
    case "DateTime64":
      return operator === ">="
        ? compares("gte", column, type, valueOf(`${day}T00:00:00Z`))
        : compares("lt", column, type, valueOf(`${dayAfter(day)}T00:00:00Z`));
    default:
      return sql`${textOf(column, type)} ${operator === ">=" ? COMPARISONS.gte : COMPARISONS.lte} ${parameter(day, "String")}`;
  }
}

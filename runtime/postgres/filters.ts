import type { LetterCase } from "../core/model/endpoint.js";
import type { Comparison } from "../core/model/operators.js";
import {
  type MonthOrDay,
  dayAfter,
  type FilterDialect,
  readAt,
  type ReadCondition,
  treeSql,
  type TextOperator,
} from "../core/warehouse/condition-sql.js";
import { bind, identifier, literal, sql, type BindValue, type Sql } from "../core/warehouse/sql.js";
import {
  type ColumnCondition,
  type Condition,
  type Selection,
  type TypedValue,
} from "../core/model/query.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { typedValues, UNSTORABLE } from "../core/warehouse/filter-type.js";
import { isUnknownLabel } from "./enum-labels.js";
import { LAST_DAYS } from "./filter-times.js";
import { databaseType, filterType } from "./filter-types.js";
import { compared, type ComparisonSign, infix } from "./qualified-names.js";
import { inUtc, textOf } from "./texts.js";

/** One filter. Its value is bound by the position of its condition. */
export function where(condition: Condition, position: number, columns: ResultColumns): Sql<Selection> {
  return treeSql(condition, readAt(position), DIALECT, (of, read) => {
    const column = filteredColumn(of, columns);
    return { name: comparedName(column), column, read, asText: isText(of, column) };
  });
}

/** The column of a filter, and where its condition is read. */
interface FilterSide {
  readonly name: Sql<Selection>;
  readonly column: ResultColumn;
  readonly read: ReadCondition;
  /** Both sides are compared as texts. */
  readonly asText: boolean;
}

const DIALECT: FilterDialect<FilterSide, Selection> = {
  equals: (side, letterCase) => (letterCase === undefined ? equals(side) : equalsFolded(side, letterCase)),
  isAnyOf: (side, letterCase) => (letterCase === undefined ? isAnyOf(side) : isAnyFolded(side, letterCase)),
  matches,
  comparesDay,
  compares,
  hasText,
  isInPart,
  isNull,
  isNot: (condition) => sql`${condition} IS NOT TRUE`,
  always: (holds) => (holds ? sql`TRUE` : sql`FALSE`),
};

/** The part of a condition's value that decides the text of its SQL. */
export function variantOf(condition: ColumnCondition, columns: ResultColumns): string {
  if (condition.operator === "null") return String(condition.value);
  return isText(condition, filteredColumn(condition, columns)) ? "text" : "";
}

/** A type whose values compare as texts where they are not of the type. */
export const PATH = "ltree";

/** The labels of a path that every version of `ltree` reads: other values compare as texts. */
const PLAIN_PATH = /^(?:[A-Za-z0-9_]{1,255}(?:\.(?!$)|$))+$/;

function isText({ value }: ColumnCondition, column: ResultColumn): boolean {
  if (databaseType(column).value === "other") return true;
  return column.type === PATH && [value].flat().some((text) => !PLAIN_PATH.test(text));
}

/** A missing column is compared as text: PostgreSQL then reports that it does not exist. */
function filteredColumn({ column, timezone }: ColumnCondition, columns: ResultColumns): ResultColumn {
  const existing = columns.find(({ name }) => name === column) ?? { name: column, type: "text" };
  return timezone === undefined ? existing : { ...existing, timezone };
}

/** A column as it is compared: an enum as such, since a domain over one has no operators. An index serves it all the same. */
export function comparedName({ name, type, typeSchema, isEnum }: ResultColumn): Sql<Selection> {
  const column = sql<Selection>`s.${identifier(name)}`;
  return isEnum === true && typeSchema !== undefined
    ? sql`${column}::${identifier(typeSchema, type)}`
    : column;
}

const SIGNS: Readonly<Record<Comparison, ComparisonSign>> = {
  ne: "<>",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/** Compared with the next value instead: the smallest one of a discrete type has none below it to be compared with. */
const DISCRETE_SIGNS = { gt: "gte", gte: "gte", lt: "lte", lte: "lte" } as const;

function equals({ name, column, read, asText }: FilterSide): Sql<Selection> {
  const value = bind(valueOf(read, column));
  return asText
    ? infix(textOf(name, column), "=", sql`${value}::pg_catalog.text`)
    : compared(name, "=", typed(value, column), column);
}

function isAnyOf({ name, column, read, asText }: FilterSide): Sql<Selection> {
  const values = bind(valueOf(read, column));
  return asText
    ? infix(textOf(name, column), "=", sql`ANY(${values}::pg_catalog.text[])`)
    : compared(name, "=", sql`ANY(${typedList(values, column)})`, column);
}

/** PostgreSQL folds both sides: its case rules differ from JavaScript's (`Straße`, `ΣΑΣ`). */
function equalsFolded({ name, column, read }: FilterSide, letterCase: LetterCase): Sql<Selection> {
  const value = sql`${bind(rawValue(read))}::pg_catalog.text`;
  return infix(folded(textOf(name, column), letterCase), "=", folded(value, letterCase));
}

function isAnyFolded({ name, column, read }: FilterSide, letterCase: LetterCase): Sql<Selection> {
  const list = sql`${bind(rawValue(read))}::pg_catalog.text[]`;
  const values = sql`SELECT ${folded(sql`v`, letterCase)} FROM pg_catalog.unnest(${list}) AS v`;
  return infix(folded(textOf(name, column), letterCase), "=", sql`ANY(ARRAY(${values}))`);
}

/** A nondeterministic collation knows no patterns: the text is compared under that of the database. */
function matches({ name, column, read }: FilterSide, letterCase: LetterCase | undefined): Sql<Selection> {
  const text = withPatterns(folded(textOf(name, column), letterCase), column);
  return infix(text, "ilike", folded(bind(rawValue(read)), letterCase));
}

function withPatterns(text: Sql<Selection>, { isNondeterministic }: ResultColumn): Sql<Selection> {
  return isNondeterministic === true ? sql`${text} COLLATE pg_catalog."default"` : text;
}

function hasText({ name, column, read }: FilterSide, operator: TextOperator): Sql<Selection> {
  const pattern = (selection: Selection): BindValue => {
    const { value } = read(selection);
    return value === UNSTORABLE ? null : patternOf(operator, String(value));
  };
  return infix(withPatterns(textOf(name, column), column), "like", bind(pattern));
}

function patternOf(operator: TextOperator, text: string): string {
  const escaped = text.replace(/[\\%_]/g, "\\$&");
  return `${operator === "startswith" ? "" : "%"}${escaped}${operator === "endswith" ? "" : "%"}`;
}

function isInPart({ name, column, read }: FilterSide, part: MonthOrDay): Sql<Selection> {
  const numbers = sql`${bind(rawValue(read))}::pg_catalog.int4[]`;
  const unit = part === "month" ? sql`month` : sql`day`;
  const number = sql`extract(${unit} FROM ${inUtc(name, column)})::pg_catalog.int4`;
  return infix(number, "=", sql`ANY(${numbers})`);
}

function folded(value: Sql<Selection>, letterCase: LetterCase | undefined): Sql<Selection> {
  if (letterCase === undefined) return value;
  return letterCase === "lower" ? sql`pg_catalog.lower(${value})` : sql`pg_catalog.upper(${value})`;
}

function compares(side: FilterSide, operator: Comparison): Sql<Selection> {
  const { column, read, asText } = side;
  const name = asText ? textOf(side.name, column) : side.name;
  const given = bind(boundOf(operator, read, column));
  const bound = asText ? sql`${given}::pg_catalog.text` : typed(given, column);
  const hasValue = isNull(side, false);
  const sign = operator !== "ne" && filterType(column).isDiscrete ? DISCRETE_SIGNS[operator] : operator;
  const comparison = asText ? infix(name, SIGNS[sign], bound) : compared(name, SIGNS[sign], bound, column);
  if (operator === "ne") return sql`${comparison} IS NOT FALSE AND ${hasValue}`;
  return databaseType(column).hasInfinity ? sql`${comparison} AND ${hasValue}` : comparison;
}

/** Infinities are above and below every other value, NaN is above infinity. Responses show them as null. */
function isNull({ name, column }: FilterSide, isWanted: boolean): Sql<Selection> {
  if (!databaseType(column).hasInfinity) return isWanted ? sql`${name} IS NULL` : sql`${name} IS NOT NULL`;
  const isFinite = sql`(${infix(name, ">", sql`'-Infinity'`)} AND ${infix(name, "<", sql`'Infinity'`)})`;
  return isWanted ? sql`${isFinite} IS NOT TRUE` : isFinite;
}

/** The value to compare with. Outside the type's range it is an infinity, or null where the type has none and no row can match. */
const boundOf =
  (operator: Comparison, read: ReadCondition, column: ResultColumn) =>
  (selection: Selection): BindValue => {
    const condition = read(selection);
    const type = filterType(column);
    const [value] = typedValues(condition, type);
    if (value === undefined) return null;
    if (type.isDiscrete && operator !== "ne") return value.bound(operator);
    if (isUnknownLabel(String(condition.value), column, selection)) return null;
    return shown(value, condition) ?? value.bound(operator);
  };

/** The value of a condition as it was sent. */
const rawValue =
  (read: ReadCondition) =>
  (selection: Selection): BindValue => {
    const { value } = read(selection);
    const storable = (text: string): string | null => (text === UNSTORABLE ? null : text);
    return typeof value === "string" ? storable(value) : value.map(storable);
  };

/** The value of a condition, parsed for its column's type; null matches nothing. */
const valueOf =
  (read: ReadCondition, column: ResultColumn) =>
  (selection: Selection): BindValue => {
    const condition = read(selection);
    const { value } = condition;
    const typed = typedValues(condition, filterType(column));
    const written = (text: string, i: number): string | null => {
      const each = typed[i];
      return each === undefined || isUnknownLabel(text, column, selection) ? null : shown(each, condition);
    };
    return typeof value === "string" ? written(value, 0) : value.map(written);
  };

/** In a zone of the column's own the last days may lie beyond PostgreSQL's range: responses show them as null. */
function shown({ written }: TypedValue, { timezone }: ColumnCondition): string | null {
  return timezone !== undefined && written?.startsWith(LAST_DAYS) === true ? null : written;
}

/** A value of the column's type. */
function typed(value: Sql<Selection>, column: ResultColumn): Sql<Selection> {
  if (column.type === "money") return sql`${value}::pg_catalog.numeric::pg_catalog.money`;
  return withoutZone(sql`${value}::${parameterType(column)}`, column);
}

/** The planner sees the values of a cast; of a subquery it sees none. */
function typedList(values: Sql<Selection>, column: ResultColumn): Sql<Selection> {
  if (column.type === "money") return sql`${values}::pg_catalog.numeric[]::pg_catalog.money[]`;
  const list = sql`${values}::${parameterType(column)}[]`;
  return isZoned(column)
    ? sql`ARRAY(SELECT ${withoutZone(sql`v`, column)} FROM pg_catalog.unnest(${list}) AS v)`
    : list;
}

/** Quoted, `bit` and `char` have any length. */
function parameterType(column: ResultColumn): Sql {
  if (column.typeSchema !== undefined) return identifier(column.typeSchema, column.type);
  return identifier("pg_catalog", filterType(column).cast);
}

/** Whether it is a time without a zone in a zone of its own: its values are sent as times with one. */
const isZoned = ({ type, timezone = "UTC" }: ResultColumn): boolean =>
  type === "timestamp" && timezone !== "UTC";

/** Converts a time for a `timestamp` column; other columns take it unchanged. */
function withoutZone(time: Sql<Selection>, column: ResultColumn): Sql<Selection> {
  return isZoned(column) ? sql`(${time} AT TIME ZONE ${literal(column.timezone ?? "UTC")})` : time;
}

function comparesDay({ name, column, read }: FilterSide, operator: ">=" | "<="): Sql<Selection> {
  const { value } = databaseType(column);
  const isFrom = operator === ">=";
  if (value !== "date" && value !== "date-time") {
    return infix(textOf(name, column), operator, sql`${bind(rawValue(read))}::pg_catalog.text`);
  }
  const day = bind(dayOf(read, value === "date" || isFrom ? 0 : 1, value));
  const given = typed(day, column);
  return infix(name, isFrom || value === "date" ? operator : "<", given);
}

/** The day of a condition, or the one after it; of a column of times its start. */
const dayOf =
  (read: ReadCondition, after: 0 | 1, kind: "date" | "date-time") =>
  (selection: Selection): BindValue => {
    const day = String(read(selection).value);
    const date = after === 0 ? day : dayAfter(day);
    return kind === "date" ? date : (START_OF_DAY.read(`${date}T00:00:00Z`)?.written ?? null);
  };

const START_OF_DAY = filterType({ type: "timestamptz" });

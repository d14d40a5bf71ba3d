import type { Comparison, LetterCase } from "../../model/endpoint.js";
import { bind, identifier, literal, sql, typeName, type BindValue, type Sql } from "../sql.js";
import type { Condition, Selection } from "../../model/query.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";
import type { FilterType } from "../filter-values.js";
import { filterType, INTEGER, LAST_DAYS } from "./filter-types.js";

/** One filter (runtime/docs/requests.md). Casts the value to the column's type, so that PostgreSQL can use an index. */
export function where(condition: Condition, position: number, columns: ResultColumns): Sql<Selection> {
  const column = columnOf(condition, columns);
  const name = sql`s.${identifier(column.name)}`;
  const letterCase = "case" in condition ? condition.case : undefined;
  const text = textOf(name, column);
  const type = letterCase === undefined ? filterType(column.type) : null;
  switch (condition.operator) {
    case "=": {
      const value = bind(valueOf(position, type));
      return type === null
        ? sql`${folded(text, letterCase)} = ${folded(value, letterCase)}`
        : sql`${name} = ${typed(value, type, column)}`;
    }
    case "IN": {
      const values = bind(valueOf(position, type));
      return type === null
        ? sql`${folded(text, letterCase)} = ANY(${foldedList(values, letterCase)})`
        : sql`${name} = ANY(${typedList(values, type, column)})`;
    }
    case "ILIKE":
      return sql`${folded(text, letterCase)} ILIKE ${folded(bind(valueOf(position, null)), letterCase)}`;
    case ">=":
    case "<=":
      return comparesDay(condition.operator, text, column, position);
    case "null":
      return isNull(name, column, condition.value === "true");
    case "ne":
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return compares(condition.operator, type === null ? text : name, column, position);
  }
}

const COMPARISONS = { gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` } as const;

/** With the next integer instead: the smallest one has no integer below it to be compared with. */
const INTEGER_COMPARISONS = { ...COMPARISONS, gt: COMPARISONS.gte, lt: COMPARISONS.lte } as const;

/** A comparison in the column's type. What responses show as null, such as NaN, matches none. */
function compares(
  operator: Comparison,
  value: Sql<Selection>,
  column: ResultColumn,
  position: number,
): Sql<Selection> {
  const type = filterType(column.type);
  const given = bind(boundOf(operator, position, type));
  const bound = type === null ? given : typed(given, type, column);
  const hasValue = isNull(value, column, false);
  if (operator === "ne") return sql`${value} IS DISTINCT FROM ${bound} AND ${hasValue}`;
  const sign = type === INTEGER ? INTEGER_COMPARISONS[operator] : COMPARISONS[operator];
  const comparison = sql`${value} ${sign} ${bound}`;
  return hasInfinity(column) ? sql`${comparison} AND ${hasValue}` : comparison;
}

/** Types with infinities, which are above and below every other value; NaN is above infinity. Responses show them as null. */
function hasInfinity({ type }: ResultColumn): boolean {
  return /^(numeric|float[48]|date|timestamp(tz)?)$/.test(type);
}

function isNull(value: Sql<Selection>, column: ResultColumn, isWanted: boolean): Sql<Selection> {
  if (!hasInfinity(column)) return isWanted ? sql`${value} IS NULL` : sql`${value} IS NOT NULL`;
  const isFinite = sql`(${value} > '-Infinity' AND ${value} < 'Infinity')`;
  return isWanted ? sql`${isFinite} IS NOT TRUE` : isFinite;
}

/** The value to compare with. Outside the type's range it is an infinity, or null where the type has none and no row can match. */
const boundOf =
  (operator: Comparison, position: number, type: FilterType | null) =>
  ({ conditions }: Selection): BindValue => {
    const { value, timezone } = conditions[position] ?? {};
    const text = String(value);
    if (type === null) return text;
    if (type === INTEGER && operator !== "ne") return type.bound(text, operator);
    return parsed(text, type, timezone) ?? type.bound(text, operator);
  };

/** The value as responses show it: a cast of `inet` would add the `/32` of a host. */
function textOf(name: Sql<Selection>, { type }: ResultColumn): Sql<Selection> {
  if (TEXT_TYPES.has(type)) return name;
  return type === "inet" ? sql`abbrev(${name})` : sql`${name}::text`;
}

/** A missing column is compared as text: PostgreSQL then reports that it does not exist. */
function columnOf({ column, timezone }: Condition, columns: ResultColumns): ResultColumn {
  const existing = columns.find(({ name }) => name === column) ?? { name: column, type: "text" };
  return timezone === undefined ? existing : { ...existing, timezone };
}

/** The value of a condition, parsed for its column's type; null matches nothing. */
const valueOf =
  (position: number, type: FilterType | null) =>
  ({ conditions }: Selection): BindValue => {
    const { value = "", timezone } = conditions[position] ?? {};
    const read = (text: string): string | null => (type === null ? text : parsed(text, type, timezone));
    return typeof value === "string" ? read(value) : value.map(read);
  };

/** In a zone of the column's own the last days may lie beyond PostgreSQL's range: responses show them as null. */
function parsed(text: string, type: FilterType, timezone: string | undefined): string | null {
  const value = type.parse(text) ?? null;
  return timezone !== undefined && value?.startsWith(LAST_DAYS) ? null : value;
}

const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "varchar", "bpchar", "citext"]);

/** PostgreSQL folds both sides: its case rules differ from JavaScript's (`Straße`, `ΣΑΣ`). */
function folded(value: Sql<Selection>, letterCase: LetterCase | undefined): Sql<Selection> {
  if (letterCase === undefined) return value;
  return letterCase === "lower" ? sql`lower(${value})` : sql`upper(${value})`;
}

function foldedList(values: Sql<Selection>, letterCase: LetterCase | undefined): Sql<Selection> {
  const list = sql`${values}::text[]`;
  return letterCase === undefined
    ? list
    : sql`ARRAY(SELECT ${folded(sql`v`, letterCase)} FROM unnest(${list}) AS v)`;
}

function typed(value: Sql<Selection>, { cast }: FilterType, column: ResultColumn): Sql<Selection> {
  return withoutZone(sql`${value}::${typeName(cast)}`, column);
}

function typedList(values: Sql<Selection>, { cast }: FilterType, column: ResultColumn): Sql<Selection> {
  const list = sql`${values}::${typeName(cast)}[]`;
  return column.type === "timestamp"
    ? sql`ARRAY(SELECT ${withoutZone(sql`v`, column)} FROM unnest(${list}) AS v)`
    : list;
}

/** Converts a time for a `timestamp` column; other columns take it unchanged. */
function withoutZone(time: Sql<Selection>, { type, timezone = "UTC" }: ResultColumn): Sql<Selection> {
  return type === "timestamp" ? sql`(${time} AT TIME ZONE ${literal(timezone)})` : time;
}

/** Days are in UTC, like the times that the API writes; the last one is included whole, also for columns with a time of day. */
function comparesDay(
  operator: ">=" | "<=",
  text: Sql<Selection>,
  column: ResultColumn,
  position: number,
): Sql<Selection> {
  const day = bind(valueOf(position, null));
  const name = sql`s.${identifier(column.name)}`;
  const isTime = column.type === "timestamp" || column.type === "timestamptz";
  const isFrom = operator === ">=";
  if (!isTime && column.type !== "date") return isFrom ? sql`${text} >= ${day}` : sql`${text} <= ${day}`;
  if (isFrom) return sql`${name} >= ${startOfDay(sql`${day}::date`, column)}`;
  return isTime ? sql`${name} < ${startOfDay(sql`${day}::date + 1`, column)}` : sql`${name} <= ${day}::date`;
}

/** In UTC, whatever the session's zone is. */
function startOfDay(day: Sql<Selection>, column: ResultColumn): Sql<Selection> {
  if (column.type === "timestamp" && column.timezone === undefined) return day;
  return withoutZone(sql`((${day})::timestamp AT TIME ZONE 'UTC')`, column);
}

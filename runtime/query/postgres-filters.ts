import type { Column, LetterCase } from "../model/endpoint.js";
import { filterType, type FilterType } from "./filter-values.js";
import { bind, identifier, literal, sql, typeName, type BindValue, type Sql } from "./sql.js";
import type { Condition, ResultColumn, ResultColumns, Selection } from "./warehouse.js";

/** One filter (runtime/README.md, Requests). Casts the value to the column's type, so that PostgreSQL can use an index. */
export function where(
  condition: Condition,
  position: number,
  columns: ResultColumns,
  declared: readonly Column[],
): Sql<Selection> {
  const column = columnOf(condition, columns, declared);
  const name = sql`s.${identifier(column.name)}`;
  const letterCase = "case" in condition ? condition.case : undefined;
  const text = TEXT_TYPES.has(column.type) ? name : sql`${name}::text`;
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
      return fromDay(text, column, bind(valueOf(position, null)));
    case "<=":
      return upToDay(text, column, bind(valueOf(position, null)));
  }
}

/** A missing column is compared as text: PostgreSQL then reports that it does not exist. */
function columnOf({ column }: Condition, columns: ResultColumns, declared: readonly Column[]): ResultColumn {
  const isNamed = ({ name }: { readonly name: string }): boolean => name === column;
  const existing = columns.find(isNamed) ?? { name: column, type: "text" };
  const { timezone } = declared.find(isNamed) ?? {};
  return timezone === undefined ? existing : { ...existing, timezone };
}

/** The value of a condition, parsed for its column's type; null matches nothing. */
const valueOf =
  (position: number, type: FilterType | null) =>
  ({ conditions }: Selection): BindValue => {
    const value = conditions[position]?.value ?? "";
    const read = (text: string): string | null => (type === null ? text : (type.parse(text) ?? null));
    return typeof value === "string" ? read(value) : value.map(read);
  };
const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "varchar", "bpchar", "citext"]);

/** PostgreSQL folds both sides: its case rules differ from JavaScript's (`Straße`, `ΣΑΣ`). */
function folded(value: Sql<Selection>, letterCase: LetterCase | undefined): Sql<Selection> {
  switch (letterCase) {
    case undefined:
      return value;
    case "lower":
      return sql`lower(${value})`;
    case "upper":
      return sql`upper(${value})`;
  }
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

function fromDay(text: Sql<Selection>, column: ResultColumn, day: Sql<Selection>): Sql<Selection> {
  const name = sql`s.${identifier(column.name)}`;
  switch (column.type) {
    case "date":
    case "timestamptz":
      return sql`${name} >= ${day}::date`;
    case "timestamp":
      return sql`${name} >= ${startOfDay(sql`${day}::date`, column)}`;
    default:
      return sql`${text} >= ${day}`;
  }
}

/** Includes the whole last day, also for columns with a time of day. */
function upToDay(text: Sql<Selection>, column: ResultColumn, day: Sql<Selection>): Sql<Selection> {
  const name = sql`s.${identifier(column.name)}`;
  switch (column.type) {
    case "date":
      return sql`${name} <= ${day}::date`;
    case "timestamptz":
      return sql`${name} < ${day}::date + 1`;
    case "timestamp":
      return sql`${name} < ${startOfDay(sql`${day}::date + 1`, column)}`;
    default:
      return sql`${text} <= ${day}`;
  }
}

/** Days are in UTC, like the times that the API writes. */
function startOfDay(day: Sql<Selection>, column: ResultColumn): Sql<Selection> {
  return column.timezone === undefined
    ? day
    : withoutZone(sql`((${day})::timestamp AT TIME ZONE 'UTC')`, column);
}

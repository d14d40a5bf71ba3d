import type { Comparison, LetterCase, Relation, SortKey } from "../../model/endpoint.js";
import type { Condition, RowFormat, Selection } from "../../model/query.js";
import {
  constant,
  DIRECTIONS,
  EMPTY,
  escapedIdentifier,
  join,
  plan,
  sql,
  type Sql,
  statement,
  type Statement,
} from "../sql.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";
import { tableValue } from "./table-values.js";
import { keysetConditions } from "./clickhouse-keyset.js";
import { escaped, parameter } from "./clickhouse-parameters.js";
import {
  DATES,
  epochSeconds,
  filterType,
  nextDaySeconds,
  parseType,
  timeRange,
  timeText,
  type FilterType,
} from "./clickhouse-values.js";

export const PING: Statement = finished(sql`SELECT 1`);

/** Does not wait for the query's end. */
export function killQuery(id: string): Statement {
  return finished(sql`KILL QUERY WHERE query_id = ${parameter(id, "String")} ASYNC`);
}

/** Selects at most `maxRows` of the selected rows. `served`: the columns of a row. */
export function selectRows(
  relation: Relation,
  columns: ResultColumns,
  served: ResultColumns,
  selection: Selection,
  format: RowFormat,
  maxRows: number,
): Sql {
  const { page } = selection;
  const output = served.map((column) => sql`${write(column, format)} AS ${escapedIdentifier(column.name)}`);
  const limit = maxRows === Infinity ? EMPTY : sql` LIMIT ${constant(maxRows)}`;
  const offset = page === null || page.offset === 0 ? EMPTY : sql` OFFSET ${constant(page.offset)}`;
  const rows = filtered(relation, columns, selection);
  return sql`SELECT ${join(output, ", ")} FROM ${rows}${sortOrder(selection, columns)}${limit}${offset}`;
}

export function sortOrder({ sort }: Selection, columns: ResultColumns): Sql {
  if (sort.length === 0) return EMPTY;
  const keys = sort.map((key) => orderBy(key, columns));
  return sql` ORDER BY ${join(keys, ", ")}`;
}

/** Selects the number of rows and the bounds of columns, which are null without rows. */
export function selectAggregate(
  relation: Relation,
  columns: ResultColumns,
  bounded: ResultColumns,
  { conditions }: Selection,
): Sql {
  const bounds = bounded.flatMap(({ name }, i) => [
    sql`minOrNull(${columnOf(name)}) AS ${escapedIdentifier(`min${String(i)}`)}`,
    sql`maxOrNull(${columnOf(name)}) AS ${escapedIdentifier(`max${String(i)}`)}`,
  ]);
  const output = join([sql`toString(count()) AS count`, ...bounds], ", ");
  return sql`SELECT ${output} FROM ${filtered(relation, columns, { conditions, sort: [] })}`;
}

export function filtered(
  relation: Relation,
  columns: ResultColumns,
  { conditions, sort, keyset }: Pick<Selection, "conditions" | "sort" | "keyset">,
): Sql {
  const wheres = [
    ...conditions.map((condition) => where(condition, columns)),
    ...(keyset === undefined ? [] : keysetConditions(keyset, sort, columns)),
  ];
  const filter = wheres.length > 0 ? sql` WHERE ${join(wheres, " AND ")}` : EMPTY;
  return sql`${escapedIdentifier(...relation)} AS s${filter}`;
}

/** The statement that runs a selection and prints its rows. */
export function printed(select: Sql, format: RowFormat): Statement {
  return finished(sql`${select} FORMAT ${FORMATS[format]}`);
}

const FORMATS: Readonly<Record<RowFormat, Sql>> = {
  json: sql`JSONEachRow`,
  "json-strings": sql`JSONEachRow`,
  ndjson: sql`JSONEachRow`,
  csv: sql`CSV`,
  spreadsheet: sql`CSV`,
  parquet: sql`Parquet`,
  arrow: sql`Arrow`,
  "arrow-stream": sql`ArrowStream`,
};

export function finished(body: Sql): Statement {
  return statement(
    plan(body, (position) => `p${String(position)}`),
    undefined,
  );
}

function columnOf(name: string): Sql {
  return sql`s.${escapedIdentifier(name)}`;
}

/** A value in the API's format (runtime/README.md, Responses). The settings of the connection do the rest. */
function write(column: ResultColumn, format: RowFormat): Sql {
  switch (format) {
    case "json":
    case "ndjson":
      return writeJson(column);
    case "json-strings":
      return isString(column) ? writeDigits(column) : writeJson(column);
    case "csv":
      return writeCsv(column);
    case "spreadsheet":
      return isText(column)
        ? sql`replaceRegexpOne(toString(${columnOf(column.name)}), '^([=+@\\\\t\\\\r-])', '\\'\\\\1')`
        : writeCsv(column);
    default:
      return tableValue(columnOf(column.name), column.type);
  }
}

/** `toString` removes the zero bytes at the end of a `FixedString`. */
function writeJson({ name, type }: ResultColumn): Sql {
  return parseType(type).name === "FixedString" ? sql`toString(${columnOf(name)})` : columnOf(name);
}

const NUMBERS = /^(U?Int\d+|Decimal)$/;
const WIDE = /^(U?Int(64|128|256)|Decimal)$/;

function isString({ type, wide }: ResultColumn): boolean {
  const { name } = parseType(type);
  return wide === undefined ? WIDE.test(name) : wide && NUMBERS.test(name);
}

/** `toString` drops the zeros at the end of a decimal. */
function writeDigits({ name, type }: ResultColumn): Sql {
  const { name: base, arguments: sizes } = parseType(type);
  return base === "Decimal"
    ? sql`toDecimalString(${columnOf(name)}, ${constant(Number(sizes[1]))})`
    : sql`toString(${columnOf(name)})`;
}

const TEXTS = /^(String|FixedString|Enum\d+)$/;

function isText({ type }: ResultColumn): boolean {
  return TEXTS.test(parseType(type).name);
}

/** Types whose text in CSV is the one in JSON. */
const SCALARS =
  /^(U?Int\d+|Decimal|Bool|UUID|Date|Date32|DateTime|DateTime64|Time|Time64|IPv4|IPv6|Interval\w+|String|Enum\d+)$/;

/** Lists and objects are their JSON. */
function writeCsv(column: ResultColumn): Sql {
  const value = columnOf(column.name);
  const { name } = parseType(column.type);
  if (SCALARS.test(name)) return value;
  if (name === "FixedString") return sql`toString(${value})`;
  if (/Float/.test(name)) return sql`if(isFinite(${value}), ${value}, NULL)`;
  return sql`if(isNull(${value}), NULL, toJSONString(${value}))`;
}

/** Nulls are last ascending and first descending; ClickHouse sorts NaN with them. */
function orderBy([column, direction]: SortKey, columns: ResultColumns): Sql {
  const { name, isNullable } = parseType(columns.find((each) => each.name === column)?.type ?? "String");
  const nulls = direction === "DESC" && (isNullable || /Float/.test(name)) ? sql` NULLS FIRST` : EMPTY;
  return sql`${columnOf(column)} ${DIRECTIONS[direction]}${nulls}`;
}

const NO_ROW = sql`0`;

/** One filter (runtime/README.md, Requests). The value has the column's type, so that the primary key serves it. */
function where(condition: Condition, columns: ResultColumns): Sql {
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
      return fromDay(column, type, values[0] ?? "");
    case "<=":
      return upToDay(column, type, values[0] ?? "");
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
  const floor = filter.floor?.(text) ?? null;
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

/** The column as text; `FixedString` without the zero bytes at its end. */
function textOf(column: string, type: string): Sql {
  return parseType(type).name === "String" ? columnOf(column) : sql`toString(${columnOf(column)})`;
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

/** ClickHouse refuses a parameter of more than 128 KiB. */
const MAX_PARAMETER_LENGTH = 30_000;

/** Parameters whose texts stand in quotes inside of an array. */
const QUOTED = /^(UUID|Date.*)$/;

function isAnyOf(column: Sql, type: FilterType | null, values: readonly string[]): Sql {
  const read = values.map((text) => (type === null ? text : (type.parse(text) ?? null)));
  const known = read.filter((text) => text !== null);
  const cast = type?.cast ?? "String";
  const [first] = known;
  if (first === undefined) return NO_ROW;
  if (values.length === 1) return sql`${column} = ${parameter(first, cast)}`;
  return sql`(${join(
    lists(known).map((list) => sql`${column} IN ${array(list, cast)}`),
    " OR ",
  )})`;
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
  const folded = lists(values).map(
    (list) => sql`has(arrayMap(v -> ${fold}(v), ${array(list, "String")}), ${fold}(${text}))`,
  );
  return sql`(${join(folded, " OR ")})`;
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

/** Days before the first of the type become its first day: ClickHouse would wrap them around. */
function fromDay(column: string, type: string, day: string): Sql {
  const { name, arguments: sizes } = parseType(type);
  switch (name) {
    case "Date":
    case "Date32": {
      const [first, last] = DATES[name];
      if (day > last) return NO_ROW;
      return sql`${columnOf(column)} >= ${parameter(day < first ? first : day, name)}`;
    }
    case "DateTime":
    case "DateTime64": {
      const { cast, scale, min, max } = timeRange(name, Number(sizes[0]));
      const from = epochSeconds(day) * 10n ** BigInt(scale);
      if (from > max) return NO_ROW;
      return sql`${columnOf(column)} >= ${parameter(timeText(from < min ? min : from, scale), cast)}`;
    }
    default:
      return sql`${textOf(column, type)} >= ${parameter(day, "String")}`;
  }
}

/** Includes the whole last day, also for columns with a time of day. */
function upToDay(column: string, type: string, day: string): Sql {
  const { name, arguments: sizes } = parseType(type);
  switch (name) {
    case "Date":
    case "Date32": {
      const [first, last] = DATES[name];
      if (day < first) return NO_ROW;
      return sql`${columnOf(column)} <= ${parameter(day > last ? last : day, name)}`;
    }
    case "DateTime":
    case "DateTime64": {
      const { cast, scale, min, max } = timeRange(name, Number(sizes[0]));
      const last = nextDaySeconds(day) * 10n ** BigInt(scale) - 1n;
      if (last < min) return NO_ROW;
      return sql`${columnOf(column)} <= ${parameter(timeText(last > max ? max : last, scale), cast)}`;
    }
    default:
      return sql`${textOf(column, type)} <= ${parameter(day, "String")}`;
  }
}

import type { Relation, SortKey } from "../../model/endpoint.js";
import type { RowFormat, Selection } from "../../model/query.js";
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
import { columnOf, where } from "./clickhouse-filters.js";
import { keysetConditions } from "./clickhouse-keyset.js";
import { parameter } from "./clickhouse-parameters.js";
import { parseType } from "./clickhouse-values.js";
import { tableValue } from "./table-values.js";

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

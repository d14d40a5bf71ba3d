import { FORMULA_PATTERN, type RowFormat } from "../core/model/query.js";
import { constant, escapedLiteral, sql, type Sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { parseType } from "./filter-types.js";
import { valueText } from "./filters.js";

const FORMULA = escapedLiteral(FORMULA_PATTERN);

/** A value in the API's format (runtime/docs/responses.md). The settings of the query do the rest. */
export function write(column: ResultColumn, value: Sql, format: RowFormat): Sql {
  const { type, wide, numbers } = column;
  switch (format) {
    case "json":
    case "ndjson":
      return writeJson(type, value);
    case "json-declared":
      return write(column, value, numbers === "string" ? "json-strings" : "json");
    case "json-strings":
      return isString(type, wide) ? valueText(value, type) : writeJson(type, value);
    case "csv":
      return writeCsv(type, value);
    case "spreadsheet":
      return TEXTS.test(parseType(type).name)
        ? sql`replaceRegexpOne(${writeCsv(type, value)}, ${FORMULA}, '\\'\\\\0')`
        : writeCsv(type, value);
    default:
      return tableValue(value, type);
  }
}

/** `toString` removes the zero bytes at the end of a `FixedString`. */
export function writeJson(type: string, value: Sql): Sql {
  const { name } = parseType(type);
  return name === "FixedString" ? sql`toString(${value})` : writeTime(type, value);
}

/**
 * A time without the zeros at the end of its fraction, as PostgreSQL has it; no setting does this for RFC 3339. It takes 60 ns,
 * twice what the time takes as it is.
 */
function writeTime(type: string, value: Sql): Sql {
  const { name, arguments: sizes } = parseType(type);
  if (name !== "DateTime64" || sizes[0] === "0") return value;
  const text = sql`replaceOne(toString(toTimeZone(${value}, 'UTC')), ' ', 'T')`;
  return sql`replaceRegexpOne(concat(${text}, 'Z'), '[.]?0*Z$', 'Z')`;
}

const NUMBERS = /^(U?Int\d+|Decimal)$/;
const WIDE = /^(U?Int(64|128|256)|Decimal)$/;

function isString(type: string, wide: boolean | undefined): boolean {
  const { name } = parseType(type);
  return wide === undefined ? WIDE.test(name) : wide && NUMBERS.test(name);
}

const TEXTS = /^(String|FixedString|Enum\d+)$/;

/** Types whose text in CSV is the one in JSON. */
const SCALARS =
  /^(U?Int\d+|Decimal|Bool|UUID|Date|Date32|DateTime|DateTime64|Time|Time64|IPv4|IPv6|Interval\w+)$/;

/** Lists and objects are their JSON. */
function writeCsv(type: string, value: Sql): Sql {
  const { name } = parseType(type);
  if (SCALARS.test(name)) return writeTime(type, value);
  if (TEXTS.test(name)) return validText(sql`toString(${value})`);
  if (/Float/.test(name)) return sql`if(isFinite(${value}), ${value}, NULL)`;
  return jsonText(value);
}

/** Integers and decimals of more than 64 and 128 bits: not every reader has them. */
const WIDE_INTEGER = /^U?Int(128|256)$/;
const MAX_PRECISION = 38;

/** Types that Parquet and Arrow have, and ClickHouse writes so that each reader knows them. */
const NATIVE = /^(U?Int(8|16|32|64)|Bool)$/;

/** Scalars whose text is a value of its own. */
const TEXT = /^(FixedString|Enum\d+|UUID|IPv4|IPv6|Time|Time64)$/;

/** A value of a binary table (runtime/docs/responses.md, Parquet and Arrow). Its type follows from the column's alone. */
function tableValue(value: Sql, type: string): Sql {
  const { name, arguments: sizes } = parseType(type);
  if (NATIVE.test(name)) return value;
  if (WIDE_INTEGER.test(name)) return sql`toString(${value})`;
  if (name === "String") return validText(value);
  if (TEXT.test(name)) return validText(sql`toString(${value})`);
  switch (name) {
    case "Float32":
    case "Float64":
      return sql`if(isFinite(${value}), ${value}, NULL)`;
    case "BFloat16":
      return sql`if(isFinite(${value}), toFloat32(${value}), NULL)`;
    case "Decimal":
      return Number(sizes[0]) > MAX_PRECISION ? valueText(value, type) : value;
    case "Nothing":
      return sql`CAST(${value}, 'Nullable(String)')`;
    case "Date":
    case "Date32":
      return sql`toDate32(${value})`;
    case "DateTime":
      return sql`toDateTime64(${value}, 3, 'UTC')`;
    case "DateTime64":
      return time(value, Number(sizes[0]));
    default:
      return name.startsWith("Interval") ? sql`toInt64(${value})` : jsonText(value);
  }
}

/**
 * The text with U+FFFD for bytes that are not UTF-8, as JSON has it. `toValidUTF8` drops what follows an incomplete character
 * at the end of a text: the spaces are there to be dropped.
 */
function validText(text: Sql): Sql {
  return sql`left(toValidUTF8(concat(${text}, '   ')), -3)`;
}

/** A list or an object as its JSON. What JSON has as null, such as NaN in a `Dynamic`, is null. */
function jsonText(value: Sql): Sql {
  return sql`nullIf(${validText(sql`toJSONString(${value})`)}, 'null')`;
}

/** In milliseconds, microseconds or nanoseconds, the units of both formats; 64 bits of nanoseconds end in 2262. */
function time(value: Sql, digits: number): Sql {
  const scale = constant(Math.max(3, 3 * Math.ceil(digits / 3)));
  const inUtc = sql`toDateTime64(${value}, ${scale}, 'UTC')`;
  return digits === 7 || digits === 8
    ? sql`if(${value} < toDateTime64('2262-04-11 00:00:00', ${constant(digits)}, 'UTC'), ${inUtc}, NULL)`
    : inUtc;
}

import { constant, sql, type Sql } from "../sql.js";
import { parseType } from "./filter-types.js";

/** Integers and decimals of more than 64 and 128 bits: not every reader has them. */
const WIDE_INTEGER = /^U?Int(128|256)$/;
const MAX_PRECISION = 38;

/** Types that Parquet and Arrow have, and ClickHouse writes so that each reader knows them. */
const NATIVE = /^(U?Int(8|16|32|64)|Bool)$/;

/** Scalars whose text is a value of its own. */
const TEXT = /^(FixedString|Enum\d+|UUID|IPv4|IPv6|Time|Time64)$/;

/** A value of a binary table (runtime/docs/responses.md, Parquet and Arrow). Its type follows from the column's alone. */
export function tableValue(value: Sql, type: string): Sql {
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
      return decimal(value, Number(sizes[0]), Number(sizes[1]));
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
export function validText(text: Sql): Sql {
  return sql`left(toValidUTF8(concat(${text}, '   ')), -3)`;
}

/** A list or an object as its JSON. What JSON has as null, such as NaN in a `Dynamic`, is null. */
export function jsonText(value: Sql): Sql {
  return sql`nullIf(${validText(sql`toJSONString(${value})`)}, 'null')`;
}

function decimal(value: Sql, precision: number, scale: number): Sql {
  return precision > MAX_PRECISION ? sql`toDecimalString(${value}, ${constant(scale)})` : value;
}

/** In milliseconds, microseconds or nanoseconds, the units of both formats; 64 bits of nanoseconds end in 2262. */
function time(value: Sql, digits: number): Sql {
  const scale = constant(Math.max(3, 3 * Math.ceil(digits / 3)));
  const inUtc = sql`toDateTime64(${value}, ${scale}, 'UTC')`;
  return digits === 7 || digits === 8
    ? sql`if(${value} < toDateTime64('2262-04-11 00:00:00', ${constant(digits)}, 'UTC'), ${inUtc}, NULL)`
    : inUtc;
}

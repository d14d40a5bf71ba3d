import type { Direction, SortKey } from "../core/model/endpoint.js";
import type { KeyValues, Keyset } from "../core/model/query.js";
import {
  constant,
  EMPTY,
  escapedIdentifier,
  escapedLiteral,
  join,
  sql,
  type Sql,
} from "../core/warehouse/sql.js";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import { comparedValue } from "./filters.js";
import { parameter } from "./parameters.js";
import { type ClickhouseType, parseType, timeRange } from "./filter-types.js";

/** A sort key with the type of its column. */
interface ClickhouseKey {
  readonly name: Sql;
  readonly type: ClickhouseType;
  readonly direction: Direction;
}

function keysOf(sort: readonly SortKey[], columns: ResultColumns): readonly ClickhouseKey[] {
  return sort.map(([column, direction]) => ({
    name: escapedIdentifier(column),
    type: parseType(columns.find(({ name }) => name === column)?.type ?? "String"),
    direction,
  }));
}

/** The sort key of a row, the list of a text per key, from the values of the sort columns. */
export function keyOf(sort: readonly SortKey[], columns: ResultColumns, values: readonly Sql[]): Sql {
  const texts = keysOf(sort, columns).map((key, i) => keyText({ ...key, name: values[i] ?? key.name }));
  return sql`[${join(texts, ", ")}]`;
}

/** Whether rows are on a page by their keys. */
export const comparesKeys = (keyset: Keyset | undefined): boolean =>
  keyset !== undefined && (keyset.after !== null || keyset.upTo !== undefined);

/** The conditions of a page: its rows are after one key, and up to another. */
export function keysetConditions(
  { after, upTo }: Keyset,
  sort: readonly SortKey[],
  columns: ResultColumns,
): readonly Sql[] {
  const keys = keysOf(sort, columns);
  return [
    ...(after === null ? [] : [sql`(${behind(keys, after)})`]),
    ...(upTo === undefined ? [] : [sql`(${notBehind(keys, upTo)})`]),
  ];
}

const [NONE, ALL] = [sql`0`, sql`1`];

function behind([key, ...keys]: readonly ClickhouseKey[], [value = null, ...values]: KeyValues): Sql {
  if (key === undefined) return NONE;
  return sql`${isBehind(key, value)} OR (${isEqual(key, value)} AND (${behind(keys, values)}))`;
}

function notBehind([key, ...keys]: readonly ClickhouseKey[], [value = null, ...values]: KeyValues): Sql {
  if (key === undefined) return ALL;
  const reverse = { ...key, direction: key.direction === "ASC" ? "DESC" : "ASC" } as const;
  return sql`${isBehind(reverse, value)} OR (${isEqual(key, value)} AND (${notBehind(keys, values)}))`;
}

const NAN = "nan";
const isFloat = ({ name }: ClickhouseType): boolean => /Float/.test(name);

/** The order is that of the sort: numbers, NaN, null, or the reverse. */
function isBehind({ name, type, direction }: ClickhouseKey, value: string | null): Sql {
  const isNull = type.isNullable ? sql` OR isNull(${name})` : EMPTY;
  if (direction === "DESC") {
    if (value === null) return sql`isNotNull(${name})`;
    return value === NAN && isFloat(type)
      ? sql`NOT isNaN(${name})`
      : sql`${sortValue(name, type)} < ${given(value, type)}`;
  }
  if (value === null) return NONE;
  if (!isFloat(type)) return sql`(${sortValue(name, type)} > ${given(value, type)}${isNull})`;
  return value === NAN
    ? sql`(0${isNull})`
    : sql`(${name} > ${given(value, type)} OR isNaN(${name})${isNull})`;
}

function isEqual({ name, type }: ClickhouseKey, value: string | null): Sql {
  if (value === null) return sql`isNull(${name})`;
  return value === NAN && isFloat(type)
    ? sql`isNaN(${name})`
    : sql`${sortValue(name, type)} = ${given(value, type)}`;
}

/** Enums sort by their numbers. */
function sortValue(name: Sql, type: ClickhouseType): Sql {
  if (!type.name.startsWith("Enum")) return comparedValue(name, type);
  return sql`CAST(${name}, ${escapedLiteral(type.isNullable ? "Nullable(Int16)" : "Int16")})`;
}

/** The type of the numbers by which a type sorts; null where it sorts by its values. */
function numberType({ name, arguments: [scale] }: ClickhouseType): string | null {
  if (name.startsWith("Enum")) return "Int16";
  return name === "Time64" ? `Decimal(18, ${String(scale)})` : null;
}

/** Exact: the bytes of a text in hexadecimal digits, the bits of a float, a time in UTC. */
function keyText({ name, type }: ClickhouseKey): Sql {
  switch (type.name) {
    case "String":
    case "FixedString":
      return sql`hex(${name})`;
    case "DateTime":
    case "DateTime64":
      return sql`toString(toTimeZone(${name}, 'UTC'))`;
  }
  if (!isFloat(type)) return sql`toString(${sortValue(name, type)})`;
  const bits = sql`toString(reinterpretAsUInt64(toFloat64(assumeNotNull(${name}))))`;
  return sql`multiIf(isNull(${name}), NULL, isNaN(${name}), 'nan', ${bits})`;
}

/** The value of a key's text. */
function given(text: string, type: ClickhouseType): Sql {
  const { name, arguments: sizes } = type;
  switch (name) {
    case "String":
      return sql`unhex(${parameter(text, "String")})`;
    case "FixedString":
      return sql`toFixedString(unhex(${parameter(text, "String")}), ${constant(Number(sizes[0]))})`;
    case "DateTime":
    case "DateTime64":
      return parameter(text, timeRange(name, Number(sizes[0])).cast);
  }
  if (isFloat(type)) return sql`reinterpretAsFloat64(${parameter(text, "UInt64")})`;
  return parameter(text, numberType(type) ?? (sizes.length > 0 ? `${name}(${sizes.join(", ")})` : name));
}

import { isIP } from "node:net";
import type { Comparison, LetterCase } from "../../model/endpoint.js";
import { bind, identifier, literal, sql, typeName, type BindValue, type Sql } from "../sql.js";
import { type Condition, isTyped, type Selection } from "../../model/query.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";
import { isDayOf } from "../../model/calendar-date.js";
import { httpError, type HttpError } from "../../model/errors.js";

/** One filter (runtime/README.md, Requests). Casts the value to the column's type, so that PostgreSQL can use an index. */
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
      return fromDay(text, column, bind(valueOf(position, null)));
    case "<=":
      return upToDay(text, column, bind(valueOf(position, null)));
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
    const text = String(conditions[position]?.value);
    if (type === null) return text;
    if (type === INTEGER && operator !== "ne") return integerBound(text, operator);
    return type.parse(text) ?? type.beyond?.(text) ?? null;
  };

/** Null where no row can match. */
function integerBound(text: string, operator: Comparison): string | null {
  const integer = BigInt(text.replace("+", "")) + (operator === "gt" ? 1n : operator === "lt" ? -1n : 0n);
  const isLower = operator === "gt" || operator === "gte";
  if (integer > MAX_BIGINT) return isLower ? null : String(MAX_BIGINT);
  if (integer < -MAX_BIGINT - 1n) return isLower ? String(-MAX_BIGINT - 1n) : null;
  return String(integer);
}

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

/** How a filter compares, by the type of its column (runtime/README.md, Requests). */
interface FilterType {
  /** Type that a value is cast to, so that PostgreSQL can use an index on the column. */
  readonly cast: string;
  /** The error for a value that is not of the type. */
  readonly error: "notDate" | `valueNot${"Integer" | "Number" | "Boolean" | "Uuid" | "DateTime" | "Address"}`;
  /**
   * The value in PostgreSQL's syntax. Undefined: not a value of the type. Null: outside the type's range, so no row can
   * match.
   */
  readonly parse: (text: string) => string | null | undefined;
  /** What a value outside the range is compared as. */
  readonly beyond?: (text: string) => string;
}

const INTEGER: FilterType = { cast: "bigint", error: "valueNotInteger", parse: parseInteger };
const DATE_TIME: FilterType = {
  cast: "timestamptz",
  error: "valueNotDateTime",
  parse: parseDateTime,
  beyond: infinity,
};

/** By PostgreSQL's type name. Other types compare as text. */
const FILTER_TYPES: Readonly<Record<string, FilterType>> = {
  int2: INTEGER,
  int4: INTEGER,
  int8: INTEGER,
  numeric: {
    cast: "numeric",
    error: "valueNotNumber",
    parse: parseNumeric,
    beyond: beyondNumbers("1e-1000"),
  },
  float4: {
    cast: "real",
    error: "valueNotNumber",
    parse: (text) => parseFloat(text, Math.fround),
    beyond: beyondNumbers("1e-45"),
  },
  float8: {
    cast: "double precision",
    error: "valueNotNumber",
    parse: (text) => parseFloat(text, Number),
    beyond: beyondNumbers("5e-324"),
  },
  bool: { cast: "boolean", error: "valueNotBoolean", parse: parseBoolean },
  uuid: { cast: "uuid", error: "valueNotUuid", parse: parseUuid },
  date: { cast: "date", error: "notDate", parse: parseDate, beyond: infinity },
  timestamp: DATE_TIME,
  timestamptz: DATE_TIME,
  inet: { cast: "inet", error: "valueNotAddress", parse: parseAddress },
};

/** Null where values compare as text. */
function filterType(type: string): FilterType | null {
  return (Object.hasOwn(FILTER_TYPES, type) ? FILTER_TYPES[type] : null) ?? null;
}

/** The first value that is not of its column's type, as an error. */
export function checkConditions(conditions: readonly Condition[], columns: ResultColumns): HttpError | null {
  for (const { name, column, operator, value } of conditions) {
    if (!isTyped(operator)) continue;
    const type = filterType(columns.find((each) => each.name === column)?.type ?? "text");
    if (type === null) continue;
    const values = typeof value === "string" ? [value] : value;
    if (values.some((text) => type.parse(text) === undefined)) return httpError(type.error, { name });
  }
  return null;
}

/** A value outside the range of its type is above all others, or with a sign below them. */
function infinity(text: string): string {
  return text.startsWith("-") ? "-Infinity" : "Infinity";
}

/** A number too close to zero compares as the smallest of its type. */
function beyondNumbers(smallest: string) {
  return (text: string): string =>
    Math.abs(Number(text)) > 1 ? infinity(text) : text.startsWith("-") ? `-${smallest}` : smallest;
}

const MAX_BIGINT = 2n ** 63n - 1n;

function parseInteger(text: string): string | null | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const integer = BigInt(text.replace("+", ""));
  return integer > MAX_BIGINT || integer < -MAX_BIGINT - 1n ? null : String(integer);
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?$/i;

/** Numbers with larger exponents are outside the range of `numeric`. */
const MAX_EXPONENT = 1000;

function parseNumeric(text: string): string | null | undefined {
  const [, digits, exponent = "0"] = NUMBER.exec(text) ?? [];
  if (digits === undefined || !/[1-9]/.test(digits)) return digits && "0";
  return Math.abs(Number(exponent)) > MAX_EXPONENT ? null : text;
}

/** PostgreSQL rejects a number that rounds to infinity or to zero. */
function parseFloat(text: string, round: (number: number) => number): string | null | undefined {
  const number = parseNumeric(text);
  const rounded = round(Number(number ?? 0));
  return number === "0" || (Number.isFinite(rounded) && rounded !== 0) ? number : number && null;
}

function parseBoolean(text: string): string | undefined {
  return /^(true|false|t|f|yes|no|on|off|1|0)$/i.test(text) ? text : undefined;
}

function parseUuid(text: string): string | undefined {
  return /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(text) ? text : undefined;
}

/** A date of the four-digit years, or of an expanded year as the API prints it (`-000043-03-15` is in 44 BC). */
const DATE = /^(\d{4}|[+-]\d{6,7})-(\d{2})-(\d{2})$/;

/** Range of PostgreSQL's `date` and `timestamp`; the first year is 4713 BC. */
const MAX_YEAR = { date: 5_874_897, timestamp: 294_276 };
const MIN_YEAR = -4712;

function parseDate(text: string): string | null | undefined {
  return dateText(text, MAX_YEAR.date, "");
}

const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-](0\d|1[0-4]):[0-5]\d)?$/i;

/** RFC 3339; without an offset it is in UTC. */
function parseDateTime(text: string): string | null | undefined {
  const [date = "", time = ""] = text.split(/[Tt ]/);
  if (!TIME.test(time)) return undefined;
  const isPastRange = date === LAST_DAY && secondsOf(time) >= DAY_SECONDS;
  return isPastRange ? null : dateText(date, MAX_YEAR.timestamp, ` ${time}`);
}

/** The last day of PostgreSQL's `timestamp`. */
const LAST_DAY = "+294276-12-31";
const DAY_SECONDS = 86_400;

/** Seconds from the start of the day in UTC, rounded to microseconds as PostgreSQL does. */
function secondsOf(time: string): number {
  const [, hours, minutes, seconds, sign, zoneHours = "0", zoneMinutes = "0"] =
    /^(\d+):(\d+):([\d.]+)(?:([+-])(\d+):(\d+))?/.exec(time) ?? [];
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? 60 : -60);
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(Number(seconds).toFixed(6)) + offset;
}

function parseAddress(text: string): string | undefined {
  const [, address = "", bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family === 0 || Number(bits ?? 0) > (family === 4 ? 32 : 128) ? undefined : text;
}

function dateText(text: string, maxYear: number, time: string): string | null | undefined {
  const [whole, year = "", month = "", day = ""] = DATE.exec(text) ?? [];
  if (whole === undefined || year === "-000000" || !isDayOf(Number(year), Number(month), Number(day)))
    return undefined;
  const number = Number(year);
  if (number < MIN_YEAR || number > maxYear) return null;
  const written = String(number > 0 ? number : 1 - number).padStart(4, "0");
  return `${written}-${month}-${day}${time}${number > 0 ? "" : " BC"}`;
}

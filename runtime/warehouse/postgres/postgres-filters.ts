import { isIP } from "node:net";
import type { Column, LetterCase } from "../../model/endpoint.js";
import { bind, identifier, literal, sql, typeName, type BindValue, type Sql } from "../sql.js";
import type { Condition, Selection } from "../../model/query.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";
import { isDayOf } from "../../model/calendar-date.js";
import { httpError, type HttpError } from "../../model/errors.js";

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
  }
}

/** The value as responses show it: a cast of `inet` would add the `/32` of a host. */
function textOf(name: Sql<Selection>, { type }: ResultColumn): Sql<Selection> {
  if (TEXT_TYPES.has(type)) return name;
  return type === "inet" ? sql`abbrev(${name})` : sql`${name}::text`;
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
}

const INTEGER: FilterType = { cast: "bigint", error: "valueNotInteger", parse: parseInteger };
const DATE_TIME: FilterType = { cast: "timestamptz", error: "valueNotDateTime", parse: parseDateTime };

/** By PostgreSQL's type name. Other types compare as text. */
const FILTER_TYPES: Readonly<Record<string, FilterType>> = {
  int2: INTEGER,
  int4: INTEGER,
  int8: INTEGER,
  numeric: { cast: "numeric", error: "valueNotNumber", parse: parseNumeric },
  float4: { cast: "real", error: "valueNotNumber", parse: (text) => parseFloat(text, Math.fround) },
  float8: { cast: "double precision", error: "valueNotNumber", parse: (text) => parseFloat(text, Number) },
  bool: { cast: "boolean", error: "valueNotBoolean", parse: parseBoolean },
  uuid: { cast: "uuid", error: "valueNotUuid", parse: parseUuid },
  date: { cast: "date", error: "notDate", parse: parseDate },
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
    if (operator !== "=" && operator !== "IN") continue;
    const type = filterType(columns.find((each) => each.name === column)?.type ?? "text");
    if (type === null) continue;
    const values = typeof value === "string" ? [value] : value;
    if (values.some((text) => type.parse(text) === undefined)) return httpError(type.error, { name });
  }
  return null;
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

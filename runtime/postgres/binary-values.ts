/**
 * Values that PostgreSQL sends in its binary form, since their text depends on settings of the session: scalars, and arrays,
 * composites, ranges and multiranges with one in them. Other parts of a composite come as JSON that PostgreSQL makes.
 */
import { identifier, join, literal, sql, type Sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { infix } from "./qualified-names.js";
import { checkType, type Scalar, scalarJson, scalarOf } from "./scalars.js";

/** How a value is selected, and how its field is read. */
export interface BinaryValue {
  /** PostgreSQL's number of the type that is sent. */
  readonly oid: number;
  /** `depth`: of the subqueries around it, whose names must differ. */
  readonly select: (value: Sql, depth: number) => Sql;
  readonly json: (field: Buffer) => string;
  /** A text that PostgreSQL reads as the value; null where it is not known. */
  readonly text: ((field: Buffer) => string) | null;
}

type PostgresType = Omit<ResultColumn, "name">;

/** Null where nothing in a value of the type depends on settings. */
export function binaryValue(column: PostgresType): BinaryValue | null {
  const { type, fields, range } = column;
  if (type.startsWith("_")) return arrayOf({ ...column, type: type.slice(1) });
  if (fields) return composite(fields);
  if (range) return range.isMulti ? multirange(range.bound) : rangeOf(range.bound);
  return scalar(column);
}

/** PostgreSQL's numbers of types. */
const [BOOLEAN, TEXT, JSON_TYPE, RECORD, RECORDS] = [16, 25, 114, 2249, 2287];

/** Type as which a value is sent: `lc_monetary` says how many digits a `money` has, and PostgreSQL's cast follows it. */
const sentAs = (type: string): string => (type === "money" ? "numeric" : type);

function scalar(column: PostgresType): BinaryValue | null {
  const { type } = column;
  const read = scalarOf(sentAs(type));
  if (read === null) return null;
  const select = (value: Sql): Sql => {
    if (type === "money") return sql`${value}::pg_catalog.numeric`;
    return type === "timestamp" ? inUtc(value, column) : value;
  };
  return { oid: read.oids[0], select, json: (field) => scalarJson(read, field), text: read.text };
}

/**
 * A `timestamp` in UTC. A time within a day of the ends of PostgreSQL's range may have no instant in UTC, and is null: the
 * conversion would fail.
 */
function inUtc(time: Sql, { timezone = "UTC" }: PostgresType): Sql {
  return timezone === "UTC"
    ? time
    : sql`CASE WHEN ${infix(time, ">", sql`'4714-11-26 BC'`)} AND ${infix(time, "<", sql`'294276-12-30'`)} THEN ${time} AT TIME ZONE ${literal(timezone)} AT TIME ZONE 'UTC' END`;
}

function arrayOf(element: PostgresType): BinaryValue | null {
  const item = binaryValue(element);
  if (item === null) return null;
  const { type } = element;
  const read = scalarOf(sentAs(type));
  const isConverted = type === "timestamp" && (element.timezone ?? "UTC") !== "UTC";
  if (read === null || isConverted) return convertedArray(item);
  return {
    oid: read.oids[1],
    select: (value) => (type === "money" ? sql`${value}::pg_catalog.numeric[]` : value),
    json: (field) => {
      const { lengths, items } = arrayIn(field, item.oid);
      return listJson(lengths, items, item.json);
    },
    text: (field) => arrayText(arrayIn(field, item.oid), read),
  };
}

/** An array whose items are made: its dimensions, and all items in one list. */
function convertedArray(item: BinaryValue): BinaryValue {
  return {
    oid: RECORD,
    select: (value, depth) => {
      const items = itemsOf(value, item, depth);
      return sql`CASE WHEN ${value} IS NOT NULL THEN ROW(pg_catalog.array_dims(${value}), ${items}) END`;
    },
    json: (record) => {
      const [dimensions, items] = fieldsIn(record, [TEXT, RECORDS]);
      const bounds = dimensions?.toString().matchAll(/(-?\d+):(-?\d+)/g) ?? [];
      const lengths = [...bounds].map(([, first, last]) => Number(last) - Number(first) + 1);
      return listJson(lengths, itemsIn(items ?? null, item), item.json);
    },
    text: null,
  };
}

/** The items of an array or a multirange, each in a record: PostgreSQL has no array of arrays. */
function itemsOf(value: Sql, item: BinaryValue, depth: number): Sql {
  const rows = identifier(`i${String(depth)}`);
  const items = item.select(sql`${rows}.e`, depth + 1);
  return sql`ARRAY(SELECT ROW(${items}) FROM (SELECT pg_catalog.unnest(${value}) AS e) AS ${rows})`;
}

function itemsIn(records: Buffer | null, { oid }: BinaryValue): readonly (Buffer | null)[] {
  if (records === null) return [];
  return arrayIn(records, RECORD).items.map((each) => each && (fieldsIn(each, [oid])[0] ?? null));
}

function composite(fields: readonly ResultColumn[]): BinaryValue | null {
  const values = fields.map((field) => ({ name: field.name, value: binaryValue(field) }));
  if (values.every(({ value }) => value === null)) return null;
  const oids = values.map(({ value }) => (value === null ? JSON_TYPE : value.oid));
  const names = values.map(({ name }, i) => `${i > 0 ? "," : "{"}${JSON.stringify(name)}:`);
  return {
    oid: RECORD,
    select: (composed, depth) => {
      const items = values.map(({ name, value }) => {
        const field = sql`(${composed}).${identifier(name)}`;
        return value === null ? sql`pg_catalog.to_json(${field})` : value.select(field, depth);
      });
      // Of a literal NULL it looks no operator up. `IS NOT NULL` is false of a composite with a null in it.
      return sql`CASE WHEN ${composed} IS DISTINCT FROM NULL THEN ROW(${join(items, ", ")}) END`;
    },
    json: (record) => {
      const items = fieldsIn(record, oids).map((field, i) => {
        const json = values[i]?.value?.json ?? asText;
        return (names[i] ?? "") + (field === null ? "null" : json(field));
      });
      return `${items.join("")}}`;
    },
    text: null,
  };
}

const asText = (field: Buffer): string => field.toString();

function rangeOf(type: string): BinaryValue | null {
  const bound = scalar({ type });
  if (bound === null) return null;
  const oids = [BOOLEAN, BOOLEAN, BOOLEAN, bound.oid, bound.oid];
  const text = (record: Buffer): string => rangeText(fieldsIn(record, oids), bound);
  return {
    oid: RECORD,
    select: (value, depth) => {
      const bounds = [sql`pg_catalog.lower(${value})`, sql`pg_catalog.upper(${value})`].map((each) =>
        bound.select(each, depth),
      );
      return sql`CASE WHEN ${value} IS NOT NULL THEN ROW(pg_catalog.isempty(${value}), pg_catalog.lower_inc(${value}), pg_catalog.upper_inc(${value}), ${join(bounds, ", ")}) END`;
    },
    json: (record) => JSON.stringify(text(record)),
    text,
  };
}

function rangeText(fields: readonly (Buffer | null)[], bound: BinaryValue): string {
  const [isEmpty, hasLower, hasUpper] = fields.map((field) => field?.[0] === 1);
  if (isEmpty) return "empty";
  const [lower, upper] = fields.slice(3).map((field) => {
    const text = field === null ? "" : (bound.text?.(field) ?? "");
    return /[\s"\\()[\],]/.test(text) ? `"${text.replace(/["\\]/g, "$&$&")}"` : text;
  });
  return `${hasLower ? "[" : "("}${lower ?? ""},${upper ?? ""}${hasUpper ? "]" : ")"}`;
}

function multirange(type: string): BinaryValue | null {
  const item = rangeOf(type);
  if (item === null) return null;
  const text = (record: Buffer): string => {
    const items = itemsIn(fieldsIn(record, [RECORDS])[0] ?? null, item);
    return `{${items.map((each) => (each === null ? "" : item.text?.(each))).join(",")}}`;
  };
  return {
    oid: RECORD,
    select: (value, depth) =>
      sql`CASE WHEN ${value} IS NOT NULL THEN ROW(${itemsOf(value, item, depth)}) END`,
    json: (record) => JSON.stringify(text(record)),
    text,
  };
}

/** The fields of a record: their number, and of each its type and its length. */
function fieldsIn(record: Buffer, oids: readonly number[]): (Buffer | null)[] {
  let at = 4;
  return Array.from({ length: record.readInt32BE() }, (_, i) => {
    checkType(record.readUInt32BE(at), oids[i] ?? 0);
    const field = fieldAt(record, at + 4);
    at += 8 + (field?.length ?? 0);
    return field;
  });
}

function fieldAt(bytes: Buffer, at: number): Buffer | null {
  const length = bytes.readInt32BE(at);
  return length < 0 ? null : bytes.subarray(at + 4, at + 4 + length);
}

interface ArrayItems {
  readonly lengths: readonly number[];
  /** Index of the first item of each dimension. */
  readonly firsts: readonly number[];
  readonly items: readonly (Buffer | null)[];
}

/** Number of its dimensions, whether there are nulls, type of the items, length and first index of each dimension, and the items. */
function arrayIn(array: Buffer, oid: number): ArrayItems {
  checkType(array.readUInt32BE(8), oid);
  const dimensions = Array.from({ length: array.readInt32BE() }, (_, i) => 12 + 8 * i);
  const lengths = dimensions.map((at) => array.readInt32BE(at));
  const firsts = dimensions.map((at) => array.readInt32BE(at + 4));
  const items: (Buffer | null)[] = [];
  for (let at = 12 + 8 * dimensions.length; at < array.length;) {
    const item = fieldAt(array, at);
    items.push(item);
    at += 4 + (item?.length ?? 0);
  }
  return { lengths, firsts, items };
}

/** A list of one dimension has spaces between its items, like PostgreSQL's `json_agg`. */
function listJson(
  lengths: readonly number[],
  items: readonly (Buffer | null)[],
  json: (item: Buffer) => string,
): string {
  const texts = items.map((item) => (item === null ? "null" : json(item)));
  if (lengths.length <= 1) return `[${texts.join(", ")}]`;
  return nested(lengths, texts, "[", "]");
}

function nested(lengths: readonly number[], items: readonly string[], open: string, close: string): string {
  const [length = 0, ...rest] = lengths;
  const size = items.length / (length || 1);
  const parts =
    rest.length === 0
      ? items
      : Array.from({ length }, (_, i) => nested(rest, items.slice(i * size, (i + 1) * size), open, close));
  return open + parts.join(",") + close;
}

function arrayText({ lengths, firsts, items }: ArrayItems, { text }: Scalar): string {
  const texts = items.map((item) => (item === null ? "NULL" : `"${text(item).replace(/["\\]/g, "\\$&")}"`));
  const bounds = lengths.map(
    (length, i) => `[${String(firsts[i])}:${String((firsts[i] ?? 1) + length - 1)}]`,
  );
  const isShifted = firsts.some((first) => first !== 1);
  return (
    (isShifted ? `${bounds.join("")}=` : "") + (texts.length === 0 ? "{}" : nested(lengths, texts, "{", "}"))
  );
}

import pg from "pg";
import {
  type FilteredColumn,
  labelFilters,
  LABELS,
  NULL,
  on,
  type Reference,
  type TestColumn,
  type TestFilter,
  TEXTS,
  type Value,
} from "./reference.js";

const text = (value: string): Value => [pg.escapeLiteral(value), JSON.stringify(value)];

/** Special values; lengths that have no common divisor combine them differently in each row. */
const COLUMNS: Readonly<Record<string, TestColumn>> = {
  label: { type: "text", values: [...TEXTS.map(text), NULL, text("plain")] },
  amount: {
    type: "numeric",
    values: [
      ["'12.30'", "12.30"],
      ["'NaN'", "null"],
      ["'-Infinity'", "null"],
      ["18446744073709551615", "18446744073709551615"],
      ["'0.1'", "0.1"],
      NULL,
      ["-7", "-7"],
    ],
  },
  wide: {
    type: "bigint",
    values: [
      ["9223372036854775807", "9223372036854775807"],
      ["'-9223372036854775808'", "-9223372036854775808"],
      ["9007199254740993", "9007199254740993"],
      ["0", "0"],
      NULL,
    ],
  },
  ratio: {
    type: "float8",
    values: [
      ["'NaN'", "null"],
      ["'Infinity'", "null"],
      ["'-0'", "-0"],
      ["0.1", "0.1"],
      ["1e300", "1e300"],
      NULL,
    ],
  },
  day: {
    type: "date",
    values: [
      ["'2024-02-29'", '"2024-02-29"'],
      ["'0044-03-15 BC'", '"-000043-03-15"'],
      ["'12024-01-02'", '"+012024-01-02"'],
      ["'infinity'", "null"],
      ["'2024-03-01'", '"2024-03-01"'],
      ["'2023-12-31'", '"2023-12-31"'],
      ["'1970-01-01'", '"1970-01-01"'],
      NULL,
    ],
  },
  at: {
    type: "timestamptz",
    values: [
      ["'2024-02-29 23:59:59.999999+00'", '"2024-02-29T23:59:59.999999Z"'],
      ["'2024-03-01 00:00+02'", '"2024-02-29T22:00:00Z"'],
      ["'0044-03-15 12:00:00+00 BC'", '"-000043-03-15T12:00:00Z"'],
      ["'-infinity'", "null"],
      ["'2024-03-01 00:00+00'", '"2024-03-01T00:00:00Z"'],
      NULL,
      ["'12024-01-01 00:00+00'", '"+012024-01-01T00:00:00Z"'],
      ["'1969-12-31 23:59:59+00'", '"1969-12-31T23:59:59Z"'],
      ["'2023-12-31 23:30-01'", '"2024-01-01T00:30:00Z"'],
    ],
  },
  local: {
    type: "timestamp",
    values: [
      ["'2024-01-15 12:00'", '"2024-01-15T11:00:00Z"'],
      ["'2024-07-15 00:30'", '"2024-07-14T22:30:00Z"'],
      ["'infinity'", "null"],
    ],
  },
  flag: { type: "boolean", values: [["true", "true"], ["false", "false"], NULL] },
  code: {
    type: "uuid",
    values: [["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"'], NULL],
  },
  matrix: {
    type: "float8[]",
    values: [["'{{1.5,NaN},{-Infinity,2}}'", "[[1.5,null],[null,2]]"], ["'{}'", "[]"], NULL],
  },
  doc: {
    type: "jsonb",
    values: [
      [`'{"b": 18446744073709551615, "a": ["x", null]}'`, '{"a": ["x", null], "b": 18446744073709551615}'],
      NULL,
    ],
  },
  raw: {
    type: "json",
    values: [
      [`'{"zero":"\\u0000","a":1}'`, '{"zero":"\\u0000","a":1}'],
      [`'"te\\"xt"'`, '"te\\"xt"'],
      ["'1.10'", "1.10"],
    ],
  },
};

const quote = (value: string): string => pg.escapeLiteral(value);
const equals = (column: string, type: string) => (v: string) => `${column} = ${quote(v)}::${type}`;

const FILTERS: Readonly<Record<string, TestFilter>> = {
  id: on("id", "=", "1 +7 250 -3 99999999999", equals("id", "bigint")),
  ids: on("id", "IN", "1 2 3 50 299 777", equals("id", "bigint")),
  ...labelFilters(quote, { lower: "lower", upper: "upper" }, (pattern) => `label ILIKE ${pattern}`),
  amount: on("amount", "=", "12.3 12.300 1.23e1 18446744073709551615 -7.0 5", equals("amount", "numeric")),
  wide: on(
    "wide",
    "=",
    "9223372036854775807 9007199254740993 9007199254740992 -9223372036854775808",
    equals("wide", "bigint"),
  ),
  flag: on("flag", "=", "true F 1 no", equals("flag", "boolean")),
  code: on(
    "code",
    "=",
    "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11 a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
    equals("code", "uuid"),
  ),
  at: on(
    "at",
    "=",
    "2024-02-29T23:59:59.999999Z 2024-02-29T22:00:00Z 2024-03-01T00:00:00+02:00",
    equals("at", "timestamptz"),
  ),
  from: on("day", ">=", "2024-02-29 1970-01-01 2024-03-02", (v) => `day >= ${quote(v)}::date`),
  to: on("day", "<=", "2024-02-29 1969-12-31 9999-12-31", (v) => `day <= ${quote(v)}::date`),
  since: on("at", ">=", "2024-02-29 2024-03-01 1970-01-01", (v) => `at >= ${midnight(v)}`),
  until: on("at", "<=", "2024-02-29 2023-12-31 1969-12-31", (v) => `at < ${midnight(v)} + interval '1 day'`),
};

function midnight(day: string): string {
  return `(${quote(day)} || ' 00:00+00')::timestamptz`;
}

/** Columns that requests filter by with operators. */
const COLUMN_FILTERS: Readonly<Record<string, FilteredColumn>> = {
  id: { type: "bigint", values: ["1", "150", "-3", "299", "99999999999"] },
  amount: { type: "numeric", values: ["12.3", "12.300", "0", "-7.0", "1.23e1", "18446744073709551614.5"] },
  wide: { type: "bigint", values: ["9007199254740993", "0", "9223372036854775807", "-9223372036854775808"] },
  ratio: { type: "float8", values: ["0", "0.1", "-1e300", "1.5"] },
  day: { type: "date", values: ["2024-02-29", "1970-01-01", "9999-12-31"] },
  at: {
    type: "timestamptz",
    values: ["2024-02-29T23:59:59.999999Z", "2024-03-01T00:00:00+02:00", "1970-01-01T00:00:00Z"],
  },
  label: { type: "text", values: LABELS },
  flag: { type: "boolean", values: ["true", "false"] },
};

/** What responses show as null: PostgreSQL compares it, the API does not. */
function shownValue(column: string): string {
  const { type } = COLUMN_FILTERS[column] ?? { type: "text" };
  const infinities = /^(numeric|float8)$/.test(type)
    ? "'NaN', 'Infinity', '-Infinity'"
    : /^(date|timestamptz)$/.test(type)
      ? "'infinity', '-infinity'"
      : null;
  return infinities === null
    ? `"${column}"`
    : `(CASE WHEN "${column}" NOT IN (${infinities}) THEN "${column}" END)`;
}

function typedLiteral(column: string, value: string): string {
  return `${quote(value)}::${COLUMN_FILTERS[column]?.type ?? "text"}`;
}

const QUOTED: ReadonlySet<string> = new Set(["text", "json", "jsonb", "float8[]"]);

export const POSTGRES: Reference = {
  idType: "int",
  columns: COLUMNS,
  filters: FILTERS,
  columnFilters: COLUMN_FILTERS,
  sortable: ["id", "label", "amount", "day", "at", "wide", "ratio"],
  // Of the times without a zone.
  settings: { timezone: "Europe/Vienna" },
  isQuoted: (column) => QUOTED.has(COLUMNS[column]?.type ?? "int"),
  shown: shownValue,
  literal: typedLiteral,
  order: (column, direction) => `"${column}" ${direction}`,
};

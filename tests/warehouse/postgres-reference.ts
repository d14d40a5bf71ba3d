import pg from "pg";
import {
  type FilteredColumn,
  NULL,
  type Reference,
  type TestColumn,
  type TestFilter,
  type Value,
} from "./reference.js";

const text = (value: string): Value => [pg.escapeLiteral(value), JSON.stringify(value)];

/** Special values; lengths that have no common divisor combine them differently in each row. */
const COLUMNS: Readonly<Record<string, TestColumn>> = {
  label: {
    type: "text",
    values: [
      ...[
        "Straße",
        "ΣΑΣ",
        "ﬁne",
        "İstanbul",
        "a,b",
        'quo"te',
        "line\r\nbreak",
        "",
        "100%",
        "un_der",
        "back\\slash",
      ],
      ...["=1+1", "  padded", "😀 日本", "NULL"],
    ]
      .map(text)
      .concat([NULL, text("plain")]),
  },
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
const LABELS = [
  "Straße",
  "STRASSE",
  "σας",
  "ΣΑΣ",
  "ﬁne",
  "a",
  "a,b",
  'quo"te',
  "100%",
  "un_der",
  "%",
  "=1+1",
  "back\\slash",
  "plain",
  "none",
  "😀 日本",
  "i",
];
const pattern = (value: string): string => {
  const literal = value.replace(/[\\_]/g, "\\$&");
  return quote(literal.includes("%") ? literal : `%${literal}%`);
};

const FILTERS: Readonly<Record<string, TestFilter>> = {
  id: {
    column: "id",
    operator: "=",
    sql: (v) => `id = ${quote(v)}::bigint`,
    values: ["1", "+7", "250", "-3", "99999999999"],
  },
  ids: {
    column: "id",
    operator: "IN",
    sql: (v) => `id = ${quote(v)}::bigint`,
    values: ["1", "2", "3", "50", "299", "777"],
  },
  label: { column: "label", operator: "=", sql: (v) => `label = ${quote(v)}`, values: LABELS },
  folded: {
    column: "label",
    operator: "=",
    case: "lower",
    sql: (v) => `lower(label) = lower(${quote(v)})`,
    values: LABELS,
  },
  labels: {
    column: "label",
    operator: "IN",
    case: "upper",
    sql: (v) => `upper(label) = upper(${quote(v)})`,
    values: LABELS.filter((label) => !label.includes(",")),
  },
  like: { column: "label", operator: "ILIKE", sql: (v) => `label ILIKE ${pattern(v)}`, values: LABELS },
  amount: {
    column: "amount",
    operator: "=",
    sql: (v) => `amount = ${quote(v)}::numeric`,
    values: ["12.3", "12.300", "1.23e1", "18446744073709551615", "-7.0", "5"],
  },
  wide: {
    column: "wide",
    operator: "=",
    sql: (v) => `wide = ${quote(v)}::bigint`,
    values: ["9223372036854775807", "9007199254740993", "9007199254740992", "-9223372036854775808"],
  },
  flag: {
    column: "flag",
    operator: "=",
    sql: (v) => `flag = ${quote(v)}::boolean`,
    values: ["true", "F", "1", "no"],
  },
  code: {
    column: "code",
    operator: "=",
    sql: (v) => `code = ${quote(v)}::uuid`,
    values: ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"],
  },
  at: {
    column: "at",
    operator: "=",
    sql: (v) => `at = ${quote(v)}::timestamptz`,
    values: ["2024-02-29T23:59:59.999999Z", "2024-02-29T22:00:00Z", "2024-03-01T00:00:00+02:00"],
  },
  from: {
    column: "day",
    operator: ">=",
    sql: (v) => `day >= ${quote(v)}::date`,
    values: ["2024-02-29", "1970-01-01", "2024-03-02"],
  },
  to: {
    column: "day",
    operator: "<=",
    sql: (v) => `day <= ${quote(v)}::date`,
    values: ["2024-02-29", "1969-12-31", "9999-12-31"],
  },
  since: {
    column: "at",
    operator: ">=",
    sql: (v) => `at >= (${quote(v)} || ' 00:00+00')::timestamptz`,
    values: ["2024-02-29", "2024-03-01", "1970-01-01"],
  },
  until: {
    column: "at",
    operator: "<=",
    sql: (v) => `at < (${quote(v)} || ' 00:00+00')::timestamptz + interval '1 day'`,
    values: ["2024-02-29", "2023-12-31", "1969-12-31"],
  },
};

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

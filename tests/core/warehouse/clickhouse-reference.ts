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

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;
const text = (value: string): Value => [quote(value), JSON.stringify(value)];
const number = (digits: string): Value => [`'${digits}'`, digits];

/** Special values; lengths that have no common divisor combine them differently in each row. */
const COLUMNS: Readonly<Record<string, TestColumn>> = {
  label: { type: "Nullable(String)", values: [...TEXTS.map(text), NULL, text("plain")] },
  amount: {
    type: "Nullable(Decimal(38, 2))",
    values: [number("12.30"), number("18446744073709551615.00"), number("0.10"), NULL, number("-7.00")],
  },
  wide: {
    type: "Nullable(UInt64)",
    values: [number("18446744073709551615"), number("9007199254740993"), number("0"), NULL],
  },
  huge: {
    type: "Int256",
    values: [
      number("-57896044618658097711785492504343953926634992332820282019728792003956564819968"),
      number("7"),
    ],
  },
  ratio: {
    type: "Nullable(Float64)",
    values: [
      ["nan", "null"],
      ["inf", "null"],
      ["-0.", "-0"],
      ["0.1", "0.1"],
      ["1e300", "1e300"],
      NULL,
      ["-inf", "null"],
    ],
  },
  day: {
    type: "Nullable(Date32)",
    values: ["2024-02-29", "1900-01-01", "2299-12-31", "2024-03-01", "2023-12-31", "1970-01-01"]
      .map((day): Value => [quote(day), `"${day}"`])
      .concat([NULL]),
  },
  at: {
    type: "Nullable(DateTime64(3, 'Europe/Vienna'))",
    values: [
      ["toDateTime64('2024-02-29 23:59:59.999', 3, 'UTC')", '"2024-02-29T23:59:59.999Z"'],
      ["toDateTime64('2024-03-01 00:00:00', 3, 'UTC')", '"2024-03-01T00:00:00Z"'],
      ["toDateTime64('1969-12-31 23:59:59.500', 3, 'UTC')", '"1969-12-31T23:59:59.5Z"'],
      ["toDateTime64('1925-01-01 00:00:00.001', 3, 'UTC')", '"1925-01-01T00:00:00.001Z"'],
      NULL,
    ],
  },
  moment: {
    type: "DateTime",
    values: [
      ["toDateTime('1970-01-01 00:00:05', 'UTC')", '"1970-01-01T00:00:05Z"'],
      ["toDateTime('2106-02-07 06:28:15', 'UTC')", '"2106-02-07T06:28:15Z"'],
      ["toDateTime('2024-02-29 12:00:00', 'UTC')", '"2024-02-29T12:00:00Z"'],
    ],
  },
  flag: { type: "Nullable(Bool)", values: [["true", "true"], ["false", "false"], NULL] },
  code: {
    type: "UUID",
    values: ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"].map(
      (uuid): Value => [quote(uuid), `"${uuid}"`],
    ),
  },
  mood: { type: "Enum8('fine' = 1, 'so ''so''' = 2)", values: [text("fine"), text("so 'so'")] },
  mark: { type: "FixedString(4)", values: [text("ab"), text("abcd")] },
  list: {
    type: "Array(Nullable(Float64))",
    values: [
      ["[1.5, nan, NULL]", "[1.5,null,null]"],
      ["[]", "[]"],
    ],
  },
};

const whole = (column: string) => (v: string) => `toInt128(${column}) = toInt128(${quote(v)})`;
const shownAs = (column: string) => (v: string) => `toString(${column}) = ${quote(v)}`;

const FILTERS: Readonly<Record<string, TestFilter>> = {
  id: on("id", "=", "1 +7 250 -3 4294967297", whole("id")),
  ids: on("id", "IN", "1 2 50 299 777 -1", whole("id")),
  ...labelFilters(
    quote,
    { lower: "lowerUTF8", upper: "upperUTF8" },
    (pattern) => `lowerUTF8(label) LIKE lowerUTF8(${pattern})`,
  ),
  amount: on(
    "amount",
    "=",
    "12.3 12.300 1.23e1 18446744073709551615 -7.0 5 12.301",
    (v) => `toDecimal256(amount, 10) = toDecimal256(${quote(v)}, 10)`,
  ),
  wide: on(
    "wide",
    "=",
    "18446744073709551615 18446744073709551616 9007199254740993 9007199254740992 -1 0",
    whole("wide"),
  ),
  wides: on("wide", "IN", "18446744073709551615 18446744073709551616 0", whole("wide")),
  flag: on("flag", "=", "true F 1 no", (v) => `flag = ${/^(t|1|yes)/i.test(v) ? "true" : "false"}`),
  code: on(
    "code",
    "=",
    "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11 a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
    (v) => `code = toUUID(${quote(v)})`,
  ),
  mood: on("mood", "=", ["fine", "so 'so'", "bad"], shownAs("mood")),
  moods: on("mood", "IN", "fine bad", shownAs("mood")),
  mark: on("mark", "=", "ab abcd a", shownAs("mark")),
  at: on(
    "at",
    "=",
    "2024-02-29T23:59:59.999Z 2024-03-01T00:00:00Z 2024-03-01T02:00:00+02:00 1969-12-31T23:59:59.5Z 1925-01-01T00:00:00.001Z",
    (v) => `at = parseDateTime64BestEffort(${quote(v)}, 3, 'UTC')`,
  ),
  moment: on(
    "moment",
    "IN",
    "1970-01-01T00:00:05Z 2024-02-29T13:00:00+01:00 2106-02-07T06:28:15Z",
    (v) => `moment = parseDateTimeBestEffort(${quote(v)}, 'UTC')`,
  ),
  from: on("day", ">=", "2024-02-29 1970-01-01 2024-03-02", (v) => `day >= toDate32(${quote(v)})`),
  to: on("day", "<=", "2024-02-29 1969-12-31 2299-12-31", (v) => `day <= toDate32(${quote(v)})`),
  early: on("day", ">=", "0001-01-01 1899-12-31", () => "day IS NOT NULL"),
  late: on("day", ">=", "2300-01-01 9999-12-31", () => "false"),
  since: on(
    "at",
    ">=",
    "2024-02-29 2024-03-01 1970-01-01",
    (v) => `at >= toDateTime64(${quote(`${v} 00:00:00`)}, 3, 'UTC')`,
  ),
  until: on(
    "at",
    "<=",
    "2024-02-29 2023-12-31 1969-12-31",
    (v) => `at <= toDateTime64(${quote(`${v} 23:59:59.999`)}, 3, 'UTC')`,
  ),
  moment_to: on("moment", "<=", "2024-02-29 1970-01-01 9999-12-31", (v) =>
    v > "2106" ? "true" : `moment <= toDateTime(${quote(`${v} 23:59:59`)}, 'UTC')`,
  ),
};

/** Columns that requests filter by with operators; `sql`: a value of the type. */
const COLUMN_FILTERS: Readonly<Record<string, FilteredColumn & { readonly sql: (value: string) => string }>> =
  {
    id: filtered("UInt32", "1 150 -3 299 99999999999", (v) => `toInt128(${v})`),
    amount: filtered(
      "Decimal",
      "12.3 12.300 0 -7.0 1.23e1 18446744073709551614.5",
      (v) => `toDecimal256(${v}, 10)`,
    ),
    wide: filtered(
      "UInt64",
      "9007199254740993 0 18446744073709551615 18446744073709551616 -1",
      (v) => `toInt128(${v})`,
    ),
    ratio: filtered("Float64", "0 0.1 -1e300 1.5", (v) => `toFloat64(${v})`),
    day: filtered("Date32", "2024-02-29 1970-01-01 2299-12-31", (v) => `toDate32(${v})`),
    at: filtered(
      "DateTime64",
      "2024-02-29T23:59:59.999Z 2024-02-29T23:59:59.999999Z 2024-03-01T02:00:00+02:00 1970-01-01T00:00:00Z",
      (v) => `parseDateTime64BestEffort(${v}, 6, 'UTC')`,
    ),
    label: { type: "String", values: LABELS, sql: quote },
    flag: { type: "Bool", values: ["true", "false"], sql: (v) => v },
  };

/** `sql`: from the value as a string literal. */
function filtered(type: string, values: string, sql: (literal: string) => string) {
  return { type, values: values.split(" "), sql: (value: string) => sql(quote(value)) };
}

/** What responses show of a column, of a type that compares without loss. */
function shownValue(column: string): string {
  switch (column) {
    case "id":
    case "wide":
      return `toInt128(${column})`;
    case "amount":
      return "toDecimal256(amount, 10)";
    case "ratio":
      return "if(isFinite(ratio), ratio, NULL)";
    default:
      return column;
  }
}

export const CLICKHOUSE: Reference = {
  idType: "UInt32",
  columns: COLUMNS,
  filters: FILTERS,
  columnFilters: COLUMN_FILTERS,
  sortable: ["id", "label", "amount", "day", "at", "wide", "ratio", "mood"],
  settings: {},
  isQuoted: (_, json) => /^["[]/.test(json),
  shown: shownValue,
  literal: (column, value) => COLUMN_FILTERS[column]?.sql(value) ?? "",
  order: (column, direction) => `${column} ${direction} NULLS ${direction === "DESC" ? "FIRST" : "LAST"}`,
};

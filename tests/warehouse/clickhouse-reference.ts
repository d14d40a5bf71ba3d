import {
  type FilteredColumn,
  NULL,
  type Reference,
  type TestColumn,
  type TestFilter,
  type Value,
} from "./reference.js";

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;
const text = (value: string): Value => [quote(value), JSON.stringify(value)];
const number = (digits: string): Value => [`'${digits}'`, digits];

/** Special values; lengths that have no common divisor combine them differently in each row. */
const COLUMNS: Readonly<Record<string, TestColumn>> = {
  label: {
    type: "Nullable(String)",
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
      ...["=1+1", "  padded", "😀 日本", "NULL", "\\N"],
    ]
      .map(text)
      .concat([NULL, text("plain")]),
  },
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
].concat(["back\\slash", "plain", "none", "😀 日本", "i", "\\N", "line\r\nbreak"]);
const pattern = (value: string): string => {
  const literal = value.replace(/[\\_]/g, "\\$&");
  return quote(literal.includes("%") ? literal : `%${literal}%`);
};

const FILTERS: Readonly<Record<string, TestFilter>> = {
  id: {
    column: "id",
    operator: "=",
    sql: (v) => `toInt128(id) = toInt128(${quote(v)})`,
    values: ["1", "+7", "250", "-3", "4294967297"],
  },
  ids: {
    column: "id",
    operator: "IN",
    sql: (v) => `toInt128(id) = toInt128(${quote(v)})`,
    values: ["1", "2", "50", "299", "777", "-1"],
  },
  label: { column: "label", operator: "=", sql: (v) => `label = ${quote(v)}`, values: LABELS },
  folded: {
    column: "label",
    operator: "=",
    case: "lower",
    sql: (v) => `lowerUTF8(label) = lowerUTF8(${quote(v)})`,
    values: LABELS,
  },
  labels: {
    column: "label",
    operator: "IN",
    case: "upper",
    sql: (v) => `upperUTF8(label) = upperUTF8(${quote(v)})`,
    values: LABELS.filter((label) => !label.includes(",")),
  },
  like: {
    column: "label",
    operator: "ILIKE",
    sql: (v) => `lowerUTF8(label) LIKE lowerUTF8(${pattern(v)})`,
    values: LABELS,
  },
  amount: {
    column: "amount",
    operator: "=",
    sql: (v) => `toDecimal256(amount, 10) = toDecimal256(${quote(v)}, 10)`,
    values: ["12.3", "12.300", "1.23e1", "18446744073709551615", "-7.0", "5", "12.301"],
  },
  wide: {
    column: "wide",
    operator: "=",
    sql: (v) => `toInt128(wide) = toInt128(${quote(v)})`,
    values: [
      "18446744073709551615",
      "18446744073709551616",
      "9007199254740993",
      "9007199254740992",
      "-1",
      "0",
    ],
  },
  wides: {
    column: "wide",
    operator: "IN",
    sql: (v) => `toInt128(wide) = toInt128(${quote(v)})`,
    values: ["18446744073709551615", "18446744073709551616", "0"],
  },
  flag: {
    column: "flag",
    operator: "=",
    sql: (v) => `flag = ${/^(t|1|yes)/i.test(v) ? "true" : "false"}`,
    values: ["true", "F", "1", "no"],
  },
  code: {
    column: "code",
    operator: "=",
    sql: (v) => `code = toUUID(${quote(v)})`,
    values: ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"],
  },
  mood: {
    column: "mood",
    operator: "=",
    sql: (v) => `toString(mood) = ${quote(v)}`,
    values: ["fine", "so 'so'", "bad"],
  },
  moods: {
    column: "mood",
    operator: "IN",
    sql: (v) => `toString(mood) = ${quote(v)}`,
    values: ["fine", "bad"],
  },
  mark: {
    column: "mark",
    operator: "=",
    sql: (v) => `toString(mark) = ${quote(v)}`,
    values: ["ab", "abcd", "a"],
  },
  at: {
    column: "at",
    operator: "=",
    sql: (v) => `at = parseDateTime64BestEffort(${quote(v)}, 3, 'UTC')`,
    values: [
      "2024-02-29T23:59:59.999Z",
      "2024-03-01T00:00:00Z",
      "2024-03-01T02:00:00+02:00",
      "1969-12-31T23:59:59.5Z",
      "1925-01-01T00:00:00.001Z",
    ],
  },
  moment: {
    column: "moment",
    operator: "IN",
    sql: (v) => `moment = parseDateTimeBestEffort(${quote(v)}, 'UTC')`,
    values: ["1970-01-01T00:00:05Z", "2024-02-29T13:00:00+01:00", "2106-02-07T06:28:15Z"],
  },
  from: {
    column: "day",
    operator: ">=",
    sql: (v) => `day >= toDate32(${quote(v)})`,
    values: ["2024-02-29", "1970-01-01", "2024-03-02"],
  },
  to: {
    column: "day",
    operator: "<=",
    sql: (v) => `day <= toDate32(${quote(v)})`,
    values: ["2024-02-29", "1969-12-31", "2299-12-31"],
  },
  early: {
    column: "day",
    operator: ">=",
    sql: () => "day IS NOT NULL",
    values: ["0001-01-01", "1899-12-31"],
  },
  late: { column: "day", operator: ">=", sql: () => "false", values: ["2300-01-01", "9999-12-31"] },
  since: {
    column: "at",
    operator: ">=",
    sql: (v) => `at >= toDateTime64(${quote(`${v} 00:00:00`)}, 3, 'UTC')`,
    values: ["2024-02-29", "2024-03-01", "1970-01-01"],
  },
  until: {
    column: "at",
    operator: "<=",
    sql: (v) => `at <= toDateTime64(${quote(`${v} 23:59:59.999`)}, 3, 'UTC')`,
    values: ["2024-02-29", "2023-12-31", "1969-12-31"],
  },
  moment_to: {
    column: "moment",
    operator: "<=",
    sql: (v) => (v > "2106" ? "true" : `moment <= toDateTime(${quote(`${v} 23:59:59`)}, 'UTC')`),
    values: ["2024-02-29", "1970-01-01", "9999-12-31"],
  },
};

/** Columns that requests filter by with operators; `sql`: a value of the type. */
const COLUMN_FILTERS: Readonly<Record<string, FilteredColumn & { readonly sql: (value: string) => string }>> =
  {
    id: {
      type: "UInt32",
      values: ["1", "150", "-3", "299", "99999999999"],
      sql: (v) => `toInt128(${quote(v)})`,
    },
    amount: {
      type: "Decimal",
      values: ["12.3", "12.300", "0", "-7.0", "1.23e1", "18446744073709551614.5"],
      sql: (v) => `toDecimal256(${quote(v)}, 10)`,
    },
    wide: {
      type: "UInt64",
      values: ["9007199254740993", "0", "18446744073709551615", "18446744073709551616", "-1"],
      sql: (v) => `toInt128(${quote(v)})`,
    },
    ratio: {
      type: "Float64",
      values: ["0", "0.1", "-1e300", "1.5"],
      sql: (v) => `toFloat64(${quote(v)})`,
    },
    day: {
      type: "Date32",
      values: ["2024-02-29", "1970-01-01", "2299-12-31"],
      sql: (v) => `toDate32(${quote(v)})`,
    },
    at: {
      type: "DateTime64",
      values: [
        "2024-02-29T23:59:59.999Z",
        "2024-02-29T23:59:59.999999Z",
        "2024-03-01T02:00:00+02:00",
        "1970-01-01T00:00:00Z",
      ],
      sql: (v) => `parseDateTime64BestEffort(${quote(v)}, 6, 'UTC')`,
    },
    label: { type: "String", values: LABELS, sql: quote },
    flag: { type: "Bool", values: ["true", "false"], sql: (v) => v },
  };

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

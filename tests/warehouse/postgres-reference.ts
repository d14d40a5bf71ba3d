import pg from "pg";

/** A value as SQL and as the JSON that the API documents for it. */
type Value = readonly [sql: string, json: string];

interface TestColumn {
  readonly type: string;
  readonly values: readonly Value[];
}

const text = (value: string): Value => [pg.escapeLiteral(value), JSON.stringify(value)];
const NULL: Value = ["NULL", "null"];

/** Special values; lengths that have no common divisor combine them differently in each row. */
export const COLUMNS: Readonly<Record<string, TestColumn>> = {
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
export const ROWS = 300;
export const NAMES = ["id", ...Object.keys(COLUMNS)];

/** Value of a column in row `id`. */
export function valueOf(name: string, id: number): Value {
  if (name === "id") return [String(id), String(id)];
  const { values } = COLUMNS[name] ?? { values: [] };
  return values[(id + Math.floor(id / values.length)) % values.length] ?? NULL;
}

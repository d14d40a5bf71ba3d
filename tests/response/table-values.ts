import { byEngine } from "../support/engines.js";

/** A column of a binary table: its type in the database and in Arrow, and values as SQL. */
interface TableColumn {
  readonly type: string;
  readonly arrow: string;
  readonly values: readonly string[];
}

const TEXTS = ["'Straße'", "'😀 日本'", "''", "'a,b\"c'", "'null'", "'NaN'", "'x'"];
const UTC = "timestamp[us, tz=UTC]";

const POSTGRES: Readonly<Record<string, TableColumn>> = {
  small: { type: "int2", arrow: "int32", values: ["-32768", "32767", "0"] },
  whole: { type: "int4", arrow: "int32", values: ["-2147483648", "2147483647", "7"] },
  wide: {
    type: "int8",
    arrow: "int64",
    values: ["9223372036854775807", "'-9223372036854775808'", "9007199254740993"],
  },
  money: {
    type: "numeric(12,2)",
    arrow: "decimal128(12, 2)",
    values: ["12.30", "-0.05", "'NaN'", "9999999999.99", "-9999999999.99", "0"],
  },
  precise: {
    type: "numeric(38,18)",
    arrow: "decimal128(38, 18)",
    values: [
      "99999999999999999999.999999999999999999",
      "-99999999999999999999.999999999999999999",
      "0.000000000000000001",
    ],
  },
  long: {
    type: "numeric(38,0)",
    arrow: "decimal128(38, 0)",
    values: ["99999999999999999999999999999999999999", "-18446744073709551616", "1"],
  },
  cents: { type: "numeric(5,2)", arrow: "decimal128(5, 2)", values: ["999.99", "-1", "0.10"] },
  longer: {
    type: "numeric(40,2)",
    arrow: "string",
    values: ["12345678901234567890123456789012345678.90", "'NaN'", "-0.10"],
  },
  bare: {
    type: "numeric",
    arrow: "string",
    values: ["12.30", "'NaN'", "'-Infinity'", "18446744073709551615", "1e-20"],
  },
  ratio: {
    type: "float8",
    arrow: "double",
    values: ["'NaN'", "'Infinity'", "'-0'", "0.1", "1e300", "5e-324"],
  },
  single: { type: "float4", arrow: "float", values: ["0.1", "'NaN'", "3.4e38", "'-Infinity'"] },
  flag: { type: "boolean", arrow: "bool", values: ["true", "false"] },
  label: { type: "text", arrow: "string", values: TEXTS },
  short: { type: "varchar(9)", arrow: "string", values: TEXTS },
  padded: { type: "char(3)", arrow: "string", values: ["'a'", "'abc'"] },
  code: { type: "uuid", arrow: "string", values: ["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"] },
  day: {
    type: "date",
    arrow: "date32[day]",
    values: [
      "'2024-02-29'",
      "'1970-01-01'",
      "'1899-12-31'",
      "'0044-03-15 BC'",
      "'12024-01-02'",
      "'infinity'",
    ],
  },
  at: {
    type: "timestamptz",
    arrow: UTC,
    values: [
      ...["'2024-02-29 23:59:59.999999+00'", "'2024-03-01 00:00+02'", "'1969-12-31 23:59:59.9+00'"],
      ...["'0044-03-15 12:00:00+00 BC'", "'12024-01-01 00:00+00'", "'-infinity'"],
    ],
  },
  local: {
    type: "timestamp",
    arrow: UTC,
    values: ["'2024-07-15 00:30:00.5'", "'1000-01-01 00:00'", "'infinity'"],
  },
  doc: {
    type: "jsonb",
    arrow: "string",
    values: [`'{"b": 1.10, "a": ["x", null]}'`, `'"te\\"xt"'`, "'null'", "'7'"],
  },
  raw: { type: "json", arrow: "string", values: [`'{"a":\n18446744073709551615}'`, "'[]'"] },
  bytes: { type: "bytea", arrow: "string", values: ["'\\x00ff'", "''"] },
  span: { type: "interval", arrow: "string", values: ["'1 day 02:00:00'", "'-3 mons'"] },
  clock: { type: "time", arrow: "string", values: ["'01:02:03.5'"] },
  host: { type: "inet", arrow: "string", values: ["'10.0.0.0/8'", "'::1'"] },
  list: { type: "numeric[]", arrow: "string", values: ["'{1.50,NaN,NULL}'", "'{}'"] },
  texts: { type: "text[]", arrow: "string", values: ["ARRAY['a\"', NULL]"] },
};

const CLICKHOUSE: Readonly<Record<string, TableColumn>> = {
  u8: { type: "UInt8", arrow: "uint8", values: ["255", "0"] },
  u64: { type: "UInt64", arrow: "uint64", values: ["18446744073709551615", "1"] },
  i64: { type: "Nullable(Int64)", arrow: "int64", values: ["9223372036854775807", "-9223372036854775808"] },
  i16: { type: "Int16", arrow: "int16", values: ["-32768", "32767"] },
  i128: { type: "Nullable(Int128)", arrow: "string", values: ["'-170141183460469231731687303715884105728'"] },
  u256: { type: "UInt256", arrow: "string", values: [`'${String(2n ** 256n - 1n)}'`, "7"] },
  money: { type: "Nullable(Decimal(18, 4))", arrow: "decimal128(18, 4)", values: ["'12.30'", "'-0.0005'"] },
  small: { type: "Decimal(9, 2)", arrow: "decimal128(9, 2)", values: ["'9999999.99'", "'-1'"] },
  precise: {
    type: "Decimal(38, 18)",
    arrow: "decimal128(38, 18)",
    values: ["'99999999999999999999.999999999999999999'", "'-1'"],
  },
  longer: {
    type: "Decimal(76, 38)",
    arrow: "string",
    values: ["'1.5'", "'-12345678901234567890123456789012345678.1'"],
  },
  ratio: { type: "Float64", arrow: "double", values: ["nan", "inf", "-0.", "0.1 + 0.2", "1e300"] },
  single: { type: "Nullable(Float32)", arrow: "float", values: ["0.1", "nan", "-inf"] },
  flag: { type: "Bool", arrow: "bool", values: ["true", "false"] },
  label: {
    type: "Nullable(String)",
    arrow: "string",
    values: [...TEXTS, "unhex('ff41')", "unhex('4aea78')", "unhex('e282')"],
  },
  word: { type: "LowCardinality(Nullable(String))", arrow: "string", values: TEXTS },
  must: { type: "LowCardinality(String)", arrow: "string", values: TEXTS },
  fixed: { type: "FixedString(8)", arrow: "string", values: ["'abc'", "''", "unhex('c3ff00')"] },
  kind: { type: "Enum8('so, ''so''' = 1, 'b' = 2)", arrow: "string", values: ["'so, ''so'''", "'b'"] },
  code: { type: "Nullable(UUID)", arrow: "string", values: ["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"] },
  v4: { type: "IPv4", arrow: "string", values: ["'10.0.0.1'"] },
  v6: { type: "Nullable(IPv6)", arrow: "string", values: ["'::1'"] },
  day: { type: "Date", arrow: "date32[day]", values: ["'2024-02-29'", "'2149-06-06'"] },
  days: { type: "Nullable(Date32)", arrow: "date32[day]", values: ["'1900-01-01'", "'2299-12-31'"] },
  at: {
    type: "DateTime",
    arrow: "timestamp[ms, tz=UTC]",
    values: ["'2024-01-02 03:04:05'", "'1970-01-01 00:00:00'"],
  },
  zoned: {
    type: "Nullable(DateTime('Asia/Kolkata'))",
    arrow: "timestamp[ms, tz=UTC]",
    values: ["'2024-01-02 03:04:05'"],
  },
  micro: {
    type: "DateTime64(6, 'America/Sao_Paulo')",
    arrow: UTC,
    values: ["'2024-07-01 00:00:00.000001'", "'1900-01-01 12:00:00'"],
  },
  centi: { type: "DateTime64(2)", arrow: "timestamp[ms, tz=UTC]", values: ["'2299-12-31 23:59:59.99'"] },
  nano: {
    type: "DateTime64(9)",
    arrow: "timestamp[ns, tz=UTC]",
    values: ["'2024-01-02 03:04:05.123456789'"],
  },
  span: { type: "IntervalDay", arrow: "int64", values: ["toIntervalDay(3)"] },
  list: { type: "Array(UInt64)", arrow: "string", values: ["[18446744073709551615, 1]", "[]"] },
  floats: { type: "Array(Float64)", arrow: "string", values: ["[1.5, nan]"] },
  texts: { type: "Array(String)", arrow: "string", values: ["[unhex('ff41'), 'x']"] },
  map: { type: "Map(String, UInt64)", arrow: "string", values: ["map('a', 18446744073709551615)"] },
  object: { type: "Tuple(a UInt8, b String)", arrow: "string", values: ["(1, 'x')"] },
  doc: { type: "JSON", arrow: "string", values: [`'{"a": 18446744073709551615, "b": ["x", null]}'`] },
};

/** The columns of the table of all values, besides `id`. */
export const TABLE_COLUMNS = byEngine({ postgres: POSTGRES, clickhouse: CLICKHOUSE });

const takesNull = (type: string): boolean => byEngine({ postgres: true, clickhouse: /Nullable/.test(type) });

/** Statements that fill `@.special` with rows in which every column has each of its values, and null. */
export function tableOfValues(rows: number): readonly string[] {
  const columns = Object.entries(TABLE_COLUMNS);
  const value = ({ type, values }: TableColumn): string => {
    const all = takesNull(type) ? [...values, "NULL"] : values;
    const id = byEngine({ postgres: "i", clickhouse: "number" });
    const cases = all.map((each, n) => `WHEN ${String(n)} THEN ${cast(each, type)}`);
    return `CASE ${id} % ${String(all.length)} ${cases.join(" ")} ELSE ${cast(all[0] ?? "NULL", type)} END`;
  };
  const selected = columns.map(([name, column]) => `${value(column)} AS ${name}`).join(", ");
  return byEngine({
    postgres: [
      `CREATE TABLE @.special (id int, ${columns.map(([name, { type }]) => `${name} ${type}`).join(", ")})`,
      `INSERT INTO @.special SELECT i, ${selected} FROM generate_series(1, ${String(rows)}) i`,
    ],
    clickhouse: [
      `CREATE TABLE @.special (id Int32, ${columns.map(([name, { type }]) => `${name} ${type}`).join(", ")})
        ENGINE = MergeTree ORDER BY id`,
      `INSERT INTO @.special SELECT toInt32(number), ${selected} FROM numbers(1, ${String(rows)})`,
    ],
  });
}

function cast(value: string, type: string): string {
  return `CAST(${value} AS ${type})`;
}

import { byEngine } from "../../support/engines.js";

/** A column of a binary table: its type in the database and in Arrow, and values as SQL. */
interface TableColumn {
  readonly type: string;
  readonly arrow: string;
  readonly values: readonly string[];
}

const column = (type: string, arrow: string, ...values: readonly string[]): TableColumn => ({
  type,
  arrow,
  values,
});

const TEXTS = ["'Straße'", "'😀 日本'", "''", "'a,b\"c'", "'null'", "'NaN'", "'x'"];
const UTC = "timestamp[us, tz=UTC]";

const POSTGRES: Readonly<Record<string, TableColumn>> = {
  small: column("int2", "int32", "-32768", "32767", "0"),
  whole: column("int4", "int32", "-2147483648", "2147483647", "7"),
  wide: column("int8", "int64", "9223372036854775807", "'-9223372036854775808'", "9007199254740993"),
  money: column(
    "numeric(12,2)",
    "decimal128(12, 2)",
    "12.30",
    "-0.05",
    "'NaN'",
    "9999999999.99",
    "-9999999999.99",
    "0",
  ),
  precise: column(
    "numeric(38,18)",
    "decimal128(38, 18)",
    "99999999999999999999.999999999999999999",
    "-99999999999999999999.999999999999999999",
    "0.000000000000000001",
  ),
  long: column(
    "numeric(38,0)",
    "decimal128(38, 0)",
    "99999999999999999999999999999999999999",
    "-18446744073709551616",
    "1",
  ),
  cents: column("numeric(5,2)", "decimal128(5, 2)", "999.99", "-1", "0.10"),
  longer: column("numeric(40,2)", "string", "12345678901234567890123456789012345678.90", "'NaN'", "-0.10"),
  bare: column("numeric", "string", "12.30", "'NaN'", "'-Infinity'", "18446744073709551615", "1e-20"),
  ratio: column("float8", "double", "'NaN'", "'Infinity'", "'-0'", "0.1", "1e300", "5e-324"),
  single: column("float4", "float", "0.1", "'NaN'", "3.4e38", "'-Infinity'"),
  flag: column("boolean", "bool", "true", "false"),
  label: column("text", "string", ...TEXTS),
  short: column("varchar(9)", "string", ...TEXTS),
  padded: column("char(3)", "string", "'a'", "'abc'"),
  code: column("uuid", "string", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
  day: column(
    "date",
    "date32[day]",
    "'2024-02-29'",
    "'1970-01-01'",
    "'1899-12-31'",
    "'0044-03-15 BC'",
    "'12024-01-02'",
    "'infinity'",
  ),
  at: column(
    "timestamptz",
    UTC,
    "'2024-02-29 23:59:59.999999+00'",
    "'2024-03-01 00:00+02'",
    "'1969-12-31 23:59:59.9+00'",
    "'0044-03-15 12:00:00+00 BC'",
    "'12024-01-01 00:00+00'",
    "'-infinity'",
  ),
  local: column("timestamp", UTC, "'2024-07-15 00:30:00.5'", "'1000-01-01 00:00'", "'infinity'"),
  doc: column("jsonb", "string", `'{"b": 1.10, "a": ["x", null]}'`, `'"te\\"xt"'`, "'null'", "'7'"),
  raw: column("json", "string", `'{"a":\n18446744073709551615}'`, "'[]'"),
  bytes: column("bytea", "string", "'\\x00ff'", "''"),
  span: column("interval", "string", "'1 day 02:00:00'", "'-3 mons'"),
  clock: column("time", "string", "'01:02:03.5'"),
  host: column("inet", "string", "'10.0.0.0/8'", "'::1'"),
  list: column("numeric[]", "string", "'{1.50,NaN,NULL}'", "'{}'"),
  texts: column("text[]", "string", "ARRAY['a\"', NULL]"),
};

const CLICKHOUSE: Readonly<Record<string, TableColumn>> = {
  u8: column("UInt8", "uint8", "255", "0"),
  u64: column("UInt64", "uint64", "18446744073709551615", "1"),
  i64: column("Nullable(Int64)", "int64", "9223372036854775807", "-9223372036854775808"),
  i16: column("Int16", "int16", "-32768", "32767"),
  i128: column("Nullable(Int128)", "string", "'-170141183460469231731687303715884105728'"),
  u256: column("UInt256", "string", `'${String(2n ** 256n - 1n)}'`, "7"),
  money: column("Nullable(Decimal(18, 4))", "decimal128(18, 4)", "'12.30'", "'-0.0005'"),
  small: column("Decimal(9, 2)", "decimal128(9, 2)", "'9999999.99'", "'-1'"),
  precise: column(
    "Decimal(38, 18)",
    "decimal128(38, 18)",
    "'99999999999999999999.999999999999999999'",
    "'-1'",
  ),
  longer: column("Decimal(76, 38)", "string", "'1.5'", "'-12345678901234567890123456789012345678.1'"),
  ratio: column("Float64", "double", "nan", "inf", "-0.", "0.1 + 0.2", "1e300"),
  single: column("Nullable(Float32)", "float", "0.1", "nan", "-inf"),
  flag: column("Bool", "bool", "true", "false"),
  label: column("Nullable(String)", "string", ...TEXTS, "unhex('ff41')", "unhex('4aea78')", "unhex('e282')"),
  word: column("LowCardinality(Nullable(String))", "string", ...TEXTS),
  must: column("LowCardinality(String)", "string", ...TEXTS),
  fixed: column("FixedString(8)", "string", "'abc'", "''", "unhex('c3ff00')"),
  kind: column("Enum8('so, ''so''' = 1, 'b' = 2)", "string", "'so, ''so'''", "'b'"),
  code: column("Nullable(UUID)", "string", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
  v4: column("IPv4", "string", "'10.0.0.1'"),
  v6: column("Nullable(IPv6)", "string", "'::1'"),
  day: column("Date", "date32[day]", "'2024-02-29'", "'2149-06-06'"),
  days: column("Nullable(Date32)", "date32[day]", "'1900-01-01'", "'2299-12-31'"),
  at: column("DateTime", "timestamp[ms, tz=UTC]", "'2024-01-02 03:04:05'", "'1970-01-01 00:00:00'"),
  zoned: column("Nullable(DateTime('Asia/Kolkata'))", "timestamp[ms, tz=UTC]", "'2024-01-02 03:04:05'"),
  micro: column(
    "DateTime64(6, 'America/Sao_Paulo')",
    UTC,
    "'2024-07-01 00:00:00.000001'",
    "'1900-01-01 12:00:00'",
  ),
  centi: column("DateTime64(2)", "timestamp[ms, tz=UTC]", "'2299-12-31 23:59:59.99'"),
  nano: column("DateTime64(9)", "timestamp[ns, tz=UTC]", "'2024-01-02 03:04:05.123456789'"),
  span: column("IntervalDay", "int64", "toIntervalDay(3)"),
  list: column("Array(UInt64)", "string", "[18446744073709551615, 1]", "[]"),
  floats: column("Array(Float64)", "string", "[1.5, nan]"),
  texts: column("Array(String)", "string", "[unhex('ff41'), 'x']"),
  map: column("Map(String, UInt64)", "string", "map('a', 18446744073709551615)"),
  object: column("Tuple(a UInt8, b String)", "string", "(1, 'x')"),
  doc: column("JSON", "string", `'{"a": 18446744073709551615, "b": ["x", null]}'`),
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

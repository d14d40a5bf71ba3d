import { describe, expect, it } from "vitest";
import { typeInCopy } from "../../generator/catalogue/types/type-in-copy.js";
import { clickhouse, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { ownSchema, query } from "../support/database.js";

/** Adapter and type text, and the types of a copy of a nullable column; null where the engine has none. */
const TYPES: readonly (readonly [
  adapter: string,
  text: string,
  postgres: string | null,
  clickhouse: string | null,
])[] = [
  ["snowflake", "NUMBER(38,0)", "numeric(38,0)", "Nullable(Decimal(38, 0))"],
  ["snowflake", "NUMBER", "numeric(38,0)", "Nullable(Decimal(38, 0))"],
  ["snowflake", "number(12, 2)", "numeric(12,2)", "Nullable(Decimal(12, 2))"],
  ["snowflake", "BIGINT", "numeric(38,0)", "Nullable(Decimal(38, 0))"],
  ["snowflake", "FLOAT", "double precision", "Nullable(Float64)"],
  ["snowflake", "VARCHAR(16777216)", "text", "Nullable(String)"],
  ["snowflake", "BINARY(8388608)", "bytea", "Nullable(String)"],
  ["snowflake", "TIMESTAMP_NTZ(9)", "timestamp without time zone", "Nullable(DateTime64(9, 'UTC'))"],
  ["snowflake", "TIMESTAMP_LTZ", "timestamp with time zone", "Nullable(DateTime64(9, 'UTC'))"],
  ["snowflake", "TIMESTAMP_TZ(3)", "timestamp with time zone", "Nullable(DateTime64(3, 'UTC'))"],
  ["snowflake", "TIME(9)", "time", "Nullable(String)"],
  ["snowflake", "VARIANT", "json", "Nullable(String)"],
  ["snowflake", "ARRAY", "json", "Nullable(String)"],
  ["snowflake", "ARRAY(NUMBER(10,0) NOT NULL)", "numeric(10,0)[]", "Array(Nullable(Decimal(10, 0)))"],
  [
    "snowflake",
    "OBJECT(a NUMBER(3,0), b VARCHAR)",
    "json",
    "Tuple(a Nullable(Decimal(3, 0)), b Nullable(String))",
  ],
  ["snowflake", "BOOLEAN", "boolean", "Nullable(Bool)"],
  ["snowflake", "constructor", null, null],
  ["snowflake", "hasOwnProperty(1)", null, null],
  ["snowflake", "ARRAY(toString)", "json", "Nullable(String)"],
  ["bigquery", "valueOf", null, null],
  ["bigquery", "STRUCT<a __proto__>", null, null],
  ["bigquery", "INT64", "bigint", "Nullable(Int64)"],
  ["bigquery", "NUMERIC", "numeric(38,9)", "Nullable(Decimal(38, 9))"],
  ["bigquery", "NUMERIC(10, 2)", "numeric(10,2)", "Nullable(Decimal(10, 2))"],
  ["bigquery", "BIGNUMERIC", "numeric(76,38)", "Nullable(Decimal(76, 38))"],
  ["bigquery", "DATETIME", "timestamp without time zone", "Nullable(DateTime64(6, 'UTC'))"],
  ["bigquery", "TIMESTAMP", "timestamp with time zone", "Nullable(DateTime64(6, 'UTC'))"],
  ["bigquery", "GEOGRAPHY", "text", "Nullable(String)"],
  ["bigquery", "BYTES", "bytea", "Nullable(String)"],
  ["bigquery", "ARRAY<STRING>", "text[]", "Array(Nullable(String))"],
  [
    "bigquery",
    "ARRAY<STRUCT<id INT64, `odd name` ARRAY<DATE>>>",
    "json",
    "Array(Tuple(id Nullable(Int64), `odd name` Array(Nullable(Date32))))",
  ],
  ["databricks", "long", "bigint", "Nullable(Int64)"],
  ["databricks", "decimal(38,18)", "numeric(38,18)", "Nullable(Decimal(38, 18))"],
  ["databricks", "timestamp", "timestamp with time zone", "Nullable(DateTime64(6, 'UTC'))"],
  ["databricks", "timestamp_ntz", "timestamp without time zone", "Nullable(DateTime64(6, 'UTC'))"],
  ["databricks", "map<string,array<int>>", "json", "Map(String, Array(Nullable(Int32)))"],
  [
    "spark",
    "struct<a:int,b:struct<c:string>>",
    "json",
    "Tuple(a Nullable(Int32), b Tuple(c Nullable(String)))",
  ],
  ["duckdb", "HUGEINT", "numeric(39,0)", "Nullable(Int128)"],
  ["duckdb", "UBIGINT", "numeric(20,0)", "Nullable(UInt64)"],
  ["duckdb", "UTINYINT", "smallint", "Nullable(UInt8)"],
  ["duckdb", "DECIMAL", "numeric(18,3)", "Nullable(Decimal(18, 3))"],
  ["duckdb", "TIMESTAMP_NS", "timestamp without time zone", "Nullable(DateTime64(9, 'UTC'))"],
  ["duckdb", "TIMESTAMP WITH TIME ZONE", "timestamp with time zone", "Nullable(DateTime64(6, 'UTC'))"],
  ["duckdb", "INTEGER[]", "integer[]", "Array(Nullable(Int32))"],
  ["duckdb", "INTEGER[3][]", "json", "Array(Array(Nullable(Int32)))"],
  [
    "duckdb",
    `STRUCT("a b" INTEGER, c VARCHAR[])`,
    "json",
    "Tuple(`a b` Nullable(Int32), c Array(Nullable(String)))",
  ],
  ["duckdb", "MAP(VARCHAR, DOUBLE)", "json", "Map(String, Nullable(Float64))"],
  ["duckdb", "ENUM('a', 'b')", "text", "Nullable(String)"],
  ["sqlserver", "bit", "boolean", "Nullable(Bool)"],
  ["sqlserver", "tinyint", "smallint", "Nullable(UInt8)"],
  ["sqlserver", "datetime2(7)", "timestamp without time zone", "Nullable(DateTime64(7, 'UTC'))"],
  ["sqlserver", "datetimeoffset", "timestamp with time zone", "Nullable(DateTime64(7, 'UTC'))"],
  ["sqlserver", "money", "numeric(19,4)", "Nullable(Decimal(19, 4))"],
  ["sqlserver", "uniqueidentifier", "uuid", "Nullable(UUID)"],
  ["sqlserver", "float(24)", "real", "Nullable(Float32)"],
  ["sqlserver", "nvarchar(max)", "text", "Nullable(String)"],
  ["redshift", "super", "json", "Nullable(String)"],
  ["redshift", "character varying(256)", "text", "Nullable(String)"],
  ["trino", "timestamp(3) with time zone", "timestamp with time zone", "Nullable(DateTime64(3, 'UTC'))"],
  ["athena", "row(a bigint, b varchar(10))", "json", "Tuple(a Nullable(Int64), b Nullable(String))"],
  ["postgres", "numeric", "numeric", null],
  ["postgres", "timestamptz", "timestamp with time zone", "Nullable(DateTime64(6, 'UTC'))"],
  ["clickhouse", "LowCardinality(Nullable(String))", "text", "Nullable(String)"],
  ["clickhouse", "UInt64", "numeric(20,0)", "Nullable(UInt64)"],
  ["clickhouse", "DateTime64(6, 'UTC')", "timestamp with time zone", "Nullable(DateTime64(6, 'UTC'))"],
  ["oracle", "integer", "integer", "Nullable(Int32)"],
  ["oracle", "SDO_GEOMETRY", null, null],
  ["snowflake", "NUMBER(38,0", null, null],
  ["duckdb", `${"STRUCT(a ".repeat(40)}INTEGER${")".repeat(40)}`, null, null],
  ["bigquery", "ARRAY<X'; DROP TABLE t -->", null, null],
];

describe("the type of a copy's column", () => {
  it.each(TYPES)("%s %s", (adapter, text, postgres, clickhouseType) => {
    expect(typeInCopy(adapter, "postgres", text, false)).toBe(postgres);
    expect(typeInCopy(adapter, "clickhouse", text, false)).toBe(clickhouseType);
  });

  it("is not Nullable in ClickHouse where nulls are excluded", () => {
    expect(typeInCopy("snowflake", "clickhouse", "NUMBER(38,0)", true)).toBe("Decimal(38, 0)");
    expect(typeInCopy("bigquery", "clickhouse", "ARRAY<INT64>", true)).toBe("Array(Nullable(Int64))");
  });
});

const columnsOf = (types: readonly (string | null)[]): string =>
  types.flatMap((type, i) => (type === null ? [] : [`c${String(i)} ${type}`])).join(", ");

it("PostgreSQL has these types under these names", async () => {
  const types = [...new Set(TYPES.map(([, , type]) => type))].filter((type) => type !== null);
  const schema = await ownSchema(`CREATE TABLE @.copied (${columnsOf(types)})`);
  const rows = await query(
    `SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = '"${schema}".copied'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  const inFull = (type: string): string => type.replace(/^time$/, "time without time zone");
  expect(rows.map(({ type }) => type)).toEqual(types.map(inFull));
});

it.skipIf(!hasClickhouse)("ClickHouse has these types under these names", async () => {
  const types = [...new Set(TYPES.map(([, , , type]) => type))].filter((type) => type !== null);
  const database = await ownDatabase([`CREATE TABLE @.copied (${columnsOf(types)}) ENGINE = Memory`]);
  const text = await clickhouse(`DESCRIBE TABLE ${database}.copied FORMAT JSONCompact`);
  const { data } = JSON.parse(text) as { readonly data: readonly (readonly [name: string, type: string])[] };
  const onOneLine = (type: string): string => type.replaceAll(/\s+/g, " ").replaceAll("( ", "(");
  expect(data.map(([, type]) => onOneLine(type))).toEqual(types);
});

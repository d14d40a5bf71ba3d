/** Parquet of several writers: the same values, whatever the physical types of the file. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { clickhouse, hasClickhouse } from "../support/clickhouse.js";
import { needs, programPath } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";
import { runPython } from "./python.js";

/** As dbt-spark declares them. */
const COLUMNS = {
  id: "bigint",
  small: "smallint",
  amount: "decimal(20,4)",
  wide: "decimal(38,10)",
  at: "timestamp",
  day: "date",
  ratio: "double",
  label: "string",
  flag: "boolean",
  tags: "array<string>",
  amounts: "array<decimal(10,2)>",
  point: "struct<x:int,y:string>",
};

const ROW = {
  id: "9007199254740993",
  small: "-7",
  amount: "1234567890123456.7891",
  wide: "1234567890123456789012345678.0123456789",
  at: "2026-01-02T03:04:05.678901Z",
  day: "2026-01-02",
  ratio: "0.1",
  label: "ä\\u0022\\n",
  flag: "true",
};

const TABLE = `{
  'id': pa.array([9007199254740993, None], pa.int64()),
  'small': pa.array([-7, None], pa.int16()),
  'amount': pa.array([D('1234567890123456.7891'), None], pa.decimal128(20, 4)),
  'wide': pa.array([D('1234567890123456789012345678.0123456789'), None], pa.decimal128(38, 10)),
  'at': pa.array([d.datetime(2026, 1, 2, 3, 4, 5, 678901), None], pa.timestamp('us', tz='UTC')),
  'day': pa.array([d.date(2026, 1, 2), None]),
  'ratio': pa.array([0.1, None]),
  'label': pa.array(['ä"\\n', None]),
  'flag': pa.array([True, None]),
  'tags': pa.array([['a', None], []], pa.list_(pa.string())),
  'amounts': pa.array([[D('1.20')], []], pa.list_(pa.decimal128(10, 2))),
  'point': pa.array([{'x': 1, 'y': 'b'}, {'x': None, 'y': None}], pa.struct([('x', pa.int32()), ('y', pa.string())])),
}`;

const PARQUET = "application/vnd.apache.parquet";

const duckdb = (sql: string): Promise<unknown> => promisify(execFile)(programPath("duckdb"), ["-c", sql]);

/** By writer: writes the rows of a file of pyarrow to another file. */
const WRITERS: Readonly<Record<string, (from: string, to: string) => Promise<unknown>>> = {
  pyarrow: (_, to) => writeParquet(to, TABLE),
  "pyarrow with pages of version 2 and without a dictionary": (_, to) =>
    writeParquet(to, TABLE, "data_page_version='2.0', use_dictionary=False, compression='zstd'"),
  // Times as INT96, decimals as whole numbers where these hold them, and 1 row to a group.
  "as Spark writes": (_, to) =>
    writeParquet(
      to,
      TABLE,
      "use_deprecated_int96_timestamps=True, store_decimal_as_integer=True, row_group_size=1, compression='snappy'",
    ),
  // Names in upper case, times without a zone.
  "as Snowflake writes": (_, to) =>
    writeParquet(
      to,
      TABLE.replaceAll(/^ {2}'(\w+)'/gm, (_all, name: string) => `  '${name.toUpperCase()}'`).replace(
        "pa.timestamp('us', tz='UTC')",
        "pa.timestamp('us')",
      ),
    ),
  // Decimals of 16 bytes, times in UTC without a zone, lists with the names of the format.
  "as BigQuery writes": (_, to) =>
    writeParquet(
      to,
      TABLE.replace("pa.timestamp('us', tz='UTC')", "pa.timestamp('us')").replaceAll(
        /decimal128\(20, 4\)/g,
        "decimal128(38, 4)",
      ),
      "use_compliant_nested_type=True, compression='snappy', version='2.6'",
    ),
  // Times as INT96, lists whose elements have another name, gzip, no statistics.
  "as Athena, Trino and Hive write": (_, to) =>
    writeParquet(
      to,
      TABLE,
      "use_deprecated_int96_timestamps=True, use_compliant_nested_type=False, compression='gzip', write_statistics=False, version='1.0'",
    ),
  // Small pages, names in lower case, decimals by their bytes.
  "as Redshift writes": (_, to) =>
    writeParquet(
      to,
      TABLE.replace("pa.timestamp('us', tz='UTC')", "pa.timestamp('us')"),
      "data_page_size=64, compression='snappy', version='1.0', coerce_timestamps='us'",
    ),
  DuckDB: (from, to) => duckdb(`COPY (SELECT * FROM read_parquet('${from}')) TO '${to}' (FORMAT parquet)`),
  ...(hasClickhouse && {
    ClickHouse: (from: string, to: string) =>
      clickhouse(
        `INSERT INTO FUNCTION file('${to}', Parquet) SELECT * FROM file('${from}', Parquet) SETTINGS engine_file_truncate_on_insert = 1`,
      ),
  }),
};

const hasWriters = needs("pyarrow", "duckdb");
const projects = await Promise.all(
  (hasWriters ? COPY_ENGINES : []).map(async (engine) => {
    const project = await CopiedProject.of(engine, "spark", { name: "orders", columns: COLUMNS });
    return { engine, project, url: await project.serve() };
  }),
);

describe.skipIf(!hasWriters)("a file", () => {
  const cases = Object.keys(WRITERS).flatMap((writer) =>
    projects.map(({ engine, ...each }) => [writer, engine, each] as const),
  );

  it.each(cases)("of %s is served exactly from %s", async (writer, _, { project, url }) => {
    await writeParquet(project.file("source.parquet"), TABLE);
    await WRITERS[writer]?.(project.file("source.parquet"), project.file("orders.parquet"));
    expect(await project.load()).toMatchObject({ exit: 0, err: "" });
    const text = await (await fetch(`${url}/v1/shop/orders`)).text();
    const rows = text.replaceAll(/([[{,:])\s+|\s+([\]}])/g, "$1$2");
    for (const [name, value] of Object.entries(ROW)) {
      const shown =
        /^(?:-?[\d.]+|true)$/.test(value) && name !== "day"
          ? value
          : JSON.stringify(value).replaceAll("\\\\", "\\").replace("\\u0022", '\\"');
      expect(rows).toContain(`"${name}":${shown}`);
    }
    expect(rows).toContain('"tags":["a",null]');
    expect(rows).toMatch(/"amounts":\[1\.20?\]/);
    expect(rows.replaceAll(/:\s+/g, ":")).toMatch(/"point":\{"x":1,"y":"b"\}/);
    const lines = await (await fetch(`${url}/v1/shop/orders.ndjson`)).text();
    for (const value of [ROW.id, ROW.amount, ROW.wide]) expect(lines).toContain(`:${value}`);
    const parquet = await fetch(`${url}/v1/shop/orders`, { headers: { accept: PARQUET } });
    expect([parquet.status, parquet.headers.get("content-type")]).toEqual([200, PARQUET]);
    writeFileSync(project.file("served.parquet"), Buffer.from(await parquet.arrayBuffer()));
    const [served, read] = ["served.parquet", "read.txt"].map((name) => project.file(name)) as [
      string,
      string,
    ];
    await runPython(
      `row = [r for r in pq.read_table(${JSON.stringify(served)}).to_pylist() if r['id'] is not None][0]
with open(${JSON.stringify(read)}, 'w') as file: print(row, file=file)`,
    );
    for (const value of [ROW.id, ROW.amount, ROW.wide]) expect(readFileSync(read, "utf8")).toContain(value);
    const csv = await (await fetch(`${url}/v1/shop/orders.csv`)).text();
    for (const value of [ROW.id, ROW.amount, ROW.wide, ROW.day]) expect(csv).toContain(value);
  });
});

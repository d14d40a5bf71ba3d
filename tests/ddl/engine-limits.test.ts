/** Values that the served type of one engine holds and that of the other does not, and what a reader cannot read. */
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";
import { casesOf, type Limit, unfit } from "./limits.js";

const NS = "pa.array([1000, 1], pa.time64('ns'))";
const NS_LISTS = "pa.array([[1000], [1]], pa.list_(pa.time64('ns')))";
const NS_RECORDS = "pa.array([{'x': 1000}, {'x': 1}], pa.struct([('x', pa.time64('ns'))]))";
const OLD_DUCKDB = /column v: the export has times of day in nanoseconds.+DuckDB 1\.5\.6/;
const INT96 = "use_deprecated_int96_timestamps=True";

const LIMITS: Readonly<Record<string, Limit>> = {
  "a timestamp beyond ClickHouse's years": {
    type: "TIMESTAMP",
    values: "pa.array([d.datetime(2026, 1, 1), d.datetime(2300, 1, 1)], pa.timestamp('us'))",
    is: {
      postgres: ["2026-01-01T00:00:00Z", "2300-01-01T00:00:00Z"],
      clickhouse: unfit(
        "2300-01-01 00:00:00.000000",
        ".+DateTime64\\(6, 'UTC'\\)\\)",
        ".+DateTime64\\(6, 'UTC'\\)\\)",
      ),
    },
  },
  "a date beyond ClickHouse's years": {
    type: "DATE",
    values: "pa.array([d.date(2026, 1, 1), d.date(2400, 2, 29)])",
    is: {
      postgres: ["2026-01-01", "2400-02-29"],
      clickhouse: unfit("2400-02-29", "Nullable\\(Date32\\)", "Nullable\\(Date32\\)"),
    },
  },
  "a date before them": {
    type: "DATE",
    values: "pa.array([None, d.date(1899, 12, 31)])",
    is: {
      postgres: [null, "1899-12-31"],
      clickhouse: unfit("1899-12-31", "Nullable\\(Date32\\)", "Nullable\\(Date32\\)"),
    },
  },
  "an INT96 below a microsecond, which DuckDB cuts and ClickHouse reads": {
    type: "TIMESTAMP",
    values: "pa.array([1000, 1], pa.timestamp('ns'))",
    options: INT96,
    is: {
      postgres: ["1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00Z"],
      clickhouse: unfit(
        "1970-01-01 00:00:00.000000001",
        ".+DateTime64\\(6, 'UTC'\\)\\)",
        ".+DateTime64\\(9, 'UTC'\\)\\)",
      ),
    },
    says: { postgres: /: v has times as INT96, of which DuckDB reads microseconds/ },
  },
  "an INT96 in a list": {
    type: "TIMESTAMP[]",
    values: "pa.array([[1000]], pa.list_(pa.timestamp('ns')))",
    options: INT96,
    is: { postgres: [["1970-01-01T00:00:00.000001Z"]], clickhouse: [["1970-01-01T00:00:00.000001Z"]] },
    says: { postgres: /: v has times as INT96/ },
  },
  "a time of day in nanoseconds": {
    type: "TIME",
    values: NS,
    is: { postgres: OLD_DUCKDB, clickhouse: ["00:00:00.000001000", "00:00:00.000000001"] },
  },
  "one in whole microseconds": {
    type: "TIME",
    values: "pa.array([1000, None, 86399999999000], pa.time64('ns'))",
    is: { postgres: OLD_DUCKDB, clickhouse: ["00:00:00.000001000", null, "23:59:59.999999000"] },
  },
  "a list of them": {
    type: "TIME[]",
    values: NS_LISTS,
    is: { postgres: OLD_DUCKDB, clickhouse: [["00:00:00.000001000"], ["00:00:00.000000001"]] },
  },
  "a struct of them": {
    type: "STRUCT(x TIME)",
    values: NS_RECORDS,
    is: { postgres: OLD_DUCKDB, clickhouse: [{ x: "00:00:00.000001000" }, { x: "00:00:00.000000001" }] },
  },
};

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("%s, of a copy", async (engine) => {
  const cases = await casesOf(engine, LIMITS);
  it.each(Object.keys(LIMITS))("loads or refuses %s", (name) => cases(name));

  it.each([
    ["gz", gzipSync],
    ["zst", (bytes: Buffer) => Buffer.concat([Buffer.from("28b52ffd", "hex"), bytes])],
  ] as const)("refuses a whole file that is compressed as .%s", async (ending, compressed) => {
    const project = await CopiedProject.of(engine, "duckdb", { name: "orders", columns: { id: "INTEGER" } });
    await writeParquet(project.file("0.parquet"), "{'id': [1]}");
    const file = project.file(`1.parquet.${ending}`);
    writeFileSync(file, compressed(readFileSync(project.file("0.parquet"))));
    for (const from of ["*.parquet*", `1.parquet.${ending}`]) {
      const { exit, err } = await project.ddl(["--from", from, "--apply"]);
      const said = expect.stringContaining(`${file} is compressed as a whole: unpack it`) as string;
      expect({ exit, err }).toEqual({ exit: 2, err: said });
    }
  });
});

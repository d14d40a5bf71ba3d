/** What a file holds is what is served, or the load is refused: on both engines alike. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

interface Situation {
  /** Of the copy, as Snowflake and DuckDB declare them. */
  readonly columns: Readonly<Record<string, string>>;
  /** Path below `<name>/` → table of pyarrow. */
  readonly files: Readonly<Record<string, string>>;
  readonly from?: string;
  /** Rows as the endpoint serves them, sorted by their texts, or what the refusal says. */
  readonly is: readonly Readonly<Record<string, unknown>>[] | RegExp;
  /** What `ddl` says of a load. */
  readonly says?: RegExp;
}

const DAYS = "d.date(2026, 1, 1), d.date(2026, 1, 2)";
const one = (table: string): Situation["files"] => ({ "part.parquet": table });

const SITUATIONS: Readonly<Record<string, Situation>> = {
  "a column that a folder has too is the file's": {
    columns: { day: "DATE" },
    files: { "day=2026-11-28/part.parquet": `{'day': pa.array([${DAYS}])}` },
    from: "*/*.parquet",
    is: [{ day: "2026-01-01" }, { day: "2026-01-02" }],
    says: /part\.parquet: the column day has 2026-01-01, another value than the folder: the column is loaded\./,
  },
  "whole numbers and texts too": {
    columns: { year: "INTEGER", env: "VARCHAR" },
    files: { "year=2020/env=x/part.parquet": "{'year': [1], 'env': ['y']}" },
    from: "*/*/*.parquet",
    is: [{ year: 1, env: "y" }],
    says: /column year has 1[^]+column env has y/,
  },
  "a column that no file has is the folder's, by its type": {
    columns: { id: "INTEGER", Day: "DATE", env: "VARCHAR", code: "VARCHAR", n: "INTEGER", at: "TIMESTAMP" },
    files: {
      "day=2026-11-28/env=a%20b+/code=007/n=007/at=2026-01-02 03%3A04%3A05/part.parquet": "{'id': [1]}",
      "day=__HIVE_DEFAULT_PARTITION__/env=x/code=8/n=8/at=2026-01-02/part.parquet": "{'id': [2]}",
    },
    from: "*/*/*/*/*/*.parquet",
    is: [
      { id: 1, Day: "2026-11-28", env: "a b+", code: "007", n: 7, at: "2026-01-02T03:04:05" },
      { id: 2, Day: null, env: "x", code: "8", n: 8, at: "2026-01-02T00:00:00" },
    ],
    says: /no file has Day, env, code, n, at: loaded from the names of folders\./,
  },
  "a folder that its type does not hold": {
    columns: { id: "INTEGER", n: "INTEGER" },
    files: { "n=x/part.parquet": "{'id': [1]}" },
    from: "*/*.parquet",
    is: /n=x\/part\.parquet, row group 0, row 0: the value x of n does not fit .+ \(the name of a folder in the file\)/,
  },
  "names that differ in letter case": {
    columns: { id: "INTEGER" },
    files: one("pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=['ID', 'id'])"),
    is: /has several columns that id may mean.*: ID, id\./,
  },
  "a name that is there twice": {
    columns: { id: "INTEGER" },
    files: one("pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=['id', 'id'])"),
    is: /has several columns that id may mean.*: id, id\./,
  },
  "whole numbers of another type": {
    columns: { id: "BIGINT", small: "SMALLINT", whole: "INTEGER", flag: "BOOLEAN" },
    files: one(
      "{'id': pa.array([5], pa.uint64()), 'small': pa.array([D('7.00')]), 'whole': pa.array([3.0]), 'flag': pa.array([1])}",
    ),
    is: [{ id: 5, small: 7, whole: 3, flag: true }],
  },
  "decimals without digits before the point, also in a struct": {
    columns: { amount: "DECIMAL(10,4)", point: "STRUCT(x DECIMAL(3,3))" },
    files: one(
      "{'amount': pa.array([D('-0.074')], pa.decimal128(3, 3)), 'point': pa.array([{'x': D('0.5')}], pa.struct([('x', pa.decimal128(3, 3))]))}",
    ),
    is: [{ amount: -0.074, point: { x: 0.5 } }],
  },
  "a number of 64 bits without a sign": {
    columns: { id: "BIGINT" },
    files: one("{'id': pa.array([1, 2**63], pa.uint64())}"),
    is: /row 1: the value 9223372036854775808 of id does not fit .+ \((?:UBIGINT|Nullable\(UInt64\)) in the file\)/,
  },
  "a whole number that a float rounds": {
    columns: { id: "DOUBLE" },
    files: one("{'id': pa.array([2**53, 2**53 + 1])}"),
    is: /row 1: the value 9007199254740993 of id does not fit/,
  },
  "floats without a value": {
    columns: { id: "INTEGER", ratio: "DOUBLE", single: "FLOAT" },
    files: one(
      "{'id': [1, 2], 'ratio': pa.array([float('nan'), 0.5]), 'single': pa.array([float('nan'), 0.5], pa.float64())}",
    ),
    is: [
      { id: 1, ratio: null, single: null },
      { id: 2, ratio: 0.5, single: 0.5 },
    ],
  },
  "a column of nulls": {
    columns: { id: "INTEGER", day: "DATE", name: "VARCHAR", at: "TIMESTAMP" },
    files: one("{'id': [1], 'day': pa.nulls(1), 'name': pa.nulls(1), 'at': pa.nulls(1)}"),
    is: [{ id: 1, day: null, name: null, at: null }],
  },
  "the last moment that ClickHouse has": {
    columns: { at: "TIMESTAMP" },
    files: one("{'at': pa.array([d.datetime(2299, 12, 31, 23, 59, 59, 999999)], pa.timestamp('us'))}"),
    is: [{ at: "2299-12-31T23:59:59.999999" }],
  },
  "files whose columns differ in order, type and number": {
    columns: { id: "BIGINT", amount: "DECIMAL(20,9)" },
    files: {
      "0.parquet": "{'id': pa.array([1], pa.int32()), 'amount': pa.array([D('1.50')], pa.decimal128(10, 2))}",
      "1.parquet":
        "{'amount': pa.array([D('0.000000001')], pa.decimal128(20, 9)), 'id': pa.array([2**40]), 'more': ['x']}",
      "2.parquet": "{'ID': pa.array([3], pa.uint8()), 'amount': pa.nulls(1)}",
    },
    is: [
      { id: 1, amount: 1.5 },
      { id: 1_099_511_627_776, amount: 0.000_000_001 },
      { id: 3, amount: null },
    ],
  },
  "a value of one file that does not fit": {
    columns: { id: "INTEGER" },
    files: { "0.parquet": "{'id': pa.array([1], pa.int32())}", "1.parquet": "{'id': pa.array([1, 2**40])}" },
    is: /1\.parquet, row group 0, row 1: the value 1099511627776 of id does not fit/,
  },
  "a file of another type": {
    columns: { id: "INTEGER" },
    files: { "0.parquet": "{'id': [1]}", "1.parquet": "{'id': ['1']}" },
    is: /column id: \S+1\.parquet: the export has .+ and the copy/,
  },
  "a file without a column that others have": {
    columns: { id: "INTEGER", name: "VARCHAR" },
    files: { "0.parquet": "{'id': [1], 'name': ['a']}", "1.parquet": "{'id': [2]}" },
    is: /has no column name in \S+1\.parquet, which other files have; it has id\./,
  },
};

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("an export loaded into %s", async (engine) => {
  const names = Object.keys(SITUATIONS);
  const project = await CopiedProject.of(
    engine,
    "duckdb",
    ...names.map((name, at) => ({
      name: `m${String(at)}`,
      columns: SITUATIONS[name]?.columns ?? {},
    })),
  );
  const url = await project.serve();

  it.each(names.map((name, at) => [name, `m${String(at)}`] as const))("%s", async (name, model) => {
    const { files, from = "*.parquet", is, says } = SITUATIONS[name] as Situation;
    for (const [path, table] of Object.entries(files)) {
      mkdirSync(dirname(project.file(`${model}/${path}`)), { recursive: true });
      await writeParquet(project.file(`${model}/${path}`), table);
    }
    const { exit, out, err } = await project.ddl(["--from", `{name}/${from}`, "--apply", "--select", model]);
    if (is instanceof RegExp) {
      expect({ exit, err }).toEqual({ exit: 2, err: expect.stringMatching(is) as string });
      return;
    }
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    if (says !== undefined) expect(out).toMatch(says);
    const rows = (await (await fetch(`${url}/v1/shop/${model}`)).json()) as readonly unknown[];
    const sorted = rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    // ClickHouse has no time without a zone.
    expect(JSON.parse(JSON.stringify(sorted).replaceAll(/(T[\d:.]+?)(?:\.000000)?Z"/g, '$1"'))).toEqual(is);
  });
});

/** What is left of a file, by what has happened to it. */
const DAMAGES: Readonly<Record<string, (file: Buffer) => string | Buffer>> = {
  "is cut off": (file) => file.subarray(0, -20),
  "is empty": () => "",
  "has an end that cannot be read": () => `PAR1${"x".repeat(100)}\x10\0\0\0PAR1`,
};

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("a file that %s cannot read", async (engine) => {
  const project = await CopiedProject.of(engine, "duckdb", { name: "orders", columns: { id: "INTEGER" } });

  it.each(Object.keys(DAMAGES))("is named among others, and what it has: it %s", async (damage) => {
    const files = ["0", "1", "2"].map((name) => project.file(`${name}.parquet`));
    for (const file of files) await writeParquet(file, "{'id': [1]}");
    const bad = files[1] ?? "";
    writeFileSync(bad, DAMAGES[damage]?.(readFileSync(bad)) ?? "");
    const { exit, err } = await project.ddl(["--from", "*.parquet", "--apply"]);
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining(bad) as string });
    expect(err).not.toMatch(/std::exception|e\.what|\(version|\n./);
  });
});

/** `routewright ddl --apply`: exports in Parquet become relations that are served. */
import { describe, expect, it } from "vitest";
import { queryClickhouse } from "../../scripts/clickhouse/start-clickhouse.js";
import { clickhouseUrl } from "../support/clickhouse.js";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const COLUMNS = {
  id: "NUMBER(38,0)",
  amount: "NUMBER(20,4)",
  paid_at: "TIMESTAMP_TZ(6)",
  noted_at: "TIMESTAMP_NTZ(6)",
  day: "DATE",
  at: "TIME(6)",
  rate: "FLOAT",
  name: "VARCHAR",
  raw: "BINARY",
  isopen: "BOOLEAN",
  tags: "ARRAY(VARCHAR)",
  parts: "ARRAY(NUMBER(10,2))",
  extra: "VARIANT",
};

/** As Snowflake exports them: names in upper case. */
const ORDERS = `{
  'ID': pa.array([1, 2**62, None], pa.int64()),
  'AMOUNT': pa.array([D('1234567890123456.7891'), None, D('-0.0001')], pa.decimal128(20, 4)),
  'PAID_AT': pa.array([d.datetime(2026, 1, 2, 3, 4, 5, 678901), None, d.datetime(1965, 1, 2)], pa.timestamp('us', tz='UTC')),
  'NOTED_AT': pa.array([d.datetime(2026, 1, 2, 3, 4, 5, 678901), None, d.datetime(1965, 1, 2)], pa.timestamp('us')),
  'DAY': pa.array([d.date(2026, 1, 2), None, d.date(1900, 1, 1)]),
  'AT': pa.array([d.time(3, 4, 5, 678901), None, d.time(0)], pa.time64('us')),
  'RATE': pa.array([0.1, None, 1e300]),
  'NAME': pa.array(['tab\\t line\\n back\\\\ quote" \\'', None, '\\\\N']),
  'RAW': pa.array([b'abc', None, b''], pa.binary()),
  'ISOPEN': pa.array([True, None, False]),
  'TAGS': pa.array([['a,"b\\\\', None, 'NULL'], [], ['']], pa.list_(pa.string())),
  'PARTS': pa.array([[D('1.20'), None], [], [D('0.01')]], pa.list_(pa.decimal128(10, 2))),
  'EXTRA': pa.array(['{"a": 1.10}', None, '[]']),
}`;

/** The rows of the file, as JSON has them. */
const EXPECTED = {
  1: {
    id: "1",
    amount: "1234567890123456.7891",
    paid_at: "2026-01-02T03:04:05.678901Z",
    day: "2026-01-02",
    rate: 0.1,
    name: "tab\t line\n back\\ quote\" '",
    isopen: true,
    tags: ['a,"b\\', null, "NULL"],
  },
  [String(2n ** 62n)]: {
    id: String(2n ** 62n),
    amount: null,
    paid_at: null,
    name: null,
    isopen: null,
    tags: [],
  },
  null: {
    id: null,
    amount: "-0.0001",
    paid_at: "1965-01-02T00:00:00Z",
    name: "\\N",
    rate: 1e300,
    tags: [""],
  },
};

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("a load of Parquet into %s", (engine) => {
  const orders = (columns: Readonly<Record<string, string>> = COLUMNS): Promise<CopiedProject> =>
    CopiedProject.of(engine, "snowflake", {
      name: "orders",
      columns,
      api: {
        parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
        sort: [{ column: "id", direction: "ASC" }],
        allow_unfiltered: true,
      },
    });

  it("serves every value as the file has it, in whatever letter case its columns are", async () => {
    const project = await orders();
    await writeParquet(project.file("orders.parquet"), ORDERS);
    expect(await project.load()).toMatchObject({
      exit: 0,
      out: `1 relation loaded: ${project.schema}.orders\n`,
    });
    const url = await project.serve();
    const text = await (await fetch(`${url}/v1/shop/orders`)).text();
    // Whole numbers and decimals of columns keep their digits as texts.
    const rows = JSON.parse(
      text.replaceAll(/("(?:id|amount)"\s*:\s*)(-?[\d.]+)/g, '$1"$2"'),
    ) as readonly Record<string, unknown>[];
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toMatchObject(EXPECTED[String(row["id"]) as "1"]);
    const parts = await project.rows(`SELECT parts FROM @.orders WHERE id = 1`);
    expect(JSON.stringify(parts)).toMatch(/1\.20?/);
    const [first] = rows.filter(({ id }) => id === "1");
    expect(first).toMatchObject({ at: expect.stringMatching(/^03:04:05\.678901$/) as string });
    expect(String(first?.["noted_at"])).toMatch(/^2026-01-02T03:04:05\.678901Z?$/);
  });

  it.each([
    ["a value that overflows", { id: "NUMBER(10,0)" }, "{'id': pa.array([2**62])}", /id does not fit/],
    [
      "digits that the scale does not hold",
      { id: "NUMBER(20,2)" },
      "{'id': pa.array([D('1.2345')])}",
      /id does not fit/,
    ],
    [
      "nanoseconds",
      { id: "TIMESTAMP_NTZ(6)" },
      "{'id': pa.array([1767323045678901234], pa.timestamp('ns'))}",
      /id does not fit/,
    ],
    [
      "a missing column",
      { id: "NUMBER(10,0)", other: "VARCHAR" },
      "{'id': pa.array([1])}",
      /has no column other; it has id/,
    ],
    [
      "floats that are no exact numbers",
      { id: "NUMBER(20,2)" },
      "{'id': pa.array([0.5, 0.1])}",
      /orders\.parquet, row group 0, row 1: the value 0\.1 of id does not fit .+ \((?:DOUBLE|Nullable\(Float64\)) in the file\)/,
    ],
    [
      "text for a number",
      { id: "NUMBER(20,2)" },
      "{'id': pa.array(['1.50'])}",
      /column id: the export has .+ and the copy/,
    ],
    [
      "a number for text",
      { id: "VARCHAR" },
      "{'id': pa.array([1])}",
      /column id: the export has .+ and the copy/,
    ],
  ])("refuses %s, and keeps the old rows", async (_, columns, table, problem) => {
    const project = await orders(columns);
    await writeParquet(project.file("orders.parquet"), table);
    const { exit, err } = await project.load();
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringMatching(problem) as string });
    expect(await project.rows(TABLES[engine])).toEqual([]);
  });

  it("replaces the rows of an earlier load, and keeps them where the next one fails", async () => {
    const project = await orders({ id: "NUMBER(10,0)" });
    const load = async (values: string) => {
      await writeParquet(project.file("orders.parquet"), `{'ID': pa.array(${values}, pa.int64())}`);
      const { exit } = await project.load();
      return [exit, (await project.rows("SELECT id FROM @.orders ORDER BY id")).map(({ id }) => Number(id))];
    };
    expect(await load("[1, 2]")).toEqual([0, [1, 2]]);
    expect(await load("[3]")).toEqual([0, [3]]);
    expect(await load("[4, 2**62]")).toEqual([2, [3]]);
    expect(await load("[]")).toEqual([0, []]);
    expect((await project.rows(TABLES[engine])).map(({ name }) => name)).toEqual(["orders"]);
  });

  it.runIf(engine === "clickhouse")(
    "replaces tables that are too large to be dropped by default",
    async () => {
      const project = await orders({ id: "NUMBER(10,0)" });
      const LOAD_DATABASE_URL = clickhouseUrl("loader", project.schema);
      for (const id of ["1", "2"]) {
        await writeParquet(project.file("orders.parquet"), `{'ID': pa.array([${id}], pa.int64())}`);
        const run = await project.ddl(["--from", "{name}.parquet", "--apply"], { LOAD_DATABASE_URL });
        expect(run).toMatchObject({ exit: 0 });
        expect(await project.rows("SELECT toString(id) AS id FROM @.orders")).toEqual([{ id }]);
      }
      const drop = `DROP TABLE ${project.schema}.orders SYNC`;
      await expect(queryClickhouse(LOAD_DATABASE_URL, drop)).rejects.toThrow(/size_to_drop/);
      expect(await project.rows(TABLES[engine])).toEqual([{ name: "orders" }]);
    },
  );

  it("refuses a null where the project excludes nulls", async () => {
    const project = await CopiedProject.of(engine, "snowflake", {
      name: "orders",
      columns: { id: "NUMBER(10,0)" },
      key: "id",
    });
    await writeParquet(project.file("orders.parquet"), "{'ID': pa.array([1, None], pa.int64())}");
    expect(await project.load()).toMatchObject({ exit: 2, err: expect.stringMatching(/null/i) as string });
  });

  it("does not replace a relation that it did not make", async () => {
    const project = await orders({ id: "NUMBER(10,0)" });
    const own = engine === "postgres" ? "" : "ENGINE = MergeTree ORDER BY id";
    await project
      .rows(`CREATE TABLE @.orders (id ${engine === "postgres" ? "bigint" : "Int64"}) ${own}`.trim())
      .catch(() => []);
    await writeParquet(project.file("orders.parquet"), "{'ID': pa.array([1], pa.int64())}");
    expect(await project.load()).toMatchObject({
      exit: 2,
      err: expect.stringContaining("was not made by") as string,
    });
  });

  it("takes columns and types of the export where the project declares none", async () => {
    const project = await CopiedProject.of(engine, "snowflake", { name: "orders" });
    await writeParquet(
      project.file("orders.parquet"),
      "{'Id': pa.array([1], pa.int64()), 'amount': pa.array([D('1.50')], pa.decimal128(10, 2))}",
    );
    const { out } = await project.ddl(["--from", "{name}.parquet"]);
    expect(out).toMatch(
      engine === "postgres"
        ? /"Id" bigint,\n\s+"amount" numeric\(10,2\)/
        : /"Id" Nullable\(Int64\),\n\s+"amount" Nullable\(Decimal\(10, 2\)\)/,
    );
    expect(await project.load()).toMatchObject({ exit: 0 });
    const url = await project.serve();
    const text = await (await fetch(`${url}/v1/shop/orders`)).text();
    expect(text.replaceAll(/\s/g, "")).toBe('[{"Id":1,"amount":1.50}]');
  });
});

const TABLES = {
  postgres: "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '@'",
  clickhouse: "SELECT name FROM system.tables WHERE database = '@'",
};

/** The printed script, run by the engine's own client. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { clickhouseLibrary } from "../../scripts/clickhouse/start-clickhouse.js";
import { hasClickhouse } from "../support/clickhouse.js";
import { databaseUrl, query } from "../support/database.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";
import { CopiedProject, writeParquet } from "./copies.js";

const MODEL = {
  name: "orders",
  columns: { id: "NUMBER(10,0)", 'it\'s "odd"': "VARCHAR", tags: "ARRAY(VARCHAR)" },
};
const exported = (ids: string): string =>
  `{'ID': pa.array(${ids}, pa.int64()), 'it\\'s "odd"': ['a\\t\\\\N'] * ${String(ids.split(",").length)}, 'tags': pa.array([['x, "y"', None]] * ${String(ids.split(",").length)}, pa.list_(pa.string()))}`;

interface Ended {
  readonly code: number;
  readonly text: string;
}

async function ended(program: string, args: readonly string[]): Promise<Ended> {
  return promisify(execFile)(program, args).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, text: stdout + stderr };
    },
  );
}

describe.skipIf(!needs("psql", "duckdb", "pyarrow"))("a script for psql", () => {
  it("loads the rows, again and again, and rolls a wrong file back", async () => {
    const project = await CopiedProject.of("postgres", "snowflake", MODEL);
    const file = project.file("orders.parquet");
    await writeParquet(file, exported("[1, 2]"));
    const { out, exit } = await project.ddl(["--from", "{name}.parquet"], { LOAD_DATABASE_URL: "" });
    expect(exit).toBe(0);
    writeFileSync(project.file("load.sql"), out);
    const psql = (): Promise<Ended> =>
      ended("psql", [
        "--no-psqlrc",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-f",
        project.file("load.sql"),
        databaseUrl,
      ]);
    const ids = async (): Promise<readonly unknown[]> =>
      (await query(`SELECT id FROM "${project.schema}".orders ORDER BY id`)).map(({ id }) => Number(id));
    expect((await psql()).code).toBe(0);
    expect(await query(`SELECT * FROM "${project.schema}".orders ORDER BY id LIMIT 1`)).toEqual([
      { id: "1", 'it\'s "odd"': "a\t\\N", tags: ['x, "y"', null] },
    ]);
    await writeParquet(file, exported("[3]"));
    expect((await psql()).code).toBe(0);
    expect(await ids()).toEqual([3]);
    await writeParquet(file, exported("[2**62]"));
    expect((await psql()).code).not.toBe(0);
    await writeParquet(file, "{'other': ['x']}");
    expect((await psql()).code).not.toBe(0);
    expect(await ids()).toEqual([3]);
  });
});

describe.skipIf(!needs("pyarrow") || !hasClickhouse)("a script for the client of ClickHouse", () => {
  it("loads the rows, again and again, and keeps them where the next file is wrong", async () => {
    const project = await CopiedProject.of("clickhouse", "snowflake", MODEL);
    const file = project.file("orders.parquet");
    await writeParquet(file, exported("[1, 2]"));
    const { out, exit } = await project.ddl(["--from", "{name}.parquet"]);
    expect(exit).toBe(0);
    const data = ownFolder();
    const server = join(import.meta.dirname, "../../scripts/clickhouse/server.py");
    // It ends at the first error, with 0.
    const local = (sql: string): Promise<Ended> =>
      ended("python3", [server, clickhouseLibrary() ?? "", `--path=${data}`, `--query=${sql}`]);
    await local(`CREATE DATABASE ${project.schema} ENGINE = Atomic`);
    // The library prints nothing.
    const rows = async (): Promise<unknown> => {
      const printed = join(data, "rows.json");
      const select = `SELECT * FROM ${project.schema}.orders ORDER BY id LIMIT 1`;
      await local(`${select} INTO OUTFILE '${printed}' TRUNCATE FORMAT JSONCompactEachRow`);
      return JSON.parse(readFileSync(printed, "utf8")) as unknown;
    };
    expect((await local(out)).text).toBe("");
    expect(await rows()).toEqual([1, "a\t\\N", ['x, "y"', null]]);
    await writeParquet(file, exported("[3]"));
    expect((await local(out)).text).toBe("");
    await writeParquet(file, exported("[2**62]"));
    expect((await local(out)).text).toMatch(/does not fit/);
    await writeParquet(file, "{'other': ['x']}");
    expect((await local(out)).text).toMatch(/^Code: \d+/);
    expect(await rows()).toEqual([3, "a\t\\N", ['x, "y"', null]]);
  });
});

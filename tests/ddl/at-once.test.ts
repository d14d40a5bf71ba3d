/** What happens to loads that run every night: two at once, a role that is not there. */
import { describe, expect, it } from "vitest";
import { clickhouse } from "../support/clickhouse.js";
import { start } from "../support/command.js";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const TABLES = {
  postgres: "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '@'",
  clickhouse: "SELECT name FROM system.tables WHERE database = '@'",
};

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("loads into %s", (engine) => {
  const orders = async (): Promise<CopiedProject> => {
    const project = await CopiedProject.of(engine, "snowflake", {
      name: "orders",
      columns: { id: "NUMBER(10,0)" },
    });
    await writeParquet(project.file("orders.parquet"), "{'ID': pa.array(range(1000), pa.int64())}");
    return project;
  };
  const ids = async (project: CopiedProject): Promise<number> =>
    (await project.rows("SELECT id FROM @.orders")).length;

  it("at once leave all rows and no other table, whichever ends last", async () => {
    const project = await orders();
    expect(await project.load()).toMatchObject({ exit: 0 });
    // Two scripts, step by step beside each other: the second begins when the first has inserted.
    if (engine === "clickhouse") {
      const first = await project.ddl(["--from", "{name}.parquet"]);
      const second = await project.ddl(["--from", "{name}.parquet"]);
      const stepsOf = (out: string): readonly string[] =>
        out.split(/;\n/).map((text) => text.replaceAll(/^--.*\n|^\n/gm, "").trim());
      const [a, b] = [stepsOf(first.out), stepsOf(second.out)].map((steps) =>
        steps.filter((text) => text !== ""),
      );
      const exchange = (a ?? []).findIndex((text) => text.startsWith("EXCHANGE"));
      for (const text of (a ?? []).slice(0, exchange)) await clickhouse(text);
      const create = (b ?? []).findIndex((text) => text.startsWith("CREATE TABLE"));
      for (const text of (b ?? []).slice(0, create + 1)) await clickhouse(text);
      for (const text of (a ?? []).slice(exchange)) await clickhouse(text);
      expect(await ids(project)).toBe(1000);
      for (const text of (b ?? []).slice(create + 1)) await clickhouse(text);
    }
    const args = ["ddl", "manifest.json", "--from", "{name}.parquet", "--apply"];
    const variables = { LOAD_DATABASE_URL: project.ownerUrl };
    const loads = [1, 2, 3].map(() => start(project.folder, args, variables).finished);
    for (const { code, stderr } of await Promise.all(loads))
      expect(code === 0 || stderr.includes("keeps its former rows"), stderr).toBe(true);
    expect(await ids(project)).toBe(1000);
    expect(await project.load()).toMatchObject({ exit: 0 });
    expect(await project.rows(TABLES[engine])).toEqual([{ name: "orders" }]);
  });

  it("that grant to a role that is not there keep the former rows", async () => {
    const project = await orders();
    expect(await project.load()).toMatchObject({ exit: 0 });
    await writeParquet(project.file("orders.parquet"), "{'ID': pa.array([1], pa.int64())}");
    expect(await project.load("--grant", "nobody_of_this_name")).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/nobody_of_this_name.*/) as string,
    });
    expect(await ids(project)).toBe(1000);
    expect(await project.rows(TABLES[engine])).toEqual([{ name: "orders" }]);
  });
});

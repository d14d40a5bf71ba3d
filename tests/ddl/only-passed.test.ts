/** `ddl --apply --only-passed`: a copy has the rows of the last build whose tests passed. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const at = (hour: number): string => new Date(Date.UTC(2026, 4, 1, hour)).toISOString();
const result = (unique_id: string, status: string, hour: number) => ({
  ...{ unique_id, status, failures: status === "fail" ? 2 : 0 },
  timing: status === "skipped" ? [] : [{ name: "execute", completed_at: at(hour) }],
});
const runResults = (...results: readonly object[]): string =>
  JSON.stringify({
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
      generated_at: at(23),
    },
    args: { which: "build" },
    results,
  });

/** A build of both models, and the results of the tests of the one that has some. */
const build = (hour: number, ...statuses: readonly string[]): string =>
  runResults(
    result("model.test.orders", "success", hour),
    result("model.test.visits", "success", hour),
    ...statuses.map((status, i) =>
      result(`test.test.${i === 0 ? "unique" : "not_null"}_orders_id`, status, hour + 1),
    ),
  );

const VARIABLES = { DBT_RUN_RESULTS_PATH: "run_results.json" };

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("a copy in %s", (engine) => {
  it("keeps its rows while tests of a newer build failed, warn apart, or have not run", async () => {
    const project = await CopiedProject.of(
      engine,
      "snowflake",
      { name: "orders", columns: { id: "NUMBER(10,0)" }, materialized: "table", key: "id" },
      { name: "visits", columns: { id: "NUMBER(10,0)" }, materialized: "table" },
    );
    const load = async (id: number, results: string) => {
      for (const name of ["orders", "visits"])
        await writeParquet(project.file(`${name}.parquet`), `{'ID': pa.array([${String(id)}], pa.int64())}`);
      writeFileSync(project.file("run_results.json"), results);
      return project.ddl(["--from", "{name}.parquet", "--apply", "--only-passed"], VARIABLES);
    };
    const ids = async () => {
      const rows = await project.rows(
        "SELECT 'orders' AS relation, id FROM @.orders UNION ALL SELECT 'visits', id FROM @.visits ORDER BY 1",
      );
      return rows.map(({ id }) => Number(id));
    };
    const kept = (why: string) => `warning: ${project.schema}.orders keeps its rows: ${why}.\n`;
    expect(await load(1, build(1, "pass", "warn"))).toMatchObject({ exit: 0, err: "" });
    expect(await ids()).toEqual([1, 1]);
    expect(await load(2, build(3, "pass", "fail"))).toMatchObject({
      exit: 0,
      err: kept("1 of its dbt tests failed"),
    });
    // A model without tests has the new rows.
    expect(await ids()).toEqual([1, 2]);
    const untested = kept("not all of its dbt tests have run since the build");
    for (const results of [build(5, "pass", "skipped"), build(5, "pass"), build(5)])
      expect(await load(3, results)).toMatchObject({ exit: 0, err: untested });
    expect(await ids()).toEqual([1, 3]);
    // `dbt test` has overwritten the results of the build: it may be of other rows than the export has.
    const tests = ["unique", "not_null"].map((test) => result(`test.test.${test}_orders_id`, "pass", 6));
    const overwritten = await load(3, runResults(...tests));
    expect([overwritten.exit, overwritten.err]).toEqual([
      0,
      expect.stringContaining(
        kept("its build is not in run_results.json: give the one that `dbt build` writes"),
      ),
    ]);
    expect(await ids()).toEqual([1, 3]);
    const service = await project.start();
    const asOf = async () => (await fetch(`${service.url}/v1/shop/orders`)).headers.get("x-data-as-of");
    service.recordBuilds([{ node: "model.test.orders", completedAt: Date.parse(at(5)) }]);
    await expect.poll(asOf).toBe(at(1));
    const quality = (await fetch(`${service.url}/v1/shop/orders`)).headers.get("x-data-quality");
    expect(quality).toBe("unknown");
    expect(await load(4, build(7, "pass", "pass"))).toMatchObject({ exit: 0, err: "" });
    expect(await ids()).toEqual([4, 4]);
  });

  it("needs --apply and dbt's results", async () => {
    const project = await CopiedProject.of(engine, "snowflake", {
      name: "orders",
      columns: { id: "NUMBER(10,0)" },
    });
    const printed = await project.ddl(["--from", "{name}.parquet", "--only-passed"]);
    expect([printed.exit, printed.err]).toEqual([2, expect.stringContaining("--only-passed needs --apply")]);
    const unknown = await project.ddl(["--from", "{name}.parquet", "--apply", "--only-passed"]);
    expect([unknown.exit, unknown.err]).toEqual([2, expect.stringContaining("DBT_RUN_RESULTS_PATH")]);
  });
});

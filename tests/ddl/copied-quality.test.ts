/** What is claimed of the tests of a copy's rows: what they found before the next build, whatever later ones found. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { NodeBuild, TestRun } from "../../runtime/server/server.js";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const NODE = "model.test.orders";
const at = (hour: number): number => Date.UTC(2026, 4, 1) + hour * 3_600_000;
const build = (hour: number): NodeBuild => ({ node: NODE, completedAt: at(hour) });
const tests = (hour: number, ...statuses: readonly TestRun["status"][]): readonly TestRun[] =>
  statuses.map((status, i) => ({
    ...{ test: `test.test.${i === 0 ? "unique" : "not_null"}_orders_id`, status },
    ...{ completedAt: at(hour), failures: null },
  }));

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("a copy in %s", (engine) => {
  it("stays refused while its own rows failed, and is served while only later ones did", async () => {
    const project = await CopiedProject.of(engine, "snowflake", {
      ...{ name: "orders", columns: { id: "NUMBER(10,0)" }, materialized: "table", key: "id" },
      routewright: { on_failed_test: "refuse" },
    });
    await writeParquet(project.file("orders.parquet"), "{'ID': pa.array([1], pa.int64())}");
    const load = async (hour: number) => {
      const results = {
        metadata: {
          dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
          generated_at: new Date(at(hour)).toISOString(),
        },
        args: { which: "build" },
        results: [
          {
            ...{ unique_id: NODE, status: "success" },
            timing: [{ name: "execute", completed_at: new Date(at(hour)).toISOString() }],
          },
        ],
      };
      writeFileSync(project.file("run_results.json"), JSON.stringify(results));
      const variables = { DBT_RUN_RESULTS_PATH: "run_results.json" };
      expect(await project.ddl(["--from", "{name}.parquet", "--apply"], variables)).toMatchObject({
        exit: 0,
      });
    };
    await load(1);
    const service = await project.start();
    const said = async () => {
      const { status, headers } = await fetch(`${service.url}/v1/shop/orders`);
      return `${String(status)} ${headers.get("x-data-quality") ?? ""}`;
    };
    service.recordBuilds([build(1)], tests(2, "pass", "fail"));
    await expect.poll(said).toBe("503 ");
    // dbt builds again, and the tests of those rows pass: the copy has the rows that failed.
    service.recordBuilds([build(3)], tests(4, "pass", "pass"));
    expect(await said()).toBe("503 ");
    const status = await (await fetch(`${service.url}/v1/system/status.atom`)).text();
    expect(status).toContain("tests of these rows failed; no rows are served");
    await load(3);
    await expect.poll(said).toBe("200 passed");
    service.recordBuilds([build(5)], tests(6, "fail", "fail"));
    expect(await said()).toBe("200 unknown");
    // A report that comes late, of a run before that build.
    service.recordBuilds([build(1)], tests(4.5, "fail"));
    expect(await said()).toBe("503 ");
  });
});

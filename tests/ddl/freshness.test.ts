/** What is claimed of the rows of a copy: they are of the build that was loaded, whatever dbt has built since. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Run } from "../commands/run.js";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const [FIRST, SECOND] = ["2026-05-01T08:00:00.000Z", "2026-05-02T08:00:00.000Z"];
const NODE = "model.test.orders";

const runResults = (completedAt: string, which = "build"): string =>
  JSON.stringify({
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
      generated_at: completedAt,
    },
    args: { which },
    results: [
      { unique_id: NODE, status: "success", timing: [{ name: "execute", completed_at: completedAt }] },
    ],
  });

interface Commented {
  readonly routewright: { readonly builds?: Readonly<Record<string, string>> };
}

const COMMENTS = {
  postgres:
    "SELECT obj_description(c.oid, 'pg_class') AS comment FROM pg_class c WHERE relnamespace = '@'::regnamespace AND relkind = 'r' ORDER BY relname",
  clickhouse: "SELECT comment FROM system.tables WHERE database = '@' ORDER BY name",
};

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("a copy in %s", (engine) => {
  const copy = async () => {
    const project = await CopiedProject.of(engine, "snowflake", {
      name: "orders",
      columns: { id: "NUMBER(10,0)" },
      materialized: "table",
      routewright: { changes: "on_build" },
    });
    const load = async (ids: string, build: string | null): Promise<void> => {
      await writeParquet(project.file("orders.parquet"), `{'ID': pa.array(${ids}, pa.int64())}`);
      if (build !== null) writeFileSync(project.file("run_results.json"), runResults(build));
      const args = ["--from", "{name}.parquet", "--apply"];
      const variables = build === null ? {} : { DBT_RUN_RESULTS_PATH: "run_results.json" };
      expect(await project.ddl(args, variables)).toMatchObject({ exit: 0 });
    };
    return { project, load };
  };

  it("has the tag and the time of the build that it holds, and another tag after each load", async () => {
    const { project, load } = await copy();
    await load("[1]", FIRST);
    const service = await project.start();
    const ask = (tag?: string) =>
      fetch(`${service.url}/v1/shop/orders`, { headers: tag === undefined ? {} : { "If-None-Match": tag } });
    await expect.poll(async () => (await ask()).headers.get("x-data-as-of")).toBe(FIRST);
    const tag = (await ask()).headers.get("etag") ?? "";
    expect((await ask(tag)).status).toBe(304);

    // dbt has built again, and nothing is loaded: the rows are those of before.
    service.recordBuilds([{ node: NODE, completedAt: Date.parse(SECOND) }]);
    const after = await ask(tag);
    expect([after.status, after.headers.get("x-data-as-of")]).toEqual([304, FIRST]);
    expect((await ask()).headers.get("x-data-as-of")).toBe(FIRST);
    const health = (await (await fetch(`${service.url}/health`)).json()) as Record<string, unknown>;
    expect(health).toMatchObject({ status: "ok", stale_copies: [`${project.schema}.orders`] });
    expect(await (await fetch(`${service.url}/metrics`)).text()).toMatch(/^routewright_stale_copies 1$/m);
    const catalogue = await (await fetch(`${service.url}/v1/system/catalogue`)).text();
    expect(catalogue).toContain(`"data_as_of":"${FIRST}"`);

    await load("[2]", SECOND);
    await expect.poll(async () => (await ask()).headers.get("x-data-as-of")).toBe(SECOND);
    expect((await ask(tag)).status).toBe(200);
    const second = (await ask()).headers.get("etag");
    expect(await (await fetch(`${service.url}/health`)).json()).not.toHaveProperty("stale_copies");

    // The same build, loaded once more with other rows.
    await load("[3]", SECOND);
    await expect.poll(async () => (await ask()).headers.get("etag")).not.toBe(second);
    expect((await (await ask()).text()).replaceAll(/\s/g, "")).toBe('[{"id":3}]');
  });

  it("claims nothing without a known build", async () => {
    const { project, load } = await copy();
    await load("[1]", null);
    const service = await project.start();
    service.recordBuilds([{ node: NODE, completedAt: Date.parse(FIRST) }]);
    const ask = () => fetch(`${service.url}/v1/shop/orders`);
    const first = await ask();
    expect(first.headers.get("x-data-as-of")).toBe(null);
    const before = first.headers.get("etag") ?? "";
    await load("[2]", null);
    const { status } = await fetch(`${service.url}/v1/shop/orders`, { headers: { "If-None-Match": before } });
    expect(status).toBe(200);
  });

  it("keeps its build until its rows are loaded anew, and has none where dbt's docs took its place", async () => {
    const models = ["orders", "visits"].map((name) => ({
      name,
      columns: { id: "NUMBER(10,0)" },
      materialized: "table",
    }));
    const project = await CopiedProject.of(engine, "snowflake", ...models);
    const results = (which: string): void => {
      const [orders, visits] = [NODE, "model.test.visits"].map((id) =>
        runResults(FIRST, which).replace(NODE, id),
      );
      const both = JSON.parse(String(orders)) as { results: unknown[] };
      both.results.push(...(JSON.parse(String(visits)) as { results: unknown[] }).results);
      writeFileSync(project.file("run_results.json"), JSON.stringify(both));
    };
    const load = async (ids: string, ...args: readonly string[]): Promise<Run> => {
      for (const { name } of models)
        await writeParquet(project.file(`${name}.parquet`), `{'ID': pa.array(${ids}, pa.int64())}`);
      return project.ddl(["--from", "{name}.parquet", "--apply", ...args], {
        DBT_RUN_RESULTS_PATH: "run_results.json",
      });
    };
    const builds = async (): Promise<readonly unknown[]> => {
      const comments = await project.rows(COMMENTS[engine]);
      return comments.map(({ comment }) => (JSON.parse(String(comment)) as Commented).routewright.builds);
    };
    const [ofOrders, ofVisits] = [{ [NODE]: FIRST }, { "model.test.visits": FIRST }];
    results("build");
    expect(await load("[1]")).toMatchObject({ exit: 0, err: expect.not.stringContaining("build") as string });
    expect(await builds()).toEqual([ofOrders, ofVisits]);

    results("generate");
    expect(await load("[2]", "--select", "visits")).toMatchObject({
      exit: 0,
      err: `warning: run_results.json reports no successful build (\`dbt docs generate\` wrote it): give the one that \`dbt build\` writes. ${project.schema}.visits: this load is of no known build, so callers get no X-Data-As-Of.\n`,
    });
    expect(await builds()).toEqual([ofOrders, undefined]);
    expect(await load("[2**62]")).toMatchObject({ exit: 2 });
    expect(await builds()).toEqual([ofOrders, undefined]);
    expect(await load("[3]")).toMatchObject({ exit: 0 });
    expect(await builds()).toEqual([undefined, undefined]);
  });

  it("is found by `verify` where dbt has built since the load", async () => {
    const { project, load } = await copy();
    await load("[1]", FIRST);
    const verify = async (build: string): Promise<readonly unknown[]> => {
      writeFileSync(project.file("run_results.json"), runResults(build));
      const { out } = await project.run(["verify", "manifest.json", "--format", "json"], {
        DBT_RUN_RESULTS_PATH: "run_results.json",
        DATABASE_URL: project.readerUrl,
      });
      return (JSON.parse(out) as { differences: readonly { check: string }[] }).differences.map(
        ({ check }) => check,
      );
    };
    expect(await verify(FIRST)).toEqual([]);
    expect(await verify(SECOND)).toEqual(["stale-copy"]);
  });
});

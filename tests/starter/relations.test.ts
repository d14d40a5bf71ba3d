import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { buildDemoRelations } from "../../scripts/demo/relations.js";
import { scratchDatabase, SERVER_URL } from "./scratch-database.js";

type Overrides = {
  sql?: string;
  materialized?: string;
  csv?: string;
};

const TEST = { resource_type: "test" };

/** A project of one seed, an ephemeral model, a view and a table, listed in the wrong order. */
async function project(overrides: Overrides = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "routewright-demo-"));
  const types = { id: "integer", "odd name": "text" };
  const model = (name: string, materialized: string, sql: string, after: string, config = {}) => ({
    resource_type: "model",
    unique_id: name,
    alias: name,
    schema: "demo",
    original_file_path: name,
    compiled_code: sql,
    depends_on: { nodes: [after] },
    config: { materialized, ...config },
  });
  const nodes = {
    a_table: model(
      "a_table",
      overrides.materialized ?? "table",
      overrides.sql ?? "select id from demo.b_view",
      "b_view",
      {
        indexes: [{ columns: ["id"], unique: true }],
      },
    ),
    b_view: model("b_view", "view", 'select id, "odd name" from demo.seed', "c_inline"),
    c_inline: model("c_inline", "ephemeral", "select 1", "seed"),
    seed: {
      resource_type: "seed",
      unique_id: "seed",
      alias: "seed",
      schema: "demo",
      depends_on: { nodes: [] },
      original_file_path: "seeds/seed.csv",
      config: { materialized: "seed", column_types: types },
    },
    passes: { ...model("passes", "test", "select id from demo.seed where id > 2", "seed"), ...TEST },
    warns: {
      ...model("warns", "test", "select id from demo.seed -- two", "seed", { severity: "WARN" }),
      ...TEST,
    },
    fails: { ...model("fails", "test", "select id from demo.seed where id = 1", "seed"), ...TEST },
  };
  await mkdir(join(dir, "seeds"));
  await writeFile(join(dir, "seeds/seed.csv"), overrides.csv ?? 'id,odd name\n1,"x"" y"\n2,\n');
  await writeFile(join(dir, "manifest.json"), JSON.stringify({ nodes }));
  return dir;
}

describe.skipIf(!SERVER_URL)("building demo relations", () => {
  const database = scratchDatabase("relations");
  const dirs: string[] = [];
  const build = async (overrides: Overrides = {}) => {
    dirs.push(await project(overrides));
    return buildDemoRelations(database.url, dirs.at(-1)!);
  };
  beforeEach(() => database.rows("drop schema if exists demo cascade"));
  afterAll(() => Promise.all(dirs.map((dir) => rm(dir, { recursive: true }))));

  it("reports when each relation was built, its rows, and how the tests went", async () => {
    const before = Date.now();
    const { results } = await build();
    expect(results.builds.map(({ node, rows }) => [node, rows])).toEqual([
      ["seed", 2],
      ["b_view", null],
      ["a_table", 2],
    ]);
    expect(results.tests.map(({ test, status, failures }) => [test, status, failures])).toEqual([
      ["passes", "pass", 0],
      ["warns", "warn", 2],
      ["fails", "fail", 1],
    ]);
    for (const { completedAt } of [...results.builds, ...results.tests])
      expect(completedAt).toBeGreaterThanOrEqual(before);
    expect((await build()).results).toEqual(results);
  });

  it("makes seeds, views and tables after what they read from, and no ephemeral model", async () => {
    expect(await build()).toMatchObject({ built: 3 });
    expect(await database.rows("select * from demo.b_view order by id")).toEqual([
      { id: 1, "odd name": 'x" y' },
      { id: 2, "odd name": null },
    ]);
    const relations =
      "select relname, relkind from pg_class where relnamespace = 'demo'::regnamespace order by 1";
    expect(await database.rows(relations)).toEqual([
      { relname: "a_table", relkind: "r" },
      { relname: "a_table_id_idx", relkind: "i" },
      { relname: "b_view", relkind: "v" },
      { relname: "seed", relkind: "r" },
    ]);
  });

  it("does nothing when manifest and seeds are unchanged, and rebuilds when a seed changes", async () => {
    await build();
    expect(await build()).toMatchObject({ built: 0 });
    expect(await build({ csv: "id,odd name\n7,z\n" })).toMatchObject({ built: 3 });
    expect(await database.rows("select id from demo.a_table")).toEqual([{ id: 7 }]);
  });

  it("makes an incremental model a table", async () => {
    await build({ materialized: "incremental" });
    expect(await database.rows("select relkind from pg_class where oid = 'demo.a_table'::regclass")).toEqual([
      { relkind: "r" },
    ]);
  });

  it("builds once when two starts coincide", async () => {
    const builds = await Promise.all([build(), build()]);
    expect(builds.map(({ built }) => built).toSorted()).toEqual([0, 3]);
  });

  it("leaves the old relations in place when a build fails, and says which relation failed", async () => {
    await build();
    await expect(build({ sql: "select * from nowhere" })).rejects.toThrow(
      'The demo relation "demo"."a_table" could not be built: relation "nowhere" does not exist',
    );
    expect(await database.rows("select count(*)::integer as n from demo.a_table")).toEqual([{ n: 2 }]);
    expect(await build()).toMatchObject({ built: 0 });
  });

  it("refuses a schema that holds relations of somebody else, and takes an empty one", async () => {
    await database.rows("create schema demo create table precious (id integer)");
    await expect(build()).rejects.toThrow(
      'Schema "demo" already holds relations that the demo did not make.',
    );
    await database.rows("drop table demo.precious");
    expect(await build()).toMatchObject({ built: 3 });
  });
});

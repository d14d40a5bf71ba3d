/** What the server says of sources beside what the real `dbt source freshness` found. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run, serve } from "../support/command.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { DbtProject, type ProjectFiles } from "../support/dbt.js";
import { needs } from "../support/needs.js";

/** A source by the hours since its last load: null: it has no rows. Each has a table over it. */
const SOURCES = {
  new: { hours: 1, expected: "pass" },
  aged: { hours: 13, expected: "warn" },
  old: { hours: 30, expected: "error" },
  ahead: { hours: -30, expected: "pass" },
  empty: { hours: null, expected: "error" },
  endless: { hours: 1, expected: "pass" },
  sentinel: { hours: 1, expected: "pass" },
  zero: { hours: 1, expected: "error" },
  configured: { hours: 30, expected: "error" },
} as const;
const STATES = { pass: "ok", warn: "warn", error: "error" } as const;
type Name = keyof typeof SOURCES;
const NAMES = Object.keys(SOURCES) as readonly Name[];

const after = (count: number, period: string) => ({ count, period });
const BOUNDS = { warn_after: after(12, "hour"), error_after: after(1, "day") };
const boundsOf = (name: Name): object =>
  name === "endless"
    ? { warn_after: after(200_000_000, "day") }
    : name === "zero"
      ? { error_after: after(0, "hour") }
      : BOUNDS;

const loadedAt = (name: Name): string => {
  const { hours } = SOURCES[name];
  if (name === "sentinel") return "timestamptz '9999-12-31 12:00+00'";
  return `now() - interval '${String(hours)} hours'`;
};
const schema = await ownSchema(
  NAMES.map((name) =>
    SOURCES[name].hours === null
      ? `CREATE TABLE @.raw_${name} (id integer, loaded timestamptz);`
      : `CREATE TABLE @.raw_${name} AS SELECT 1 AS id, ${loadedAt(name)} AS loaded;`,
  ).join("\n"),
);

const PROJECT: ProjectFiles = {
  ...Object.fromEntries(
    NAMES.map((name) => [
      `models/${name}.sql`,
      `{{ config(materialized='table', tags=['production', 'shop', 'api:${name}', 'tier0'],
        meta={'routewright': {'fresh_within': '300d', 'require_fresh': true}}) }}
       select id from {{ source('raw', 'raw_${name}') }}`,
    ]),
  ),
  "models/models.yml": JSON.stringify({
    sources: [
      {
        ...{ name: "raw", schema },
        tables: NAMES.map((name) => {
          const more = { freshness: boundsOf(name), loaded_at_field: "loaded" };
          return { name: `raw_${name}`, ...(name === "configured" ? { config: more } : more) };
        }),
      },
    ],
    models: NAMES.map((name) => ({ name, columns: [{ name: "id", data_type: "integer" }] })),
  }),
};

describe.skipIf(!needs("dbt"))("sources that dbt has checked", () => {
  it("make endpoints as late as dbt says", async () => {
    const project = new DbtProject(schema, PROJECT);
    expect(await project.run("build")).toMatchObject({ code: 0 });
    const { folder } = project;
    expect(await run(folder, ["generate", "--manifest", project.manifestFile])).toMatchObject({ code: 0 });
    await project.run("source", "freshness");
    const variables = {
      ...{ DATABASE_URL: databaseUrl, METRICS_PUBLIC: "true" },
      ...{ DBT_RUN_RESULTS_PATH: project.runResultsFile },
      DBT_SOURCES_PATH: join(folder, "target/sources.json"),
    };
    const server = await serve(folder, ["--only", "data"], variables);
    const found = JSON.parse(readFileSync(variables.DBT_SOURCES_PATH, "utf8")) as {
      readonly results: readonly { readonly unique_id: string; readonly status: string }[];
    };
    const byDbt = new Map(
      found.results.map(({ unique_id, status }) => [unique_id.split("raw_")[1], status] as const),
    );
    const catalogue = await fetch(`${server.url}/v1/system/catalogue`);
    expect(catalogue.status).toBe(200);
    expect(await catalogue.text()).toContain('"warn_at":"9999-12-31T23:59:59.999Z"');
    expect((await fetch(`${server.url}/v1/system/status.atom`)).status).toBe(200);
    for (const name of NAMES) {
      const response = await fetch(`${server.url}/v1/shop/${name}`);
      const [, state, year] =
        /^(\w+);due="(\d{4})-/.exec(response.headers.get("x-data-freshness") ?? "") ?? [];
      const strict = await fetch(`${server.url}/v1/shop/${name}?require_fresh=true`);
      const { expected } = SOURCES[name];
      expect([name, byDbt.get(name), state, strict.status]).toEqual([
        ...[name, expected, STATES[expected]],
        expected === "error" ? 503 : 200,
      ]);
      expect(Number(year)).toBeGreaterThan(0);
    }
    // A check that fails is in no file: what was found before holds, until it is too old.
    const stateOf = async (name: Name) =>
      (await fetch(`${server.url}/v1/shop/${name}`)).headers.get("x-data-freshness");
    const before = await stateOf("aged");
    await query(`ALTER TABLE "${schema}".raw_aged RENAME TO other`);
    await query(`TRUNCATE "${schema}".raw_new`);
    expect((await project.run("source", "freshness")).code).toBe(1);
    expect(readFileSync(variables.DBT_SOURCES_PATH, "utf8")).not.toContain("raw_aged");
    await expect.poll(() => stateOf("new"), { timeout: 90_000 }).toMatch(/^error;/);
    expect(await stateOf("aged")).toBe(before);
    await server.stop();
  });
});

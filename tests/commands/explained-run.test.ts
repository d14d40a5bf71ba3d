import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { BAD, GENERATE, GOOD, project, routewright } from "./run.js";

describe("a run explains itself", () => {
  const write = (folder: string, ...models: readonly TestModel[]): void =>
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf(models)));

  it.each<[string, readonly TestModel[], readonly string[]]>([
    ["no model", [], ["note: The manifest has no model: run `dbt parse`"]],
    [
      "no tag",
      [{ ...GOOD, tags: ["finance"] }],
      [
        "note: No model has both tags, `production` and `api:<resource>`: of 1, 0 have `production` and 0 have `api:`.",
        "note: Tag a model",
      ],
    ],
    [
      "tags that are nearly ours",
      [
        { ...GOOD, name: "a", tags: ["prod", "api:a"] },
        { ...GOOD, name: "b", tags: ["production", "apis:b"] },
        { ...GOOD, name: "c", tags: ["Production", "api:c"] },
        { ...GOOD, name: "d", tags: ["production", "granularity=daily", "windows:7d"] },
      ],
      [
        "note: No model has both tags, `production` and `api:<resource>`: of 4, 2 have `production` and 2 have `api:`.",
        'note: model.test.a (models/a.sql): the tag "prod" is probably meant as `production`.',
        'note: model.test.b (models/b.sql): the tag "apis:b" is probably meant as `api:<resource>`.',
        'note: model.test.c (models/c.sql): the tag "Production" is probably meant as `production`.',
        'note: model.test.d (models/d.sql): the tag "granularity=daily" is probably meant as `granularity:<value>`.',
        'note: model.test.d (models/d.sql): the tag "windows:7d" is probably meant as `window:<value>`.',
      ],
    ],
    ["every tagged model skipped", [BAD], ["note: Every model that is tagged for the API is skipped"]],
  ])("says why there is no endpoint: %s", async (_, models, lines) => {
    const { exit, out } = await routewright(project(...models), GENERATE);
    expect(exit).toBe(0);
    for (const line of lines) expect(out).toContain(line);
    expect(out).toContain("0 endpoints; ");
  });

  it.each<[string, readonly string[], string | null]>([
    ["one of both tags", ["prodution", "api:late"], '"prodution" is probably meant as `production`'],
    ["the other one", ["production", "apis:late"], '"apis:late" is probably meant as `api:<resource>`'],
    ["both", ["prod", "Api:late"], '"prod" is probably meant as `production`'],
    ["one alone", ["prodution", "finance"], null],
    ["none that is near", ["production", "finance"], null],
  ])("names what a misspelt tag keeps out beside other endpoints: %s", async (_, tags, said) => {
    const { out } = await routewright(project(GOOD, { ...GOOD, name: "late", tags }), GENERATE);
    if (said === null) expect(out).not.toContain("late");
    else expect(out).toContain(`note: model.test.late (models/late.sql): the tag ${said}.\n`);
  });

  it("names the tags of metrics and saved queries too", async () => {
    const folder = project(GOOD);
    const metric = (tags: readonly string[]) => ({
      ...(manifestOf([GOOD]) as object),
      metrics: { "metric.test.sold": { name: "sold", type: "simple", config: { tags } } },
      saved_queries: { "saved_query.test.q": { name: "q", config: { tags: ["production", "apis:q"] } } },
    });
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(metric(["prodution", "api:sold"])));
    const { out } = await routewright(folder, GENERATE);
    expect(out).toContain('note: metric.test.sold: the tag "prodution" is probably meant as `production`.');
    expect(out).toContain(
      'note: saved_query.test.q: the tag "apis:q" is probably meant as `api:<resource>`.',
    );
  });

  it("says why, too, where it refuses to remove every endpoint", async () => {
    const folder = project(GOOD);
    await routewright(folder, GENERATE);
    write(folder, { ...GOOD, tags: ["prod", "api:volume"] });
    expect((await routewright(folder, GENERATE)).err).toContain(
      'the tag "prod" is probably meant as `production`',
    );
  });

  it.each<[string, readonly TestModel[], string]>([
    ["a model that is gone", [], "model.test.gone is not in the manifest any more"],
    [
      "a tag that is gone",
      [{ ...GOOD, name: "gone", tags: ["prod", "c", "api:gone"] }],
      'model.test.gone has no tag `production` any more; "prod" is not one',
    ],
    [
      "another path",
      [{ ...GOOD, name: "gone", tags: ["production", "c", "api:gone", "granularity:daily"] }],
      "moved to /v1/c/gone/daily",
    ],
    ["a mistake", [{ ...BAD, name: "gone" }], "model.test.gone is skipped as invalid, see below"],
    [
      "its author",
      [{ ...GOOD, name: "gone", api: { exclude_from_api: true } }],
      "model.test.gone is excluded by its author",
    ],
  ])("names the cause where a file is removed: %s", async (_, models, cause) => {
    const folder = project(GOOD, { ...GOOD, name: "gone", tags: ["production", "c", "api:gone"] });
    await routewright(folder, GENERATE);
    write(folder, GOOD, ...models);
    const { out } = await routewright(folder, [...GENERATE, "--check"]);
    expect(out).toContain(`no longer generated  generated/routes/c/gone.ts: ${cause}\n`);
    expect((await routewright(folder, GENERATE)).out).toContain(
      `removed  generated/routes/c/gone.ts: ${cause}\n`,
    );
  });

  it("names what opens data at once", async () => {
    const folder = project({
      ...GOOD,
      tags: [...GOOD.tags, "tier2"],
      routewright: { rows: { column: "value", equals: "org" } },
    });
    await routewright(folder, GENERATE);
    write(folder, GOOD);
    const { out } = await routewright(folder, GENERATE);
    expect(out).toContain(
      "warning: /v1/bridges/volume: Tier lowered: tier2 → tier0. Callers of a lower tier can read data that they could not read.\n",
    );
    expect(out).toContain(
      "warning: /v1/bridges/volume: Rows no longer kept apart by organization: was value. ",
    );
    write(folder, { ...GOOD, tags: [...GOOD.tags, "tier1"] });
    expect((await routewright(folder, GENERATE)).out).not.toContain("warning");
  });

  it.each([
    ["snowflake", {}, "The models are built by dbt-snowflake, which no engine of Routewright serves"],
    [
      "clickhouse",
      { DATABASE_URL: "postgres://u:p@h/d" },
      "The models are served from ClickHouse (dbt's adapter, or `engine`), and the database is PostgreSQL",
    ],
    [
      "postgres",
      { CLICKHOUSE_URL: "clickhouse://h/d" },
      "The models are served from PostgreSQL (dbt's adapter, or `engine`), and the database is ClickHouse",
    ],
  ])("names the adapter where it does not fit: %s with %o", async (adapter, variables, text) => {
    const folder = project();
    writeFileSync(
      join(folder, "manifest.json"),
      JSON.stringify(manifestOf([GOOD], { adapter_type: adapter })),
    );
    const { exit, out } = await routewright(folder, GENERATE, variables);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining(`warning: ${text}`) });
  });

  it("counts the columns without a type and says what gives them one", async () => {
    const folder = project(GOOD, {
      ...GOOD,
      name: "b",
      tags: ["production", "c", "api:b"],
      columns: { x: null },
    });
    expect((await routewright(folder, GENERATE)).out).toContain(
      "note: 1 of 2 columns have no type: OpenAPI and typed clients have `unknown` there. Run `dbt docs generate`",
    );
  });

  it("names line ends of Windows as such", async () => {
    const folder = project(GOOD);
    await routewright(folder, GENERATE);
    const file = join(folder, "generated/routes/bridges/volume.ts");
    writeFileSync(file, readFileSync(file, "utf8").replaceAll("\n", "\r\n"));
    const { exit, out } = await routewright(folder, [...GENERATE, "--check"]);
    expect([exit, out]).toEqual([
      1,
      expect.stringContaining(
        "note: 1 file differs by the line ends alone, CRLF for LF: add `generated/** text eol=lf` to .gitattributes, then run `git add --renormalize generated`.\n",
      ),
    ]);
    const { err } = await routewright(folder, ["serve", "--only", "data"], {
      DATABASE_URL: "postgres://u:p@127.0.0.1:1/d",
    });
    expect(err).toContain(
      "generated: routes/bridges/volume.ts has the line ends CRLF. Add `generated/** text eol=lf` to .gitattributes",
    );
  });
});

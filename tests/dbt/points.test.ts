import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run, serve } from "../support/command.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { DbtProject, type ProjectFiles } from "../support/dbt.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";

const published = (name: string, ...more: readonly string[]): string =>
  `tags=${JSON.stringify(["production", "shop", `api:${name}`, ...more])}`;

const column = (name: string, data_type: string | null = null, more: object = {}): object => ({
  name,
  ...(data_type !== null && { data_type }),
  ...more,
});

const PROJECT: ProjectFiles = {
  "dbt_project.yml": JSON.stringify({
    name: "shop",
    profile: "shop",
    // A folder's tag stands before the model's own.
    models: { shop: { open: { "+tags": ["tier0"] } } },
  }),
  "models/users.sql": `{{ config(materialized='table', ${published("users", "tier0")}) }}
    select 1 as id, 'hush' as password_hash, 'Ann' as name`,
  "models/people.sql": "{{ config(materialized='table') }} select 1 as id, 'ann@example.org' as email",
  "models/wide.sql": `{{ config(materialized='table', ${published("wide", "tier0")}) }} select * from {{ ref('people') }}`,
  "models/near.sql": `{{ config(materialized='table', ${published("near", "teir1")}) }} select 1 as id`,
  "models/open/closed.sql": `{{ config(materialized='table', ${published("closed", "tier3")}) }} select 1 as id`,
  "models/implicit.sql": `{{ config(materialized='table', ${published("implicit")}) }} select 1 as id`,
  "models/base.sql": "{{ config(materialized='table') }} select 1 as id",
  "models/over.sql": `{{ config(materialized='view', ${published("over", "tier0")}) }} select id from {{ ref('base') }}`,
  "models/grows.sql": `{{ config(materialized='table', ${published("grows", "tier0")}) }}
    select 1 as id {% if var('n') > 1 %}, 7 as added{% endif %}`,
  "models/hooked.sql": `{{ config(materialized='table', ${published("hooked", "tier0")},
      post_hook={'sql': "select 1 / " ~ (2 - var('n')), 'transaction': false}) }}
    select {{ var('n') }} as n`,
  "macros/lately.sql": "{% macro lately() %}now() - interval '1 day' < now(){% endmacro %}",
  "models/recent.sql": `{{ config(materialized='view', ${published("recent", "tier0")}) }}
    select id from {{ ref('people') }} where {{ lately() }}`,
  "models/stored.sql": `{{ config(materialized='materialized_view', ${published("stored", "tier0")}) }}
    select id from {{ ref('people') }}`,
  "models/models.yml": JSON.stringify({
    groups: [{ name: "team", owner: { name: "team", email: "team@example.org" } }],
    models: [
      { name: "users", columns: [column("name"), column("id", "text")] },
      { name: "people", columns: [column("id"), column("email", null, { config: { meta: { pii: true } } })] },
      { name: "wide", columns: [column("id"), column("email")] },
      { name: "grows", columns: [column("id", "integer"), column("added", "integer")] },
      { name: "hooked", columns: [column("n", "integer")], data_tests: [] },
      { name: "recent", columns: [column("id")] },
      { name: "stored", columns: [column("id", "integer", { data_tests: ["not_null"] })] },
      { name: "closed", columns: [column("id")], access: "private", config: { group: "team" } },
    ],
  }),
};

/** The project, a folder with `generated/`, and a server of it. */
async function start() {
  const project = new DbtProject(await ownSchema("SELECT 1"), PROJECT);
  const built = await project.run("build", "--vars", '{"n": 1}');
  expect(built.output).toContain("Completed successfully");
  const folder = ownFolder();
  const variables = {
    DATABASE_URL: databaseUrl,
    DBT_MANIFEST_PATH: project.manifestFile,
    DBT_RUN_RESULTS_PATH: project.runResultsFile,
    USAGE_ENABLED: "false",
    METRICS_PUBLIC: "true",
    RATE_LIMITS: "10000",
  };
  await run(folder, ["generate"], variables);
  const restart = () => serve(folder, ["--only", "data"], variables);
  return { project, folder, variables, server: await restart(), restart };
}

const world = needs("dbt") ? await start() : null;

describe.skipIf(world === null)("with what the real dbt has written", () => {
  const { project, folder, variables, server, restart } = world ?? ({} as NonNullable<typeof world>);
  const cli = (...args: readonly string[]) => run(folder, args, variables);
  const get = (name: string, tag: string | null = null, { url } = server): Promise<Response> =>
    fetch(`${url}/v1/shop/${name}`, { headers: tag === null ? {} : { "If-None-Match": tag } });
  const vars = (n: number): readonly string[] => ["--vars", JSON.stringify({ n })];

  it("lint names undecided, private and hidden exposure without a catalog.json", async () => {
    const { stdout } = await cli("lint", "--format", "json");
    const { findings } = JSON.parse(stdout) as { findings: { rule: string; model: string }[] };
    const found = findings.map(({ rule, model }) => `${rule} ${model}`);
    expect(found).toEqual(
      expect.arrayContaining([
        "private-data model.shop.wide",
        "private-access model.shop.closed",
        "missing-tier-tag model.shop.implicit",
        "view-on-table model.shop.over",
      ]),
    );
  });

  it("generate skips a tag that is nearly a tier, and the most restrictive of several counts", async () => {
    const { stdout, stderr } = await cli("generate", "--json");
    expect(stdout + stderr).toContain("teir1");
    expect((await get("near")).status).toBe(404);
    expect((await get("closed")).status).toBe(403);
  });

  it("serves declared columns only, in their order; verify and the start of serve say what differs", async () => {
    expect(await (await get("users")).text()).toBe('[{"name":"Ann","id":1}]');
    await server.until(/"check":"column-type","endpoint":"\/v1\/shop\/users".*"msg":"verify"/);
    await server.until(/"check":"missing-column","endpoint":"\/v1\/shop\/grows".*"msg":"verify"/);
    const { code, stdout } = await cli("verify");
    expect(code).toBe(1);
    expect(stdout).toMatch(/column-type .*documented as/s);
  });

  it("a view whose table is built alone fails after 2 s, is named, and is back with its build", async () => {
    expect((await get("over")).status).toBe(200);
    await project.run("run", "--select", "base", ...vars(1));
    expect((await get("over")).status).toBe(500);
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toEqual([
      200,
      expect.objectContaining({ status: "degraded", missing_relations: [`${project.schema}.over`] }),
    ]);
    expect(await (await fetch(`${server.url}/metrics`)).text()).toContain("routewright_missing_relations 1");
    await project.run("run", "--select", "over", ...vars(1));
    expect((await get("over")).status).toBe(200);
    // What stays is the column `added` of `grows`, which it has from its next build on.
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({
      status: "degraded",
      database_connected: true,
      missing_columns: ["/v1/shop/grows: added"],
    });
  });

  it("new columns come with a new tag; a hook that fails behind the swap leaves no old one; a restart keeps versions", async () => {
    const before = { grows: await get("grows"), hooked: await get("hooked") };
    const tags = { grows: before.grows.headers.get("etag"), hooked: before.hooked.headers.get("etag") };
    expect(await before.grows.text()).toBe('[{"id":1}]');
    expect(await before.hooked.text()).toBe('[{"n":1}]');
    expect((await get("hooked", tags.hooked)).status).toBe(304);
    expect((await project.run("run", "--select", "grows", "hooked", ...vars(2))).code).toBe(1);
    await expect.poll(async () => (await get("hooked")).headers.get("x-data-as-of")).toBeNull();
    const hooked = await get("hooked", tags.hooked);
    expect([hooked.status, await hooked.text()]).toEqual([200, '[{"n":2}]']);
    const grows = await get("grows", tags.grows);
    expect([grows.status, await grows.text()]).toEqual([200, '[{"id":1,"added":7}]']);
    const [tag, asOf] = [grows.headers.get("etag"), grows.headers.get("x-data-as-of")];
    expect(asOf).not.toBeNull();
    await project.run("test", ...vars(2));
    const restarted = await restart();
    const again = await get("grows", tag, restarted);
    expect([again.status, again.headers.get("x-data-as-of")]).toEqual([304, asOf]);
    expect((await get("hooked", null, restarted)).headers.get("x-data-as-of")).toBeNull();
  });

  it("a response has the time of the last build, of the view and of what it reads; dbt parse gives the folder that dbt build gave", async () => {
    for (const name of ["users", "stored", "recent"]) {
      const { headers } = await get(name);
      expect([headers.get("etag"), headers.get("x-data-as-of")], name).not.toContain(null);
    }
    await project.run("parse", "--no-partial-parse", ...vars(2));
    expect((await cli("generate", "--check")).code).toBe(0);
    await cli("generate", "--out", "parsed");
    const { default: lineage } = (await import(join(folder, "parsed/lineage.json"), {
      with: { type: "json" },
    })) as { default: { upstreamNodes: Record<string, unknown> } };
    const nodesOf = (name: string) => lineage.upstreamNodes[`/v1/shop/${name}`];
    expect(nodesOf("over")).toEqual(["model.shop.base", "model.shop.over"]);
    expect([nodesOf("users"), nodesOf("stored")]).toEqual([["model.shop.users"], ["model.shop.stored"]]);
  });
});

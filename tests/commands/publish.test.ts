/** `publish` in the config file: models that count as tagged. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configProblems } from "../../generator/config-file.js";
import { serve } from "../support/command.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { putJson } from "../support/files.js";
import { KEYS, ownFolder } from "../support/service.js";
import { configure, described, type Json, pathsOf, preview, project, repository } from "./folder-projects.js";
import { routewright } from "./run.js";

describe("`publish` names models", () => {
  const models = [
    described("orders", { folder: "models/marts/sales", tags: ["nightly"], node: { group: "finance" } }),
    described("visits", { folder: "models/marts/web", node: { access: "public" } }),
    described("stg_orders", { folder: "models/staging", tags: ["nightly"] }),
    described("elsewhere", { folder: "models/marts", node: { package_name: "another" } }),
  ];
  const exposures = {
    "exposure.test.weekly": { name: "weekly", depends_on: { nodes: ["model.test.visits", "source.test.x"] } },
  };
  it.each([
    ["path:models/marts", ["orders", "visits"]],
    ["path:models/marts/sales/orders.sql", ["orders"]],
    ["path:models/*/web", ["visits"]],
    ["path:models/mar", []],
    ["tag:nightly", ["orders", "stg_orders"]],
    ["tag:night*", ["orders", "stg_orders"]],
    ["group:finance", ["orders"]],
    ["access:public", ["visits"]],
    ["access:protected", ["elsewhere", "orders", "stg_orders"]],
    ["exposure:weekly", ["visits"]],
    ["tag:nightly,path:models/marts", ["orders"]],
    ["group:finance access:public", ["orders", "visits"]],
  ])("by dbt's selection %s", async (select, names) => {
    const found = await pathsOf(models, { select, category: "c" }, { exposures });
    expect([...found].sort()).toEqual(names.map((name) => `/v1/c/${name}`));
  });

  it("but those of `exclude`, by the first rule that has them", async () => {
    expect(
      await pathsOf(models, { select: ["tag:nightly"], exclude: "path:models/staging", category: "c" }),
    ).toEqual(["/v1/c/orders"]);
    const rules = [
      { select: "group:finance", tier: "tier3", category: "money" },
      { select: "path:models", tier: "tier1", category: "c" },
    ];
    const { endpoints } = await preview(repository(project(models), rules));
    expect(endpoints.map(({ path, tier, by }) => [path, tier, by])).toEqual([
      ["/v1/c/stg_orders", "tier1", "publish[1]"],
      ["/v1/c/visits", "tier1", "publish[1]"],
      ["/v1/money/orders", "tier3", "publish[0]"],
    ]);
  });

  it("and says where a rule names none", async () => {
    const folder = repository(project(models), [{ select: "tag:hourly", tier: "tier1" }]);
    expect(await routewright(folder, ["generate", "--preview"])).toMatchObject({
      err: expect.stringContaining("warning: publish[0] names no model: tag:hourly") as string,
    });
  });
});

describe("the path of a model that `publish` names", () => {
  it.each([
    ["fct_orders_daily", "fct_{resource}_{granularity}", "/v1/general/orders/daily"],
    ["fct_order_items", ["fct_{resource}_{granularity}", "fct_{resource}"], "/v1/general/order_items"],
    ["fct_orders_last_7d", "fct_{resource}_{granularity}", "/v1/general/orders/last_7d"],
    ["fct_orders_weekly_30d", "fct_{resource}_{granularity}_{window}", "/v1/general/orders/weekly/30d"],
    ["sales__orders", "{category}__{resource}", "/v1/sales/orders"],
    ["orders", "{category}/{resource}", "/v1/marts/orders"],
    ["fct_orders_v2_hourly", "*_{resource}_{granularity}", "/v1/general/orders_v2/hourly"],
  ])("of %s by %j is %s", async (model, name, path) => {
    expect(await pathsOf([described(model)], { select: "path:models", name })).toEqual([path]);
  });

  it("is none where the name fits no pattern, which the preview says", async () => {
    const rule = { select: "path:models", tier: "tier1", name: "fct_{resource}" };
    const { endpoints, left } = await preview(repository(project([described("dim_shops")]), [rule]));
    expect(endpoints).toEqual([]);
    expect(left).toEqual([
      { model: "model.test.dim_shops", reason: "its name fits no pattern of `name`: fct_{resource}" },
    ]);
  });

  it("is that of its own tags, which also win one by one", async () => {
    const models = [
      described("a", { tags: ["production", "shop", "api:own", "tier3"] }),
      described("b_daily", { tags: ["granularity:weekly", "tier2"] }),
      described("c", { routewright: { category: "own" } }),
    ];
    const rules = [
      {
        select: "path:models",
        tier: "tier1",
        category: "c",
        name: ["{resource}_{granularity}", "{resource}"],
      },
    ];
    const { endpoints } = await preview(repository(project(models), rules));
    expect(endpoints.map(({ path, tier, by }) => [path, tier, by])).toEqual([
      ["/v1/c/b/weekly", "tier2", "publish[0]"],
      ["/v1/own/c", "tier1", "publish[0]"],
      ["/v1/shop/own", "tier3", "tags"],
    ]);
  });

  it("has the tier of a tag that the manifest does not repeat in config.tags", async () => {
    const models = [described("old", { tags: ["tier2"], node: { config: { tags: [] } } })];
    const rules = [{ select: "path:models", tier: "tier1", category: "c" }];
    const { endpoints } = await preview(repository(project(models), rules));
    expect(endpoints.map(({ path, tier }) => [path, tier])).toEqual([["/v1/c/old", "tier2"]]);
  });

  it("is nobody else's: of two that it gives one path the second is an error, and what is tagged keeps its own", async () => {
    const models = [
      described("a_orders", { folder: "models/marts/a" }),
      described("b_orders", { folder: "models/marts/b" }),
      described("z", { tags: ["production", "c", "api:visits"] }),
      described("a_visits"),
    ];
    const rules = [{ select: "path:models", tier: "tier1", category: "c", name: "*_{resource}" }];
    const { endpoints, skipped } = await preview(repository(project(models), rules));
    expect(endpoints.map(({ path, model }) => [path, model])).toEqual([
      ["/v1/c/orders", "a_orders"],
      ["/v1/c/visits", "z"],
    ]);
    expect(skipped.map(({ model, problems }) => [model, problems[0]?.message])).toEqual([
      ["model.test.a_visits", "The path /v1/c/visits belongs to model.test.z."],
      ["model.test.b_orders", "The path /v1/c/orders belongs to model.test.a_orders."],
    ]);
  });
});

describe("what its author has to publish", () => {
  const pii = { meta: { pii: true } };
  const rule = [{ select: "path:models", tier: "tier3", category: "c" }];
  const withColumn = (node: Json): Json => ({
    ...node,
    columns: { id: { name: "id", data_type: "bigint" }, email: { name: "email", data_type: "text", ...pii } },
  });
  const own = ["production", "c", "api:own"];
  it.each([
    [
      "a model with `access: private`",
      described("a", { node: { access: "private" } }),
      "its access is private",
    ],
    ["a private model", described("a", { node: { config: pii } }), "it is marked as private data"],
    ["a model with a private column", described("a", { node: withColumn({}) }), "it has private data: email"],
  ])("is %s", async (_, model, reason) => {
    const { endpoints, skipped } = await preview(repository(project([model, described("b")]), rule));
    expect(endpoints.map(({ model: name }) => name)).toEqual(["b"]);
    expect(skipped).toMatchObject([
      {
        model: "model.test.a",
        problems: [{ message: `\`publish\` names the model, and never publishes it: ${reason}.` }],
      },
    ]);
    const folder = repository(project([{ ...model, tags: own }]), rule);
    expect((await preview(folder)).endpoints).toHaveLength(1);
  });

  it("is a model with a column that a node above it marks", async () => {
    const parent = described("a", { folder: "models/staging", node: withColumn({}) });
    const child = described("b", { parents: ["model.test.a"], columns: { id: "bigint", email: "text" } });
    const marts = [{ ...rule[0], select: "path:models/marts" }];
    const { endpoints, skipped } = await preview(repository(project([parent, child]), marts));
    expect(endpoints).toEqual([]);
    expect(skipped[0]?.problems[0]?.message).toContain("email of it is private data by a mark above it");
  });

  it("is an error of `generate --strict` and `lint`, and ephemeral models and older versions are none", async () => {
    const models = [
      described("a", { node: { access: "private" } }),
      described("b", { materialized: "ephemeral" }),
      described("c"),
    ];
    const folder = repository(project(models), rule);
    expect(await routewright(folder, ["generate", "--strict"])).toMatchObject({
      exit: 1,
      out: expect.stringMatching(/skipped {2}model\.test\.a .*\n.*its access is private/) as string,
    });
    expect(await routewright(folder, ["lint"])).toMatchObject({
      out: expect.stringContaining("its access is private") as string,
    });
    expect((await preview(folder)).left).toEqual([
      { model: "model.test.b", reason: "ephemeral: it has no relation" },
    ]);
  });
});

describe("what `publish` names", () => {
  it("is shown in a table before anything is written, by `init` too", async () => {
    const models = [
      described("orders_daily"),
      described("dim_x"),
      { name: "visits_daily", columns: { id: "bigint" } },
    ];
    const folder = ownFolder();
    putJson(join(folder, "manifest.json"), project(models));
    const flags = ["--publish", "path:models/marts", "--publish-name", "{resource}_{granularity}"];
    const table = `path                      tier   model         by
/v1/general/orders/daily  tier1  orders_daily  publish[0]
/v1/general/visits/daily  tier1  visits_daily  publish[0]   no description
left out model.test.dim_x: its name fits no pattern of \`name\`: {resource}_{granularity}
2 endpoints, 2 by \`publish\`; no model skipped; 1 left out
`;
    expect(
      await routewright(folder, ["init", "--yes", "--manifest", "manifest.json", ...flags]),
    ).toMatchObject({
      exit: 2,
      err: "error: --publish needs --publish-tier: the tier of models without a tier tag.\n",
    });
    const init = await routewright(folder, [
      "init",
      "--yes",
      "--manifest",
      "manifest.json",
      ...flags,
      "--publish-tier",
      "tier1",
    ]);
    expect(init.exit).toBe(0);
    expect(init.err).toContain(table);
    const shown = await routewright(folder, ["generate", "--preview"]);
    expect(shown).toMatchObject({ exit: 0, out: table });
    expect(existsSync(join(folder, "generated"))).toBe(false);
    expect((await routewright(folder, ["generate"])).exit).toBe(0);
    expect(existsSync(join(folder, "generated/routes/general/orders.daily.ts"))).toBe(true);
  });

  it("is linted: a description that is missing is a warning", async () => {
    const folder = repository(project([{ name: "orders", columns: { id: "bigint" } }]), [
      { select: "path:models", tier: "tier1" },
    ]);
    const { out } = await routewright(folder, ["lint", "--format", "json"]);
    const { findings } = JSON.parse(out) as { findings: readonly { rule: string; severity: string }[] };
    expect(findings).toContainEqual(
      expect.objectContaining({ rule: "missing-description", severity: "warning" }),
    );
  });

  it("moves where its pattern changes, which `diff` calls breaking", async () => {
    const rule = { select: "path:models", tier: "tier1" };
    const folder = repository(project([described("fct_orders")]), [rule]);
    expect((await routewright(folder, ["generate"])).exit).toBe(0);
    configure(folder, [{ ...rule, name: "fct_{resource}" }]);
    const { exit, out } = await routewright(folder, [
      "diff",
      "generated",
      "manifest.json",
      "--format",
      "json",
    ]);
    expect(exit).toBe(1);
    const { changes } = JSON.parse(out) as { changes: readonly { endpoint: string; kind: string }[] };
    expect(changes.map(({ kind, endpoint }) => [kind, endpoint])).toContainEqual([
      "path-moved",
      "/v1/general/fct_orders",
    ]);
  });

  it.each([
    ["a rule without a tier", [{ select: "path:models" }], /`publish\[0\]`: .*tier/],
    [
      "another selection of dbt",
      [{ select: "+orders", tier: "tier1" }],
      /`publish\[0\]\.select`.*path:models\/marts/,
    ],
    [
      "a pattern without a resource",
      [{ select: "tag:a", tier: "tier1", name: "fct_{category}" }],
      /publish\[0\]\.name.*\{resource\}/,
    ],
    [
      "a part that is not known",
      [{ select: "tag:a", tier: "tier1", name: "{resource}_{grain}" }],
      /publish\[0\]\.name/,
    ],
    [
      "a part that stands twice",
      [{ select: "tag:a", tier: "tier1", name: "{resource}_{resource}" }],
      /publish\[0\]\.name/,
    ],
  ])("is refused with %s", (_, publish, problem) => {
    expect(configProblems({ publish })).toEqual([expect.stringMatching(problem)]);
  });
});

describe("a refresh", () => {
  it("serves a model that only `publish` names once `generate` has written it, and a tagged one at once", async () => {
    const schema = await ownSchema(
      "CREATE TABLE @.a AS SELECT 1 AS id; CREATE TABLE @.b AS SELECT 2 AS id; CREATE TABLE @.c AS SELECT 3 AS id",
    );
    const model = (name: string, tags: readonly string[] = []) => described(name, { schema, tags });
    const rules = [{ select: "path:models", tier: "tier0", category: "c" }];
    const folder = repository(project([model("a")]), rules);
    expect((await routewright(folder, ["generate"])).exit).toBe(0);
    const served = await serve(folder, ["--only", "data", "--watch"], {
      DATABASE_URL: databaseUrl,
      API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
      RATE_LIMITS: "1000000",
    });
    const statusOf = async (path: string): Promise<number> => (await fetch(`${served.url}${path}`)).status;
    expect([await statusOf("/v1/c/a"), await statusOf("/v1/c/b")]).toEqual([200, 404]);
    putJson(
      join(folder, "manifest.json"),
      project([model("a"), model("b"), model("c", ["production", "c", "api:c"])]),
    );
    await expect.poll(() => statusOf("/v1/c/c")).toBe(200);
    expect([await statusOf("/v1/c/a"), await statusOf("/v1/c/b")]).toEqual([200, 404]);
    expect((await routewright(folder, ["generate"])).exit).toBe(0);
    writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(project([model("a"), model("b")]))}\n`);
    await expect.poll(() => statusOf("/v1/c/b")).toBe(200);
  });
});

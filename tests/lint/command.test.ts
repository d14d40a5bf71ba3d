import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { lint } from "../../generator/commands/lint.js";
import { routewright } from "../commands/run.js";
import { ownFolder } from "../support/service.js";
import { DAILY, project, type TestNode } from "./project.js";
import { lintOptions } from "./run.js";

const folder = ownFolder();

function file(name: string, json: unknown): string {
  const path = `${folder}/${name}`;
  writeFileSync(path, typeof json === "string" ? json : JSON.stringify(json));
  return path;
}

const shop = { name: "shop", column: "shop", operator: "=", type: "string", description: "A shop." };
const api = { allow_unfiltered: true, parameters: [shop] };
const sales: TestNode = { tags: DAILY, columns: ["shop", "day"], api };
const CLEAN = file("clean.json", project({ sales }));
const undescribed = { allow_unfiltered: true, parameters: [{ ...shop, description: "" }] };
const WARNING = file("warning.json", project({ sales: { ...sales, api: undescribed } }));
const ERROR = file("error.json", project({ sales: { ...sales, meta: { contains_pii: true } } }));

it.each([
  [CLEAN, { error: 0, warning: 0, none: 0 }],
  [WARNING, { error: 0, warning: 1, none: 0 }],
  [ERROR, { error: 1, warning: 1, none: 0 }],
])("--fail-on decides the exit code of %s", async (manifest, expected) => {
  for (const [failOn, exit] of Object.entries(expected) as [keyof typeof expected, number][])
    expect((await lint(lintOptions({ manifest, failOn }))).exit, failOn).toBe(exit);
});

it.each([
  ["a manifest that is not there", { manifest: `${folder}/nowhere.json` }, /there is no such file/],
  ["a manifest that is no JSON", { manifest: file("text.json", "hello") }, /is not JSON/],
  ["another file of dbt's", { manifest: file("other.json", {}) }, /is not a dbt manifest/],
  ["a catalog that is none", { manifest: WARNING, catalog: WARNING }, /is not a dbt catalog/],
])("exits 2 and says why for %s", async (_, options, reason) => {
  const { exit, output, errors } = await lint(lintOptions(options));
  expect({ exit, output }).toEqual({ exit: 2, output: undefined });
  expect(errors?.join()).toMatch(reason);
});

it("takes columns that no schema.yml lists from the catalog", async () => {
  const manifest = file("undeclared.json", project({ sales: { tags: DAILY, columns: [] } }));
  const columns = { shop: { name: "shop", type: "text", index: 1 } };
  const catalog = file("catalog.json", {
    metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json" },
    nodes: { "model.shop.sales": { columns } },
  });
  const rules = async (more: object): Promise<unknown> => {
    const { output = "" } = await lint(lintOptions({ manifest, format: "json", ...more }));
    return JSON.parse(output).rules;
  };
  expect(await rules({})).toHaveProperty("untyped-column");
  expect(await rules({ catalog })).not.toHaveProperty("untyped-column");
});

it("fails at a model that `generate` skips, and says what is wrong with it", async () => {
  const broken = { ...sales, tags: DAILY.with(3, "api:other"), columns: [] };
  const manifest = file("broken.json", project({ sales, broken }));
  const { exit, output } = await lint(lintOptions({ manifest, failOn: "error" }));
  expect(exit).toBe(1);
  expect(output).toMatch(/^error {7}skipped-model {2}model\.shop\.broken .*parameters\[0\]\.column/m);
  expect(output).toContain("fails, 1 error\n");
});

it("takes the severity of `skipped-model` from the config file", async () => {
  const broken = { ...sales, tags: DAILY.with(3, "api:other"), columns: [] };
  const manifest = file("broken.json", project({ sales, broken }));
  const { exit } = await lint(lintOptions({ manifest, severities: { "skipped-model": "off" } }));
  expect(exit).toBe(0);
});

it("leaves out a model that its author excludes", async () => {
  const excluded = { ...sales, tags: DAILY.with(3, "api:other"), api: { exclude_from_api: true } };
  const manifest = file("excluded.json", project({ sales, excluded }));
  expect((await lint(lintOptions({ manifest }))).exit).toBe(0);
});

it("on the command line fails at any finding by default", async () => {
  const variables = { DBT_MANIFEST_PATH: WARNING };
  expect(await routewright(folder, ["lint"], variables)).toMatchObject({
    exit: 1,
    out: expect.stringMatching(/\n0 errors, 1 warning in 1 endpoint\nfails, 1 warning\n$/),
  });
  expect((await routewright(folder, ["lint", "--fail-on", "error"], variables)).exit).toBe(0);
});

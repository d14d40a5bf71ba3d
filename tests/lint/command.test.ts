import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { run } from "../../generator/cli.js";
import { lint } from "../../generator/commands/lint.js";
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
const sales: TestNode = { tags: DAILY, columns: ["shop"], api };
const CLEAN = file("clean.json", project({ sales }));
const undescribed = { allow_unfiltered: true, parameters: [{ ...shop, description: "" }] };
const WARNING = file("warning.json", project({ sales: { ...sales, api: undescribed } }));
const ERROR = file("error.json", project({ sales: { ...sales, meta: { contains_pii: true } } }));

describe("--fail-on", () => {
  it.each([
    [CLEAN, { error: 0, warning: 0, none: 0 }],
    [WARNING, { error: 0, warning: 1, none: 0 }],
    [ERROR, { error: 1, warning: 1, none: 0 }],
  ])("decides the exit code of %s", async (manifest, expected) => {
    for (const [failOn, exit] of Object.entries(expected) as [keyof typeof expected, number][])
      expect((await lint(lintOptions({ manifest, failOn }))).exit, failOn).toBe(exit);
  });
});

describe("exits 2 and says why", () => {
  it.each([
    ["a manifest that is not there", { manifest: `${folder}/nowhere.json` }, /there is no such file/],
    ["a manifest that is no JSON", { manifest: file("text.json", "hello") }, /is not JSON/],
    ["another file of dbt's", { manifest: file("other.json", {}) }, /is not a dbt manifest/],
    ["a catalog that is none", { manifest: WARNING, catalog: WARNING }, /is not a dbt catalog/],
  ])("for %s", async (_, options, reason) => {
    const { exit, output, errors } = await lint(lintOptions(options));
    expect({ exit, output }).toEqual({ exit: 2, output: undefined });
    expect(errors?.join()).toMatch(reason);
  });
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

describe("the command line", () => {
  /** Runs a whole command and gives what it prints. */
  async function lintWith(...args: string[]): Promise<{ exit: number; output: string; errors: string }> {
    const [output, errors]: [string[], string[]] = [[], []];
    const into = (texts: string[]) => (text: string | Uint8Array) => texts.push(String(text)) > 0;
    vi.spyOn(process.stdout, "write").mockImplementation(into(output));
    vi.spyOn(process.stderr, "write").mockImplementation(into(errors));
    const exit = await run(["lint", ...args]);
    vi.restoreAllMocks();
    return { exit, output: output.join(""), errors: errors.join("") };
  }

  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it("fails at any finding by default", async () => {
    expect((await lintWith("--manifest", WARNING)).exit).toBe(1);
    expect((await lintWith("--manifest", WARNING, "--fail-on", "error")).exit).toBe(0);
  });

  it("takes the manifest that the environment names", async () => {
    vi.stubEnv("DBT_MANIFEST_PATH", WARNING);
    expect((await lintWith()).output).toMatch(/\n0 errors, 1 warning in 1 endpoint\nfails, 1 warning\n$/);
  });

  it("asks for a manifest where nobody names one", async () => {
    vi.stubEnv("DBT_MANIFEST_PATH", undefined);
    vi.stubEnv("DBT_MANIFEST_URL", undefined);
    const { exit, errors } = await lintWith();
    expect({ exit, errors }).toEqual({
      exit: 2,
      errors:
        "error: Name the manifest with --manifest, DBT_MANIFEST_PATH or DBT_MANIFEST_URL, or `manifest` in routewright.config.json.\n",
    });
  });

  it.each([
    ["--format", "xml"],
    ["--fail-on", "breaking"],
    ["--nonsense", ""],
  ])("refuses %s %s", async (flag, value) => {
    expect((await lintWith("--manifest", CLEAN, flag, value)).exit).toBe(2);
  });
});

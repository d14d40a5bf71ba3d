import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { project, routewright } from "../commands/run.js";
import { manifestOf, type TestModel } from "../support/manifest.js";

const endpoint = (name: string, more: Partial<TestModel> = {}): TestModel => ({
  name,
  tags: ["production", "shop", `api:${name}`],
  columns: { id: "integer" },
  ...more,
});
const BASE = [endpoint("orders"), endpoint("refunds", { description: "Refunds." })];
/** One endpoint is new, and one has another column: each has a finding, as the one that stays has. */
const HEAD = [
  endpoint("orders"),
  endpoint("refunds", { description: "Refunds.", columns: { id: "integer", at: "date" } }),
  endpoint("visits"),
];

interface LintReport {
  readonly findings: readonly { rule: string; endpoint: string; model: string }[];
}

/** The exit code and the JSON report of the head. */
function reportOf(
  folder: string,
  ...flags: readonly string[]
): LintReport & { readonly exit: number | null } {
  const args = ["lint", "--manifest", "head.json", "--format", "json", ...flags];
  const { exit, out } = routewright(folder, args);
  return { exit, ...(JSON.parse(out) as LintReport) };
}

/** Endpoints with a `missing-tier-tag`, and the exit code. */
function findings(folder: string, ...flags: readonly string[]) {
  const { exit, findings: found } = reportOf(folder, ...flags);
  return { exit, found: found.filter(({ rule }) => rule === "missing-tier-tag").map((one) => one.endpoint) };
}

/** Commits the generated folder to `main` of a new repository. */
function commit(folder: string): void {
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.org", ...args], { cwd: folder });
  git("init", "-q", "-b", "main");
  git("add", "-A", "generated");
  git("commit", "-q", "-m", "Generated");
}

describe("lint --base", () => {
  const folder = project(...BASE);
  writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf(HEAD)));
  routewright(folder, ["generate", "--manifest", "manifest.json"]);
  commit(folder);

  it("reports everything without it", () => {
    const all = ["/v1/shop/orders", "/v1/shop/refunds", "/v1/shop/visits"];
    expect(findings(folder)).toEqual({ exit: 1, found: all });
  });

  it("that is a manifest: reports what that one has not, finding by finding", () => {
    expect(findings(folder, "--base", "manifest.json")).toEqual({ exit: 1, found: ["/v1/shop/visits"] });
  });

  it.each([["generated"], ["git:main"]])(
    "that is %s: reports findings at endpoints that are new or changed",
    (base) => {
      expect(findings(folder, "--base", base)).toEqual({
        exit: 1,
        found: ["/v1/shop/refunds", "/v1/shop/visits"],
      });
    },
  );

  it("exits 0 where nothing is new, and says how much was there before", () => {
    const { exit, out } = routewright(folder, [
      "lint",
      "--manifest",
      "manifest.json",
      "--base",
      "manifest.json",
    ]);
    expect(exit).toBe(0);
    expect(out).toMatch(/\d+ known/);
  });

  it.each(["generated", "git:main", "manifest.json"])(
    "that is %s: knows the models skipped there",
    (base) => {
      const skipped = (name: string) => endpoint(name, { api: { methods: ["BREW"] } });
      const invalid = project(endpoint("orders"), skipped("refunds"));
      routewright(invalid, ["generate", "--manifest", "manifest.json"]);
      commit(invalid);
      const head = [endpoint("orders"), skipped("refunds"), skipped("visits")];
      writeFileSync(join(invalid, "head.json"), JSON.stringify(manifestOf(head)));
      const found = reportOf(invalid, "--base", base).findings.filter(({ rule }) => rule === "skipped-model");
      expect(new Set(found.map(({ model }) => model))).toEqual(new Set(["model.test.visits"]));
    },
  );

  it("knows old findings at an endpoint whose words or sunset have changed, and sees those that the change makes", () => {
    const rules = (...models: readonly TestModel[]) => {
      writeFileSync(join(folder, "changed.json"), JSON.stringify(manifestOf(models)));
      const args = ["lint", "--manifest", "changed.json", "--base", "generated", "--format", "json"];
      const { findings: found } = JSON.parse(routewright(folder, args).out) as LintReport;
      return found.map(({ rule, endpoint: path }) => `${rule} ${path}`);
    };
    const [orders, refunds] = BASE as [TestModel, TestModel];
    expect(rules({ ...orders, description: "Other words." }, refunds)).toEqual([]);
    expect(rules(orders, { ...refunds, description: "" })).toEqual([
      "missing-description /v1/shop/refunds",
      "missing-description /v1/shop/refunds",
    ]);
    const later = new Date(Date.now() + 90 * 86_400_000).toISOString();
    expect(rules({ ...orders, sunset: later }, refunds)).toEqual([]);
    expect(rules({ ...orders, sunset: "2020-01-01" }, refunds)).toEqual(["past-sunset /v1/shop/orders"]);
  });

  it("reports a forgotten tag where the base had an endpoint", () => {
    const untagged = (name: string): TestModel => endpoint(name, { tags: ["shop", `api:${name}`] });
    writeFileSync(
      join(folder, "tags.json"),
      JSON.stringify(manifestOf([untagged("orders"), untagged("visits"), endpoint("refunds")])),
    );
    const found = (...flags: readonly string[]) => {
      const args = ["lint", "--manifest", "tags.json", "--format", "json", ...flags];
      const { findings: all } = JSON.parse(routewright(folder, args).out) as LintReport;
      return all.filter(({ rule }) => rule === "forgotten-tag").map(({ model }) => model);
    };
    expect(found()).toEqual(["model.test.orders", "model.test.visits"]);
    expect(found("--base", "generated")).toEqual(["model.test.orders"]);
  });

  it("in a monorepo, annotations name files from the repository's root", () => {
    const root = project(endpoint("orders"));
    execFileSync("git", ["init", "-q", root]);
    mkdirSync(join(root, "warehouse/dbt/target"), { recursive: true });
    writeFileSync(join(root, "warehouse/dbt/dbt_project.yml"), "name: shop\n");
    const manifest = join("warehouse/dbt/target", "manifest.json");
    renameSync(join(root, "manifest.json"), join(root, manifest));
    const { out } = routewright(root, ["lint", "--manifest", manifest, "--format", "github"]);
    expect(out).toMatch(/^::warning file=warehouse\/dbt\/models\/orders\.sql,/m);
    expect(out).not.toMatch(/file=models/);
  });

  it("that does not exist yet is no error with --missing-base ignore", () => {
    const args = ["lint", "--manifest", "head.json", "--base", "git:main", "--generated", "elsewhere"];
    expect(routewright(folder, args).exit).toBe(2);
    expect(routewright(folder, [...args, "--missing-base", "ignore"])).toMatchObject({
      exit: 0,
      err: expect.stringContaining("git:main has no elsewhere/catalogue.json"),
    });
  });

  it("that is not a manifest is an error", () => {
    expect(routewright(folder, ["lint", "--manifest", "head.json", "--base", "git:nowhere"])).toMatchObject({
      exit: 2,
      out: "",
      err: expect.stringContaining("There is no commit nowhere"),
    });
  });
});

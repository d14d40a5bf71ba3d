import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { project, routewright } from "../commands/run.js";
import { gitIn } from "../support/git.js";
import { manifestOf, type TestModel } from "../support/manifest.js";

const endpoint = (name: string, more: Partial<TestModel> = {}): TestModel => ({
  name,
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
async function reportOf(folder: string, ...flags: readonly string[]) {
  const args = ["lint", "--manifest", "head.json", "--format", "json", ...flags];
  const { exit, out } = await routewright(folder, args);
  return { exit, ...(JSON.parse(out) as LintReport) };
}

/** Endpoints with a `missing-tier-tag`, and the exit code. */
async function findings(folder: string, ...flags: readonly string[]) {
  const { exit, findings: found } = await reportOf(folder, ...flags);
  return { exit, found: found.filter(({ rule }) => rule === "missing-tier-tag").map((one) => one.endpoint) };
}

/** Commits the generated folder to `main` of a new repository. */
function commit(folder: string): void {
  const git = gitIn(folder);
  git("init", "-q", "-b", "main");
  git("add", "-A", "generated");
  git("commit", "-q", "-m", "Generated");
}

describe("lint --base", async () => {
  const folder = project(...BASE);
  writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf(HEAD)));
  await routewright(folder, ["generate", "--manifest", "manifest.json"]);
  commit(folder);

  it("reports everything without it", async () => {
    const all = ["/v1/shop/orders", "/v1/shop/refunds", "/v1/shop/visits"];
    expect(await findings(folder)).toEqual({ exit: 1, found: all });
  });

  it.each(["generated", "git:main", "manifest.json"])(
    "that is %s: reports findings at endpoints that are new or changed",
    async (base) => {
      expect(await findings(folder, "--base", base)).toEqual({
        exit: 1,
        found: ["/v1/shop/refunds", "/v1/shop/visits"],
      });
    },
  );

  it("exits 0 where nothing is new, and says how much was there before", async () => {
    const { exit, out } = await routewright(folder, [
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
    async (base) => {
      const skipped = (name: string) => endpoint(name, { api: { methods: ["BREW"] } });
      const invalid = project(endpoint("orders"), skipped("refunds"));
      await routewright(invalid, ["generate", "--manifest", "manifest.json"]);
      commit(invalid);
      const head = [endpoint("orders"), skipped("refunds"), skipped("visits")];
      writeFileSync(join(invalid, "head.json"), JSON.stringify(manifestOf(head)));
      const found = (await reportOf(invalid, "--base", base)).findings.filter(
        ({ rule }) => rule === "skipped-model",
      );
      expect(new Set(found.map(({ model }) => model))).toEqual(new Set(["model.test.visits"]));
    },
  );

  it("reports a forgotten tag where the base had an endpoint", async () => {
    const untagged = (name: string): TestModel => endpoint(name, { tags: ["shop", `api:${name}`] });
    writeFileSync(
      join(folder, "tags.json"),
      JSON.stringify(manifestOf([untagged("orders"), untagged("visits"), endpoint("refunds")])),
    );
    const found = async (...flags: readonly string[]) => {
      const args = ["lint", "--manifest", "tags.json", "--format", "json", ...flags];
      const { findings: all } = JSON.parse((await routewright(folder, args)).out) as LintReport;
      return all.filter(({ rule }) => rule === "forgotten-tag").map(({ model }) => model);
    };
    expect(await found()).toEqual(["model.test.orders", "model.test.visits"]);
    expect(await found("--base", "generated")).toEqual(["model.test.orders"]);
  });

  it("in a monorepo, annotations name files from the repository's root", async () => {
    const root = project(endpoint("orders"));
    gitIn(root)("init", "-q");
    mkdirSync(join(root, "warehouse/dbt/target"), { recursive: true });
    writeFileSync(join(root, "warehouse/dbt/dbt_project.yml"), "name: shop\n");
    const manifest = join("warehouse/dbt/target", "manifest.json");
    renameSync(join(root, "manifest.json"), join(root, manifest));
    const { out } = await routewright(root, ["lint", "--manifest", manifest, "--format", "github"]);
    expect(out).toMatch(/^::warning file=warehouse\/dbt\/models\/orders\.sql,/m);
    expect(out).not.toMatch(/file=models/);
  });

  it("that does not exist yet is no error with --missing-base ignore", async () => {
    const args = ["lint", "--manifest", "head.json", "--base", "git:main", "--generated", "elsewhere"];
    expect((await routewright(folder, args)).exit).toBe(2);
    expect(await routewright(folder, [...args, "--missing-base", "ignore"])).toMatchObject({
      exit: 0,
      err: expect.stringContaining("git:main has no elsewhere/catalogue.json"),
    });
  });

  it("that is not a manifest is an error", async () => {
    expect(
      await routewright(folder, ["lint", "--manifest", "head.json", "--base", "git:nowhere"]),
    ).toMatchObject({ exit: 2, out: "", err: expect.stringContaining("There is no commit nowhere") });
  });
});

it("reports a mark of private data that the base has, by what shows the data", async () => {
  const people = (meta: object): unknown => {
    const manifest = manifestOf([endpoint("people", { columns: { id: "integer", email: "text" } })]);
    const [node] = Object.values((manifest as { nodes: Record<string, { columns: object }> }).nodes);
    Object.assign((node?.columns as Record<string, object>)["email"] as object, { meta });
    return manifest;
  };
  const folder = project(endpoint("people"));
  writeFileSync(join(folder, "base.json"), JSON.stringify(people({ pii: true })));
  writeFileSync(join(folder, "head.json"), JSON.stringify(people({})));
  const { exit, findings: found } = await reportOf(folder, "--base", "base.json");
  expect(exit).toBe(1);
  expect(found.filter(({ rule }) => rule === "private-mark-removed")).toEqual([
    expect.objectContaining({
      rule: "private-mark-removed",
      severity: "error",
      model: "model.test.people",
      endpoint: "/v1/shop/people",
    }),
  ]);
  writeFileSync(join(folder, "base.json"), JSON.stringify(people({})));
  expect((await reportOf(folder, "--base", "base.json")).findings).toEqual([]);
});

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
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
const BASE = [endpoint("orders"), endpoint("refunds")];
/** One endpoint is new, and one has another column: each has a finding, as the one that stays has. */
const HEAD = [
  endpoint("orders"),
  endpoint("refunds", { columns: { id: "integer", at: "date" } }),
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

  it("that is not a manifest is an error", () => {
    expect(routewright(folder, ["lint", "--manifest", "head.json", "--base", "git:nowhere"])).toMatchObject({
      exit: 2,
      out: "",
      err: expect.stringContaining("There is no commit nowhere"),
    });
  });
});

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  GITHUB,
  GITHUB_CLIENTS,
  GITHUB_REQUESTS,
  GITLAB,
  GITLAB_CLIENTS,
  GITLAB_REQUESTS,
  template,
  workflowJob,
} from "./templates.js";
import { needs } from "../support/needs.js";

/** Problems of each workflow, as `workflow-problems.ts` finds them. In a process of its own: see there. */
function workflowProblems(contents: readonly string[]): readonly (readonly string[])[] {
  const script = fileURLToPath(new URL("workflow-problems.ts", import.meta.url));
  const run = spawnSync(process.execPath, ["--import", "tsx", script], {
    input: JSON.stringify(contents),
    encoding: "utf8",
  });
  expect(run.status, run.stderr).toBe(0);
  return JSON.parse(run.stdout) as string[][];
}

const workflows = [GITHUB, GITHUB_REQUESTS, GITHUB_CLIENTS];

describe("the templates for GitHub Actions", () => {
  it("keep to the published workflow schema, and would not with a mistake in one", () => {
    const mistakes = [
      ["timeout-minutes:", "timeout-minute:"],
      ["pull-requests: write", "pull-requests: execute"],
      ["${{ secrets.DBT_MANIFEST_URL }}", "${{ secret.DBT_MANIFEST_URL }}"],
      ["runs-on: ubuntu-latest", ""],
    ] as const;
    const wrong = mistakes.map(([right, mistake]) => template(GITHUB).replace(right, mistake));
    const [problems, ofRequests, ofClients, ...others] = workflowProblems([
      ...workflows.map((file) => template(file)),
      ...wrong,
    ]);
    expect([problems, ofRequests, ofClients]).toEqual([[], [], []]);
    expect(others).toHaveLength(mistakes.length);
    for (const found of others) expect(found).not.toEqual([]);
  });

  it.each(workflows)(
    "%s puts no expression into a script, and stops each script at its first failure",
    (file) => {
      const scripts = workflowJob(file).steps.flatMap(({ run }) => run ?? []);
      expect(scripts.length).toBeGreaterThan(0);
      for (const script of scripts) {
        expect(script).not.toContain("${{");
        expect(script).toMatch(/^set -euo pipefail\n/);
      }
    },
  );

  it.each(workflows)("%s names the major version of each action", (file) => {
    for (const { uses } of workflowJob(file).steps.filter((step) => step.uses !== undefined))
      expect(uses).toMatch(/^actions\/[a-z-]+@v\d+$/);
  });
});

/** The checker's bundle uses this method of newer Node versions; the oldest one that Routewright runs on lacks it. */
const SET_UNION = `data:text/javascript,${encodeURIComponent(
  "Set.prototype.union ??= function (other) { return new Set([...this, ...other]); };",
)}`;

/**
 * gitlab-ci-local checks against the schema that GitLab publishes; or, with variables, only lists the jobs whose rules
 * let them run.
 */
function listJobs(content: string, variables: Readonly<Record<string, string>> | null = null) {
  const folder = mkdtempSync(join(tmpdir(), "routewright-gitlab-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, ".gitlab-ci.yml"), content);
  const git = (...args: readonly string[]) => spawnSync("git", args, { cwd: folder });
  git("init", "-q", "-b", "main");
  git("remote", "add", "origin", "https://gitlab.example/group/project.git");
  git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "Empty");
  const values = Object.entries(variables ?? {}).map(([name, value]) => `--variable=${name}=${value}`);
  const flags = variables === null ? [] : ["--json-schema-validation=false", ...values];
  const checker = createRequire(import.meta.url).resolve("gitlab-ci-local");
  const args = ["--import", SET_UNION, checker, "--list-csv", ...flags];
  const { PATH = "" } = process.env;
  const run = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: "utf8",
    env: { PATH, HOME: folder, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  });
  const jobs = run.stdout.split("\n").flatMap((line) => /^([\w-]+);/.exec(line)?.[1] ?? []);
  return {
    status: run.status,
    output: run.stdout + run.stderr,
    jobs: jobs.filter((name) => name !== "name"),
  };
}

describe.skipIf(!needs("git"))("the templates for GitLab", () => {
  it.each([GITLAB, GITLAB_REQUESTS, GITLAB_CLIENTS])(
    "%s keeps to the published schema of GitLab's pipelines",
    (file) => {
      const { status, output } = listJobs(template(file));
      expect(status, output).toBe(0);
      expect(output).toContain("json schema validated");
    },
  );

  it("would not keep to it, with a mistake in it", () => {
    const content = template(GITLAB).replace("resource_group:", "resource_groups:");
    const { status, output } = listJobs(content);
    expect(status).toBe(1);
    expect(output).toContain("resource_groups");
  });

  const listed = (source: string, branch = "main", file = GITLAB, more: object = {}) =>
    listJobs(template(file), {
      ...more,
      CI_PIPELINE_SOURCE: source,
      CI_COMMIT_BRANCH: branch,
      CI_DEFAULT_BRANCH: "main",
    }).jobs;

  it("run when the dbt job, a schedule or a person starts them on the main branch, and not on a push", () => {
    for (const source of ["trigger", "schedule", "web"])
      expect(listed(source), source).toEqual(["regenerate-api"]);
    expect(listed("push")).toEqual([]);
    expect(listed("trigger", "feature")).toEqual([]);
    expect(listed("merge_request_event")).toEqual([]);
  });

  it("check a merge request, and nothing else", () => {
    const jobs = ["parse-dbt-project", "check-api"];
    expect(listed("merge_request_event", "feature", GITLAB_REQUESTS)).toEqual(jobs);
    for (const source of ["push", "schedule"]) expect(listed(source, "main", GITLAB_REQUESTS)).toEqual([]);
  });

  it("publish clients after a merge, once both packages have a name", () => {
    const names = { NPM_NAME: "@shop/api", PYPI_NAME: "shop-api" };
    const published = (more: object, branch = "main") => listed("push", branch, GITLAB_CLIENTS, more);
    expect(published(names)).toEqual(["publish-clients"]);
    expect(published({})).toEqual([]);
    expect(published({ NPM_NAME: names.NPM_NAME })).toEqual([]);
    expect(published(names, "feature")).toEqual([]);
  });
});

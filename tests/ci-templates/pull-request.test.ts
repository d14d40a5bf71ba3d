import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { command, writePackage } from "./repository.js";
import { type PipelineRun, runSteps } from "./run.js";
import { GITHUB_REQUESTS, githubSteps, GITLAB_REQUESTS, gitlabSteps, TEMPLATES } from "./templates.js";

/** A run installs, runs dbt and four commands of the generator. */
const TIMEOUT_MS = 900_000;

const root = mkdtempSync(join(tmpdir(), "routewright-test-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});
const author = join(root, "author");
const git = (...args: readonly string[]): string => command(author, "git", ...args).trim();

function write(file: string, content: unknown): void {
  const path = join(author, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
}

const columns = (...names: readonly string[]) => names.map((name) => ({ name, data_type: "integer" }));
const volume = (...names: readonly string[]) => ({
  models: [{ name: "volume", columns: columns(...names) }],
});

/** Writes dbt's manifest as the template does, with a target of the profile, and generates. */
async function generate(target = "prod"): Promise<void> {
  const script = `dbt parse --quiet --target ${target} && { [ -d node_modules ] || npm ci --silent --ignore-scripts; } && npx routewright generate --quiet`;
  const { status, output } = await runSteps(author, [{ script, variables: {} }], {});
  expect(status, output).toBe(0);
}

function commit(message: string): void {
  git("add", "-A");
  git("commit", "-q", "-m", message);
}

const MODELS = "models/models.yml";

beforeAll(async () => {
  if (!needs("git", "dbt")) return;
  command(root, "git", "init", "-q", "-b", "main", author);
  writePackage(root, author);
  write(".gitignore", "node_modules/\ntarget/\nlogs/\n.user.yml\n");
  write("requirements.txt", "dbt-core\n");
  write("dbt_project.yml", { name: "shop", profile: "shop", flags: { send_anonymous_usage_stats: false } });
  const nowhere = { type: "postgres", host: "none", port: 1, user: "u", password: "p", dbname: "d" };
  const outputs = {
    prod: { ...nowhere, schema: "api" },
    ann: { ...nowhere, schema: "dbt_ann" },
    ci: { ...nowhere, schema: "ci_7" },
  };
  write("profiles.yml", { shop: { target: "ann", outputs } });
  write(
    "models/volume.sql",
    "{{ config(tags=['production', 'tier1', 'api:volume']) }} select 1 as a, 2 as b",
  );
  write(MODELS, volume("a", "b"));
  write("routewright.config.json", { manifest: "target/manifest.json" });
  cpSync(`${TEMPLATES}check.sh`, join(author, "ci/check.sh"));
  await generate();
  commit("By hand");
  git("checkout", "-q", "-b", "request");
}, TIMEOUT_MS);

/** As actions/checkout leaves the merge of the request: two commits deep. */
async function onGithub(): Promise<PipelineRun & { readonly summary: string }> {
  git("checkout", "-q", "-B", "merge", "main");
  git("merge", "-q", "--no-ff", "-m", "Merge", "request");
  const checkout = mkdtempSync(join(root, "checkout-"));
  command(root, "git", "clone", "-q", "--depth=2", "-b", "merge", `file://${author}`, checkout);
  git("checkout", "-q", "request");
  const summary = join(checkout, ".git/summary");
  const run = await runSteps(checkout, githubSteps(GITHUB_REQUESTS, {}), {
    GITHUB_STEP_SUMMARY: summary,
    GITHUB_WORKSPACE: checkout,
  });
  return { ...run, summary: existsSync(summary) ? readFileSync(summary, "utf8") : "" };
}

/** As GitLab's runner leaves the request's branch, with its whole history and what the first job left. */
async function onGitlab(): Promise<PipelineRun> {
  const checkout = mkdtempSync(join(root, "checkout-"));
  command(root, "git", "clone", "-q", `file://${author}`, checkout);
  const base = git("merge-base", "main", "request");
  const set = { GITLAB_CI: "true", CI_MERGE_REQUEST_DIFF_BASE_SHA: base };
  const [parse, ...others] = gitlabSteps(GITLAB_REQUESTS, set);
  // It takes its time, and does what was done on GitHub.
  expect(githubSteps(GITHUB_REQUESTS, {})[0]?.script.trim()).toBe(parse?.script);
  cpSync(join(author, "target/manifest.json"), join(checkout, "target/manifest.json"));
  return runSteps(checkout, others, set);
}

/** The script alone, where the author has installed and generated. */
function check(base: string): Promise<PipelineRun> {
  return runSteps(author, [{ script: "sh ci/check.sh", variables: { BASE: base } }], {});
}

describe.skipIf(!needs("git", "dbt"))("the pipeline of a request", { timeout: TIMEOUT_MS }, () => {
  it("fails at a change that breaks consumers, with annotations and a summary on GitHub", async () => {
    write(MODELS, volume("a"));
    await generate();
    commit("A column less");
    const { status, output, summary } = await onGithub();
    expect(status, output).toBe(1);
    expect(output).toMatch(/^::error file=models\/volume\.sql,title=Column removed/m);
    expect(summary).toContain("### API changes: fails, 1 breaking change\n");
    expect(summary).toContain("### API lint: passes");
    const onOther = await onGitlab();
    expect(onOther.status, onOther.output).toBe(1);
    expect(onOther.output).toContain("fails, 1 breaking change");
    expect(onOther.output).not.toContain("::error");
  });

  it("passes once the same request accepts the change", async () => {
    const why = { before: "integer null", reason: "No client reads it" };
    write(".routewright-accept.json", [
      { kind: "column-removed", endpoint: "/v1/general/volume", subject: "b", ...why },
    ]);
    const { status, output } = await check("main");
    expect(status, output).toBe(0);
    expect(output).toContain("No client reads it");
  });

  it("names the schemas of a folder that was generated from a developer's target", async () => {
    await generate("ann");
    commit("From the wrong target");
    const { status, output } = await onGithub();
    expect(status, output).toBe(1);
    expect(output).toContain(
      "1 endpoint has the schema api in the manifest and dbt_ann in generated: parse with the production target",
    );
    expect(output).toContain("not up to date: the schemas differ");
  });

  it("passes from every target once the config file names the schema that serves", async () => {
    write("routewright.config.json", {
      manifest: "target/manifest.json",
      schemas: { "dbt_*": "api", "ci_*": "api" },
    });
    await generate("ann");
    const other =
      "dbt parse --quiet --target ci && npx routewright generate --check && npx routewright lint --fail-on none";
    const run = await runSteps(author, [{ script: other, variables: {} }], {});
    expect(run.status, run.output).toBe(0);
    expect(run.output).not.toContain("unexpected-schema");
    commit("Schemas are mapped");
    expect(readFileSync(join(author, "generated/catalogue.json"), "utf8")).not.toMatch(/dbt_ann|ci_7/);
  });

  it("names a file that is not what the manifest gives", async () => {
    rmSync(join(author, "generated/routes/general/volume.ts"));
    const { status, output } = await check("main");
    expect(status, output).toBe(1);
    expect(output).toContain("generated/routes/general/volume.ts");
    git("checkout", "-q", "generated");
  });

  it("ends with an error where its base was not fetched", async () => {
    const base = "0123456789abcdef0123456789abcdef01234567";
    expect(await check(base)).toEqual({
      status: 2,
      output: `error: there is no commit ${base}: fetch it, or all of the history.\n`,
    });
  });
});

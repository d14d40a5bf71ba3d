import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { filesIn } from "../support/files.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";
import { CLI, GOOD, routewright } from "./run.js";

const root = join(import.meta.dirname, "../..");

const MODEL = { ...GOOD, tags: [...GOOD.tags, "tier1"] };

/** A repository with a dbt project of this text in a folder. */
function repository(folder = ".", project = "name: shop\n"): string {
  const parent = ownFolder();
  const repo = join(parent, "repository");
  mkdirSync(join(repo, folder, "target"), { recursive: true });
  writeFileSync(join(repo, folder, "dbt_project.yml"), project);
  writeFileSync(join(repo, folder, "target/manifest.json"), JSON.stringify(manifestOf([MODEL])));
  symlinkSync(join(root, "node_modules"), join(parent, "node_modules"));
  return repo;
}

/** The repository's files without dbt's own. */
function ownFiles(repo: string): Record<string, string> {
  const all = Object.entries(filesIn(repo)).filter(([file]) => !/target\/|dbt_project/.test(file));
  return Object.fromEntries(all);
}

describe("routewright init", () => {
  it("sets up a repository in which its next commands work", async () => {
    const repo = repository();
    const { exit, out, err } = await routewright(repo, [
      "init",
      "--title",
      "Shop",
      "--default-tier",
      "tier1",
    ]);
    expect({ exit, err, out }).toEqual({
      exit: 0,
      err: `path                tier   model   by
/v1/bridges/volume  tier1  volume  tags   no description
1 endpoint, 0 by \`publish\`; no model skipped; 0 left out

The manifest's target builds in analytics. If that is not production, set \`schemas\` in routewright.config.json, or run init with --schema.
`,
      out: `created  routewright.config.json
created  package.json
created  .gitattributes
created  .gitignore

Next:
  npm install routewright @routewright/runtime
  npx routewright generate
  npx routewright keys create --user me --tier tier3

Variables:
  DATABASE_URL=postgres://user:password@host:5432/database   (unset: an embedded PostgreSQL)
`,
    });
    const files = ownFiles(repo);
    expect(JSON.parse(files["routewright.config.json"] ?? "")).toEqual({
      $schema: "./node_modules/routewright/dist/config.schema.json",
      manifest: "target/manifest.json",
      out: "generated",
      title: "Shop",
      defaultTier: "tier1",
    });
    expect(files[".gitattributes"]).toBe("generated/** text eol=lf\n");
    expect(files[".gitignore"]).toBe("node_modules/\n.data/\napi_keys.json\n");
    execFileSync("npm", ["run", "--silent", "api:generate"], { cwd: repo, stdio: "pipe" });
    // The others as npm would run them, in this process.
    const { scripts } = JSON.parse(files["package.json"] ?? "") as { scripts: Record<string, string> };
    for (const [script, ...flags] of [["api:check"], ["api:lint", "--fail-on", "error"]] as const) {
      const [command, ...args] = (scripts[script] ?? "").split(" ");
      expect(command).toBe("routewright");
      expect(await routewright(repo, [...args, ...flags])).toMatchObject({ exit: 0 });
    }
    expect(JSON.parse(filesIn(repo)["generated/openapi.json"] ?? "").info.title).toBe("Shop");
  });

  it("changes nothing when it runs again", async () => {
    const repo = repository();
    const flags = ["init", "--yes", "--ci", "github", "--docker"];
    await routewright(repo, flags);
    const before = ownFiles(repo);
    const { exit, out } = await routewright(repo, flags);
    expect(exit).toBe(0);
    expect(out).not.toMatch(/created|added/);
    expect(ownFiles(repo)).toEqual(before);
  });

  it("writes the templates of the pipelines and containers as they are, with the script executable", async () => {
    const repo = repository();
    for (const ci of ["github", "gitlab"]) await routewright(repo, ["init", "--yes", "--ci", ci, "--docker"]);
    expect(Object.keys(ownFiles(repo)).filter((file) => file.includes("ramp"))).toEqual([]);
    await routewright(repo, ["init", "--yes", "--docker", "ramp"]);
    const files = ownFiles(repo);
    const template = (name: string): string => readFileSync(join(root, "templates", name), "utf8");
    expect(files[".github/workflows/regenerate-api.yml"]).toBe(template("ci/github-actions.yml"));
    expect(files["ci/routewright.gitlab-ci.yml"]).toBe(template("ci/gitlab-ci.yml"));
    expect(files[".github/workflows/check-api.yml"]).toBe(template("ci/github-pull-requests.yml"));
    expect(files["ci/check-api.gitlab-ci.yml"]).toBe(template("ci/gitlab-merge-requests.yml"));
    expect(files["ci/check.sh"]).toBe(template("ci/check.sh"));
    expect(files[".github/workflows/publish-clients.yml"]).toBe(template("ci/github-publish-clients.yml"));
    expect(files["ci/publish-clients.gitlab-ci.yml"]).toBe(template("ci/gitlab-publish-clients.yml"));
    expect(files["ci/publish-clients.sh"]).toBe(template("ci/publish-clients.sh"));
    expect(files["deploy/ramp/kubernetes.yml"]).toBe(template("docker/ramp/kubernetes.yml"));
    expect(files["README.md"]).toBe(undefined);
    expect(statSync(join(repo, "ci/regenerate.sh")).mode & 0o111).toBe(0o111);
    const shipped = Object.keys(filesIn(join(root, "templates/docker"))).filter(
      (file) => file !== "README.md",
    );
    for (const file of shipped) expect(files[`deploy/${file}`], file).toMatch(/\S/);
  });

  it("writes a Prometheus that scrapes each server behind the proxy, and has the alerts", () => {
    const read = (name: string): string => readFileSync(join(root, "templates/docker", name), "utf8");
    const servers = [...read("nginx.conf").matchAll(/server (api-\d:\d+);/g)].map(([, server]) => server);
    expect(parse(read("prometheus.yml"))).toMatchObject({
      rule_files: ["alerts.yml"],
      scrape_configs: [{ job_name: "data-api", static_configs: [{ targets: servers }] }],
    });
    expect(read("alerts.yml")).toContain('up{job="data-api"}');
  });

  it("keeps what is there: it adds to files line by line and overwrites none", async () => {
    const repo = repository();
    const scripts = { "api:generate": "make api", test: "true" };
    writeFileSync(
      join(repo, "package.json"),
      `{\n\t"name": "shop",\n\t"scripts": ${JSON.stringify(scripts)}\n}`,
    );
    writeFileSync(join(repo, ".gitignore"), "node_modules\nnotes");
    writeFileSync(join(repo, ".prettierignore"), "dist/\n");
    mkdirSync(join(repo, "deploy"));
    writeFileSync(join(repo, "deploy/Dockerfile"), "FROM mine\n");
    const { out } = await routewright(repo, ["init", "--yes", "--docker"]);
    expect(out).toContain("added to package.json (api:check, api:lint, api:diff, api:serve)\n");
    expect(out).toContain("added to .gitignore (.data/, api_keys.json, deploy/keys/, deploy/**/.env)\n");
    expect(out).toContain("kept     deploy/Dockerfile (differs from the template)\n");
    const files = ownFiles(repo);
    expect(files["deploy/Dockerfile"]).toBe("FROM mine\n");
    expect(files[".gitignore"]).toBe(
      "node_modules\nnotes\n.data/\napi_keys.json\ndeploy/keys/\ndeploy/**/.env\n",
    );
    expect(files[".prettierignore"]).toBe("dist/\ngenerated/\n");
    expect(files["package.json"]).toMatch(/^\{\n\t"name": "shop"/);
    expect(JSON.parse(files["package.json"] ?? "").scripts).toMatchObject({
      ...scripts,
      "api:check": "routewright generate --check --strict",
    });
  });

  it("keeps a config file of any form, and goes by its folder", async () => {
    const repo = repository();
    writeFileSync(join(repo, "routewright.config.yml"), "manifest: target/manifest.json\nout: api\n");
    const { out } = await routewright(repo, ["init", "--yes", "--out", "other"]);
    expect(out).toContain("kept     routewright.config.yml (as it is)\n");
    expect(ownFiles(repo)[".gitattributes"]).toBe("api/** text eol=lf\n");
  });

  it.each([
    ["./api/", "api/**", "api/"],
    ["my api", '"my api/**"', "my api/"],
    ["API für $HOME", '"API für $HOME/**"', "API für $HOME/"],
  ])("writes the folder %s as git, prettier and a shell read it", async (out, attribute, ignored) => {
    const repo = repository();
    writeFileSync(join(repo, ".prettierignore"), "");
    expect((await routewright(repo, ["init", "--yes", "--out", out])).exit).toBe(0);
    const files = ownFiles(repo);
    expect(files[".gitattributes"]).toBe(`${attribute} text eol=lf\n`);
    expect(files[".prettierignore"]).toBe(`${ignored}\n`);
    execFileSync("git", ["init", "--quiet"], { cwd: repo });
    const file = join(out, "index.ts");
    const attributes = ["-c", "core.quotePath=false", "check-attr", "eol", "--", file];
    expect(execFileSync("git", attributes, { cwd: repo, encoding: "utf8" })).toBe(`${file}: eol: lf\n`);
    const { scripts } = JSON.parse(files["package.json"] ?? "") as { scripts: Record<string, string> };
    const words = execFileSync("sh", ["-c", `printf '%s\\n' ${scripts["api:diff"] ?? ""}`], {
      encoding: "utf8",
    });
    expect(words.trimEnd().split("\n")).toEqual(["routewright", "diff", "git:origin/main", out]);
  });

  it.each([
    ["below the folder", "warehouse/dbt", "name: shop\n", "warehouse/dbt/target/manifest.json"],
    ["with a target-path of its own", ".", "target-path: build/out\n", "build/out/manifest.json"],
    [
      "with a target-path that only dbt knows",
      ".",
      "target-path: \"{{ env_var('T') }}\"\n",
      "target/manifest.json",
    ],
  ])("finds a dbt project %s", async (_, folder, project, manifest) => {
    const repo = repository(folder, project);
    await routewright(repo, ["init", "--yes"]);
    expect(JSON.parse(ownFiles(repo)["routewright.config.json"] ?? "")).toMatchObject({ manifest });
  });
});

it("init takes dbt's catalog, its run results and the project's name from where the manifest is", async () => {
  const repo = repository(".", "name: jaffle_shop\n");
  for (const name of ["catalog", "run_results"]) writeFileSync(join(repo, `target/${name}.json`), "{}");
  await routewright(repo, ["init", "--yes"]);
  expect(JSON.parse(ownFiles(repo)["routewright.config.json"] ?? "")).toMatchObject({
    manifest: "target/manifest.json",
    catalog: "target/catalog.json",
    runResults: "target/run_results.json",
    title: "Jaffle shop",
  });
  const named = repository(".", "profile: x\n");
  await routewright(named, ["init", "--yes"]);
  const config = JSON.parse(ownFiles(named)["routewright.config.json"] ?? "") as object;
  expect(config).toMatchObject({ title: "Test" });
  expect(config).not.toHaveProperty("catalog");
});

it("init names an adapter that no engine serves", async () => {
  const repo = repository();
  const manifest = manifestOf([MODEL], { adapter_type: "bigquery" });
  writeFileSync(join(repo, "target/manifest.json"), JSON.stringify(manifest));
  const { exit, err } = await routewright(repo, ["init", "--yes"]);
  expect(exit).toBe(0);
  expect(err).toContain(
    "The models are built by dbt-bigquery, which no engine of Routewright serves: copy their relations into PostgreSQL or ClickHouse, set DATABASE_URL to that, and `engine` in routewright.config.json to `postgres` or `clickhouse` (node_modules/routewright/docs/how-to/serve-a-copy.md).\n",
  );
});

describe("routewright init that cannot", () => {
  /** One error, exit 2, and nothing written. */
  async function fails(repo: string, ...flags: readonly string[]): Promise<string> {
    const before = ownFiles(repo);
    const { exit, out, err } = await routewright(repo, ["init", "--yes", ...flags]);
    expect({ exit, out }).toEqual({ exit: 2, out: "" });
    expect(ownFiles(repo)).toEqual(before);
    return err;
  }

  it("says so for every wrong input", async () => {
    expect(await fails(ownFolder())).toMatch(/There is no dbt_project\.yml in this folder .* --manifest\.$/m);
    const repo = repository();
    expect(await fails(repo, "--manifest", "gone.json")).toMatch(
      /Cannot read gone\.json: there is no such file/,
    );
    expect(await fails(repo, "--manifest", "dbt_project.yml")).toMatch(/dbt_project\.yml is not JSON/);
    expect(await fails(repo, "--ci", "jenkins")).toMatch(/Allowed choices are github, gitlab, none/);
    expect(await fails(repo, "--default-tier", "tier9")).toMatch(/Allowed choices are tier0/);
    mkdirSync(join(repo, "b"));
    mkdirSync(join(repo, "a"));
    const several = ownFolder();
    for (const name of ["a", "b"]) {
      mkdirSync(join(several, name));
      writeFileSync(join(several, name, "dbt_project.yml"), "name: x\n");
    }
    expect(await fails(several)).toMatch(
      /several dbt projects: .* a\/target\/manifest\.json, b\/target\/manifest\.json/,
    );
    writeFileSync(join(repo, "package.json"), "{");
    expect(await fails(repo)).toMatch(/package\.json is not a JSON object/);
  });

  it("because a folder is where a file belongs says so", async () => {
    const repo = repository();
    mkdirSync(join(repo, ".gitignore/x"), { recursive: true });
    expect(await fails(repo)).toMatch(/\.gitignore is not a plain file: move it away/);
  });
});

/** A pseudo-terminal around a command: Python has one in its standard library. */
const PTY = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

it.skipIf(!needs("python3"))(
  "asks at a terminal for what no flag says, again after an answer that is none",
  async () => {
    const repo = repository();
    const child = spawn("python3", ["-c", PTY, process.execPath, CLI, "init"], { cwd: repo });
    const closed = once(child, "close");
    let shown = "";
    const answers: [RegExp, string][] = [
      [/dbt's manifest .*\[target\/manifest\.json\] $/, ""],
      [/Title of the API \[Shop\] $/, ""],
      [/Schema in production \[the manifest's\] $/, "analytics"],
      [/Models that become endpoints, such as path:models\/marts \[those with tags\] $/, "path:models"],
      [/Their tier \(tier0, tier1, tier2, tier3\) \[tier3\] $/, "tier1"],
      [/Pipeline \(github, gitlab, none\) \[none\] $/, "jenkins"],
      [/Pipeline [^\n]*\n[^\n]*Pipeline \(github, gitlab, none\) \[none\] $/, "gitlab"],
      [/Container files \(yes, no\) \[no\] $/, "no"],
    ];
    child.stdout.on("data", (chunk: Buffer) => {
      shown += chunk.toString().replace(/\u001b\[[0-9;]*[A-Za-z]|\r/g, "");
      const [next] = answers;
      if (next?.[0].test(shown)) child.stdin.write(`${String(answers.shift()?.[1])}\n`);
    });
    expect(await closed).toEqual([0, null]);
    const files = ownFiles(repo);
    expect(JSON.parse(files["routewright.config.json"] ?? "")).toMatchObject({
      title: "Shop",
      schemas: "analytics",
      publish: [{ select: ["path:models"], tier: "tier1" }],
    });
    expect(Object.keys(files)).toContain("ci/routewright.gitlab-ci.yml");
    expect(Object.keys(files)).not.toContain("Dockerfile");
  },
);

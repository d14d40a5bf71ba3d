/** A user's repository on a platform, with a template in it. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { listen } from "../support/port.js";
import { versionOf } from "../../generator/commands/command.js";
import { generateInto } from "../support/service.js";
import { type Kind, type Platform, startPlatform } from "./platform.js";
import { bareEnvironment, MANIFEST_SECRET, type PipelineRun, runPipeline } from "./run.js";
import { TEMPLATES } from "./templates.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CLI = join(ROOT, "generator/bin/routewright.js");

export interface Repository {
  readonly platform: Platform;
  /** What dbt has deployed; null: its server answers nothing but 404. */
  manifest: unknown;
  /** Runs git in the repository on the server. */
  git(...args: readonly string[]): string;
  /** The branches on the server and the commit of each. */
  branches(): Readonly<Record<string, string>>;
  /** Puts a file on the main branch. */
  commit(file: string, text: string): void;
  run(): Promise<PipelineRun>;
}

/**
 * A repository whose main branch has the generated folder of `manifest`. Gone at the end of the test. Routewright is a link
 * to this clone, which installs at once.
 */
export async function repositoryOn(kind: Kind, manifest: unknown): Promise<Repository> {
  const root = mkdtempSync(join(tmpdir(), "routewright-test-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const bare = join(root, "group/project.git");
  const author = join(root, "author");
  command(root, "git", "init", "-q", "--bare", "-b", "main", bare);
  command(root, "git", "clone", "-q", bare, author);
  writePackage(root, author);
  generateInto(join(author, "generated"), manifest, { generator: versionOf() });
  mkdirSync(join(author, "ci"));
  for (const file of ["regenerate.sh", "review-request.mjs"])
    cpSync(TEMPLATES + file, join(author, "ci", file));
  const commitAll = (): void => {
    command(author, "git", "add", "-A");
    command(author, "git", "commit", "-q", "-m", "By hand");
    command(author, "git", "push", "-q", "origin", "HEAD:main");
  };
  commitAll();
  const platform = await startPlatform(kind, root);
  const deployed = { manifest };
  const manifestUrl = await serveDeployed(deployed);
  const onServer = (...args: readonly string[]): string => command(bare, "git", ...args).trim();
  return Object.assign(deployed, {
    platform,
    git: onServer,
    branches: () => {
      const lines = onServer("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").split(
        "\n",
      );
      return Object.fromEntries(lines.map((line) => line.split(" ") as [string, string]));
    },
    commit: (file: string, text: string) => {
      writeFileSync(join(author, file), text);
      commitAll();
    },
    run: () => runPipeline(kind, root, platform.url, manifestUrl),
  });
}

/** Routewright is an npm dependency of the repository, as far as its command goes. */
export function writePackage(root: string, folder: string): void {
  const dependency = { name: "routewright", version: "0.0.0", bin: { routewright: "routewright.js" } };
  mkdirSync(join(root, "routewright"));
  writeFileSync(join(root, "routewright/package.json"), JSON.stringify({ ...dependency, type: "module" }));
  writeFileSync(
    join(root, "routewright/routewright.js"),
    `#!/usr/bin/env node\nawait import(${JSON.stringify(CLI)});\n`,
  );
  const dependencies = { routewright: "file:../routewright" };
  const packages = {
    "": { name: "project", dependencies },
    "../routewright": dependency,
    "node_modules/routewright": { resolved: "../routewright", link: true },
  };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "project", private: true, dependencies }),
  );
  writeFileSync(
    join(folder, "package-lock.json"),
    JSON.stringify({ name: "project", lockfileVersion: 3, requires: true, packages }),
  );
  writeFileSync(join(folder, ".gitignore"), "node_modules/\n");
}

/** Where dbt's job puts the manifest: for those with the signed address only. */
async function serveDeployed(deployed: { readonly manifest: unknown }): Promise<string> {
  const server = createServer((request, response) => {
    const found = deployed.manifest !== null && request.url === `/manifest.json?sig=${MANIFEST_SECRET}`;
    response.writeHead(found ? 200 : 404).end(found ? JSON.stringify(deployed.manifest) : "");
  });
  return `http://${await listen(server)}/manifest.json?sig=${MANIFEST_SECRET}`;
}

export function command(cwd: string, file: string, ...args: readonly string[]): string {
  const identity = ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "Test"],
    [`GIT_${who}_EMAIL`, "test@example.org"],
  ]);
  const env = { ...bareEnvironment(dirname(cwd)), ...Object.fromEntries(identity) };
  const { status, stdout, stderr } = spawnSync(file, args, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${file} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Runs a template's steps as the platform does. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { type Kind, PROJECT_ID, TOKEN } from "./platform.js";
import { GITHUB, githubSteps, GITLAB, gitlabSteps, type ShellStep } from "./templates.js";

/** Carried by the manifest's address. */
export const MANIFEST_SECRET = "signature-of-the-manifest";

export interface PipelineRun {
  readonly status: number;
  readonly output: string;
}

/** A fresh checkout, then each step in a shell until one fails. No secret may show in what they print. */
export async function runPipeline(
  kind: Kind,
  root: string,
  url: string,
  manifestUrl: string,
): Promise<PipelineRun> {
  const checkout = mkdtempSync(join(root, "checkout-"));
  const { steps, variables } =
    kind === "github"
      ? await onGithub(checkout, url, manifestUrl)
      : await onGitlab(checkout, url, manifestUrl);
  const run = await runSteps(checkout, steps, variables);
  for (const secret of [TOKEN, Buffer.from(`oauth2:${TOKEN}`).toString("base64"), MANIFEST_SECRET])
    expect(run.output).not.toContain(secret);
  return run;
}

interface Prepared {
  readonly steps: readonly ShellStep[];
  readonly variables: Readonly<Record<string, string>>;
}

/** As actions/checkout leaves it: one commit, and the token in the repository's configuration. */
async function onGithub(checkout: string, url: string, manifestUrl: string): Promise<Prepared> {
  await git(checkout, "clone", "-q", "--depth=1", `${url}/group/project.git`, ".");
  const login = Buffer.from(`x-access-token:${TOKEN}`).toString("base64");
  await git(checkout, "config", `http.${url}/.extraheader`, `AUTHORIZATION: basic ${login}`);
  return {
    steps: githubSteps(GITHUB, { "secrets.DBT_MANIFEST_URL": manifestUrl, "github.token": TOKEN }),
    variables: { GITHUB_REPOSITORY: "group/project", GITHUB_API_URL: `${url}/api` },
  };
}

/** As GitLab's runner leaves it: some commits, no branch, and a token in the address that may not push. */
async function onGitlab(checkout: string, url: string, manifestUrl: string): Promise<Prepared> {
  const address = `${url}/group/project.git`.replace("://", "://gitlab-ci-token:job@");
  await git(checkout, "clone", "-q", "--depth=20", address, ".");
  await git(checkout, "checkout", "-q", "--detach");
  const variables = {
    GITLAB_CI: "true",
    CI_API_V4_URL: `${url}/api`,
    CI_DEFAULT_BRANCH: "main",
    CI_PROJECT_ID: PROJECT_ID,
    CI_PROJECT_URL: `${url}/group/project`,
    CI_SERVER_URL: url,
    DBT_MANIFEST_URL: manifestUrl,
    ROUTEWRIGHT_TOKEN: TOKEN,
  };
  return { steps: gitlabSteps(GITLAB, variables), variables };
}

/** Not `command`: the server that answers is in this process. */
async function git(cwd: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)("git", args, { cwd, env: bareEnvironment(dirname(cwd)) });
}

/** Each step in a shell of its own, until one fails. */
export async function runSteps(
  checkout: string,
  steps: readonly ShellStep[],
  variables: Readonly<Record<string, string>>,
): Promise<PipelineRun> {
  let output = "";
  for (const step of steps) {
    const run = await runStep(checkout, { ...variables, ...step.variables }, step.script);
    output += run.output;
    if (run.status !== 0) return { status: run.status, output };
  }
  return { status: 0, output };
}

async function runStep(cwd: string, variables: Readonly<Record<string, string>>, script: string) {
  const shell = spawn("bash", ["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script], {
    cwd,
    env: { ...bareEnvironment(dirname(cwd)), ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const [status] = (await once(shell, "close")) as [number];
  return { status, output };
}

/** Nothing of the machine's own settings. The dependency is a folder, so npm needs no registry. */
export function bareEnvironment(home: string): Record<string, string> {
  const { PATH = "" } = process.env;
  const npm = { npm_config_offline: "true", npm_config_audit: "false", npm_config_update_notifier: "false" };
  return { PATH, HOME: home, CI: "true", GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", ...npm };
}

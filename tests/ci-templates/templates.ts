import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

/** Where the templates that users copy are. */
export const TEMPLATES = fileURLToPath(new URL("../../templates/ci/", import.meta.url));

export function template(file: string): string {
  return readFileSync(TEMPLATES + file, "utf8");
}

export const GITHUB = "github-actions.yml";
export const GITLAB = "gitlab-ci.yml";
/** Those of ordinary requests. */
export const GITHUB_REQUESTS = "github-pull-requests.yml";
export const GITLAB_REQUESTS = "gitlab-merge-requests.yml";
/** Those of clients. */
export const GITHUB_CLIENTS = "github-publish-clients.yml";
export const GITLAB_CLIENTS = "gitlab-publish-clients.yml";

/** What one shell runs, with its own variables on top of the job's. */
export interface ShellStep {
  readonly script: string;
  readonly variables: Readonly<Record<string, string>>;
}

interface Workflow {
  readonly jobs: Readonly<Record<string, WorkflowJob>>;
}

interface WorkflowJob {
  readonly env?: Readonly<Record<string, string>>;
  readonly steps: readonly WorkflowStep[];
}

interface WorkflowStep {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The only job of a GitHub workflow, as YAML has it. */
export function workflowJob(file: string): WorkflowJob {
  const { jobs } = parse(template(file)) as Workflow;
  return Object.values(jobs)[0]!;
}

/** The `run` steps of a GitHub workflow; `contexts` gives the values of its expressions, `secrets.NAME` and the like. */
export function githubSteps(file: string, contexts: Readonly<Record<string, string>>): readonly ShellStep[] {
  const { env = {}, steps } = workflowJob(file);
  const values = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [
        name,
        text.replaceAll(/\$\{\{ *([\w.]+) *\}\}/g, (_, expression: string) => {
          const value = contexts[expression];
          if (value === undefined) throw new Error(`The test knows no ${expression}.`);
          return value;
        }),
      ]),
    );
  return steps.flatMap((step) =>
    step.run === undefined
      ? []
      : [{ script: step.run, variables: { ...values(env), ...values(step.env ?? {}) } }],
  );
}

interface GitLabJob {
  readonly script: readonly string[];
  readonly variables?: Readonly<Record<string, string | number>>;
}

/** The jobs of a GitLab template: one shell each runs its lines. `variables` are those that GitLab sets by itself. */
export function gitlabSteps(file: string, variables: Readonly<Record<string, string>>): readonly ShellStep[] {
  const jobs = Object.values(parse(template(file)) as Record<string, GitLabJob>);
  return jobs.map((job) => {
    const own = Object.entries(job.variables ?? {}).map(([name, text]) => [
      name,
      String(text).replaceAll(/\$(\w+)/g, (_, named: string) => variables[named] ?? ""),
    ]);
    return { script: job.script.join("\n"), variables: Object.fromEntries(own) as Record<string, string> };
  });
}

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../support/service.js";
import { type Kind, type Platform, PROJECT_ID, startPlatform, TOKEN } from "./platform.js";
import { TEMPLATES } from "./templates.js";
import { needs } from "../support/needs.js";

const folder = ownFolder();
const report = join(folder, "diff.md");

/** Runs the script with what the pipeline gives it. */
function post(kind: Kind, url: string, text: string, more: Readonly<Record<string, string>> = {}) {
  writeFileSync(report, text);
  const variables = {
    github: { GITHUB_REPOSITORY: "group/project", GITHUB_API_URL: `${url}/api`, GITHUB_TOKEN: TOKEN },
    gitlab: {
      GITLAB_CI: "true",
      CI_PROJECT_ID: PROJECT_ID,
      CI_API_V4_URL: `${url}/api`,
      ROUTEWRIGHT_TOKEN: TOKEN,
    },
  };
  const env = { ...variables[kind], MAIN_BRANCH: "main", REVIEW_BRANCH: "review", ...more };
  return new Promise<{ readonly status: number; readonly output: string }>((done) => {
    const run = execFile(
      process.execPath,
      [`${TEMPLATES}review-request.mjs`, report],
      { env },
      (_, stdout, stderr) => done({ status: run.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}

/** A platform where the review branch has an open request already. */
async function withRequest(kind: Kind): Promise<Platform> {
  const platform = await startPlatform(kind, folder);
  platform.requests.push({ number: 1, head: "review", base: "main", comments: [] });
  return platform;
}

const kinds: readonly Kind[] = ["github", "gitlab"];

describe.skipIf(!needs("git")).each(kinds)("a report's comment on %s", (kind) => {
  it("is updated however many comments precede it, and no other comment is changed", async () => {
    const platform = await withRequest(kind);
    const request = platform.requests[0]!;
    platform.addComment(request, "somebody", "<!-- routewright diff -->\nMine.");
    platform.addComment(request, "pipeline", "<!-- routewright lint -->\nLint.");
    for (let i = 0; i < 120; i++) platform.addComment(request, "somebody", "So be it.");
    const others = request.comments.map(({ body }) => body);
    expect(await post(kind, platform.url, "First.\n")).toEqual({ status: 0, output: "" });
    expect(await post(kind, platform.url, 'Second: `$(id)` "é"\n')).toEqual({ status: 0, output: "" });
    const bodies = request.comments.map(({ body }) => body);
    expect(bodies).toEqual([...others, '<!-- routewright diff -->\nSecond: `$(id)` "é"\n']);
  });

  it("that is refused is an error that names the request and not the token", async () => {
    const platform = await withRequest(kind);
    const wrong = { GITHUB_TOKEN: "wrong-token", ROUTEWRIGHT_TOKEN: "wrong-token" };
    const { status, output } = await post(kind, platform.url, "First.\n", wrong);
    expect(status).toBe(2);
    expect(output).toMatch(/^error: GET \/api\/\S+ answered 401: \{"message":"\S.*"\}\n$/);
    expect(output).not.toContain("wrong-token");
  });

  it("needs a review branch that was pushed", async () => {
    const platform = await startPlatform(kind, folder);
    const { status, output } = await post(kind, platform.url, "First.\n");
    expect(status).toBe(2);
    expect(output).toContain("answered 422");
  });

  it("names the variable that is not set", async () => {
    const { status, output } = await post(kind, "http://127.0.0.1:9", "First.\n", { MAIN_BRANCH: "" });
    expect({ status, output }).toEqual({
      status: 2,
      output: "error: The environment variable MAIN_BRANCH is not set.\n",
    });
  });
});

// Opens the pull request (GitHub) or merge request (GitLab) of the review branch unless it is open, and posts each
// report as a comment on it. A comment that an earlier run made of the same report is updated.
//
//   node review-request.mjs <report.md> …
//
// Everything it needs is in the environment, where regenerate.sh and the pipeline put it. Exit code: 0, or 2 with an error.
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const TITLE = "Regenerate the API from dbt's manifest";
const BODY = `dbt's manifest has changed, and this is what Routewright makes of it. The comments list what consumers of the API \
will see. Each run rewrites this branch: change the dbt models, not the files here. A breaking change that is meant \
is accepted in \`.routewright-accept.json\` on the main branch; the next run then passes.`;
const TIMEOUT_MS = 30_000;
const PAGE_SIZE = 100;

try {
  const platform = process.env.GITLAB_CI === undefined ? github() : gitlab();
  const request = (await platform.find()) ?? (await platform.open());
  for (const file of process.argv.slice(2)) await post(platform, request, file);
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 2;
}

/** A hidden marker identifies this report's comment. */
async function post(platform, request, file) {
  const marker = `<!-- routewright ${basename(file, ".md")} -->`;
  const body = `${marker}\n${readFileSync(file, "utf8")}`;
  const isOwn = await platform.ownComments();
  for (let page = 1; ; page++) {
    const comments = await platform.comments(request, `per_page=${PAGE_SIZE}&page=${page}`);
    const earlier = comments.find((comment) => isOwn(comment) && comment.body.startsWith(marker));
    if (earlier !== undefined) return platform.update(request, earlier.id, body);
    if (comments.length < PAGE_SIZE) return platform.add(request, body);
  }
}

function github() {
  const repository = variable("GITHUB_REPOSITORY");
  const [head, base] = [variable("REVIEW_BRANCH"), variable("MAIN_BRANCH")];
  const call = client(`${variable("GITHUB_API_URL")}/repos/${repository}`, {
    accept: "application/vnd.github+json",
    authorization: `Bearer ${variable("GITHUB_TOKEN")}`,
    "x-github-api-version": "2022-11-28",
  });
  const ofBranch = new URLSearchParams({ state: "open", head: `${repository.split("/")[0]}:${head}`, base });
  return {
    find: async () => (await call("GET", `/pulls?${ofBranch}`))[0]?.number,
    open: async () => (await call("POST", "/pulls", { title: TITLE, body: BODY, head, base })).number,
    // Anybody may write our marker into a comment; only a workflow's or an app's token writes as a bot.
    ownComments: async () => (comment) => comment.user?.type === "Bot",
    comments: (number, page) => call("GET", `/issues/${number}/comments?${page}`),
    add: (number, body) => call("POST", `/issues/${number}/comments`, { body }),
    update: (number, id, body) => call("PATCH", `/issues/comments/${id}`, { body }),
  };
}

function gitlab() {
  const project = variable("CI_PROJECT_ID");
  const [source_branch, target_branch] = [variable("REVIEW_BRANCH"), variable("MAIN_BRANCH")];
  const call = client(variable("CI_API_V4_URL"), { "private-token": variable("ROUTEWRIGHT_TOKEN") });
  const requests = `/projects/${project}/merge_requests`;
  const ofBranch = new URLSearchParams({ state: "opened", source_branch, target_branch });
  const details = { title: TITLE, description: BODY, remove_source_branch: true };
  return {
    // A fork may have a branch of this name too.
    find: async () =>
      (await call("GET", `${requests}?${ofBranch}`)).find(
        (found) => String(found.source_project_id) === project,
      )?.iid,
    open: async () => (await call("POST", requests, { source_branch, target_branch, ...details })).iid,
    ownComments: async () => {
      const { id } = await call("GET", "/user");
      return (note) => note.author.id === id;
    },
    comments: (iid, page) => call("GET", `${requests}/${iid}/notes?${page}`),
    add: (iid, body) => call("POST", `${requests}/${iid}/notes`, { body }),
    update: (iid, id, body) => call("PUT", `${requests}/${iid}/notes/${id}`, { body }),
  };
}

/** Calls of a JSON API. A redirect is not followed: it could carry the token elsewhere. */
function client(base, headers) {
  return async (method, path, body) => {
    const response = await fetch(base + path, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.ok) return response.json();
    const answer = (await response.text()).slice(0, 500);
    throw new Error(`${method} ${new URL(response.url).pathname} answered ${response.status}: ${answer}`);
  };
}

function variable(name) {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
}

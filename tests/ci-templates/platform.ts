/**
 * Stands in for GitHub and GitLab at their outer edge: the few calls of their API that the templates make, over HTTP, and
 * the repository by git's own server. Requests and comments are kept in memory.
 */
import { spawnSync } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../support/port.js";
import { serveGit } from "./git-server.js";

export type Kind = "github" | "gitlab";

export interface Comment {
  readonly id: number;
  readonly author: "pipeline" | "somebody";
  body: string;
}

/** A pull request, or merge request. */
export interface ReviewRequest {
  readonly number: number;
  readonly head: string;
  readonly base: string;
  readonly comments: Comment[];
}

export interface Platform {
  readonly url: string;
  /** Every request that was opened, in order. */
  readonly requests: ReviewRequest[];
  addComment(request: ReviewRequest, author: Comment["author"], body: string): Comment;
}

/** May push and call the API. A job's own token may only read. */
export const TOKEN = "token-of-the-pipeline";
export const PROJECT_ID = "7";
const PIPELINE_USER = 11;

/** Serves `<root>/group/project.git` and the API until the end of the test. */
export async function startPlatform(kind: Kind, root: string): Promise<Platform> {
  const requests: ReviewRequest[] = [];
  let lastComment = 100;
  const platform = {
    requests,
    addComment: (request: ReviewRequest, author: Comment["author"], body: string): Comment => {
      const comment = { id: ++lastComment, author, body };
      request.comments.push(comment);
      return comment;
    },
  };
  const api = kind === "github" ? githubAnswer : gitlabAnswer;
  const server = createServer((request, response) => {
    const isApi = request.url?.startsWith("/api/") === true;
    void (isApi
      ? answerApi(request, response, (call) => api(call, platform, root))
      : serveGit({ root, token: TOKEN }, request, response));
  });
  return { ...platform, url: `http://${await listen(server)}` };
}

interface Call {
  /** `GET /path`, without the query. */
  readonly what: string;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
}

type Answer = readonly [status: number, body: unknown];
type Store = Omit<Platform, "url">;

async function answerApi(request: IncomingMessage, response: ServerResponse, answer: (call: Call) => Answer) {
  const text = Buffer.concat((await request.toArray()) as Buffer[]).toString();
  const { pathname, searchParams: query } = new URL(request.url!, "http://host");
  const what = `${request.method!} ${pathname.slice("/api".length)}`;
  const body = text === "" ? {} : (JSON.parse(text) as Call["body"]);
  const [status, content] = answer({ what, query, body, headers: request.headers });
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(content));
}

function githubAnswer({ what, query, body, headers }: Call, store: Store, root: string): Answer {
  if (headers.authorization !== `Bearer ${TOKEN}`) return [401, { message: "Bad credentials" }];
  const shown = ({ id, author, body }: Comment) => ({
    id,
    body,
    user: { type: author === "pipeline" ? "Bot" : "User" },
  });
  if (what === "GET /repos/group/project/pulls") {
    const found = open(store, query.get("head")!.replace(/^group:/, ""), query.get("base")!);
    return [200, found.map(({ number }) => ({ number }))];
  }
  if (what === "POST /repos/group/project/pulls") return opened(store, root, body["head"]!, body["base"]!);
  const [, number] = /^\w+ \/repos\/group\/project\/issues\/(\d+)\/comments$/.exec(what) ?? [];
  if (number !== undefined) return comments(what, store, Number(number), query, body, shown);
  const [, id] = /^PATCH \/repos\/group\/project\/issues\/comments\/(\d+)$/.exec(what) ?? [];
  return id === undefined ? [404, { message: "Not Found" }] : edited(store, Number(id), body, shown);
}

function gitlabAnswer({ what, query, body, headers }: Call, store: Store, root: string): Answer {
  if (headers["private-token"] !== TOKEN) return [401, { message: "401 Unauthorized" }];
  const requests = `/projects/${PROJECT_ID}/merge_requests`;
  const shown = ({ id, author, body }: Comment) => ({
    id,
    body,
    author: { id: author === "pipeline" ? PIPELINE_USER : 12 },
  });
  if (what === "GET /user") return [200, { id: PIPELINE_USER }];
  if (what === `GET ${requests}`) {
    const found = open(store, query.get("source_branch")!, query.get("target_branch")!);
    // A fork's request for a branch of the same name comes first.
    const fork = { iid: 999, source_project_id: 8 };
    return [
      200,
      [fork, ...found.map(({ number }) => ({ iid: number, source_project_id: Number(PROJECT_ID) }))],
    ];
  }
  if (what === `POST ${requests}`) return opened(store, root, body["source_branch"]!, body["target_branch"]!);
  const [, number] = new RegExp(`^\\w+ ${requests}/(\\d+)/notes$`).exec(what) ?? [];
  if (number !== undefined) return comments(what, store, Number(number), query, body, shown);
  const [, id] = new RegExp(`^PUT ${requests}/\\d+/notes/(\\d+)$`).exec(what) ?? [];
  return id === undefined ? [404, { message: "404 Not Found" }] : edited(store, Number(id), body, shown);
}

function open({ requests }: Store, head: string, base: string): readonly ReviewRequest[] {
  return requests.filter((request) => request.head === head && request.base === base);
}

/** Both platforms refuse a branch that is not there. */
function opened({ requests }: Store, root: string, head: string, base: string): Answer {
  const args = ["-C", `${root}/group/project.git`, "rev-parse", "--verify", "-q", `refs/heads/${head}`];
  if (spawnSync("git", args).status !== 0) return [422, { message: "There is no such branch" }];
  const number = requests.length + 1;
  requests.push({ number, head, base, comments: [] });
  return [201, { number, iid: number }];
}

type Shown = (comment: Comment) => unknown;

function comments(
  what: string,
  store: Store,
  number: number,
  query: URLSearchParams,
  { body }: Call["body"],
  shown: Shown,
): Answer {
  const request = store.requests.find((found) => found.number === number);
  if (request === undefined) return [404, { message: "Not Found" }];
  if (what.startsWith("POST")) return [201, shown(store.addComment(request, "pipeline", body!))];
  const size = Math.min(Number(query.get("per_page") ?? 20), 100);
  const start = (Number(query.get("page") ?? 1) - 1) * size;
  return [200, request.comments.slice(start, start + size).map(shown)];
}

function edited({ requests }: Store, id: number, { body }: Call["body"], shown: Shown): Answer {
  const comment = requests.flatMap((request) => request.comments).find((found) => found.id === id);
  if (comment === undefined) return [404, { message: "Not Found" }];
  comment.body = body!;
  return [200, shown(comment)];
}

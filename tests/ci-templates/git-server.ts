import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";

interface GitServer {
  readonly root: string;
  readonly token: string;
}

/** Answers by git's own HTTP server for the repositories under `root`. Anybody may read; to push takes the token. */
export async function serveGit(
  { root, token }: GitServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, search } = new URL(request.url!, "http://host");
  const login = Buffer.from(/^basic (.*)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "", "base64");
  const mayPush = login.toString().endsWith(`:${token}`);
  if (/git-receive-pack/.test(request.url!) && !mayPush) {
    response.writeHead(401, { "www-authenticate": "Basic" }).end();
    return;
  }
  const backend = spawn("git", ["http-backend"], {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_USER: mayPush ? "pipeline" : "",
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(backend.stdin);
  const output = Buffer.concat((await backend.stdout.toArray()) as Buffer[]);
  const end = output.indexOf("\r\n\r\n");
  const headers = output
    .subarray(0, end)
    .toString()
    .split("\r\n")
    .map((line) => line.split(": ") as [string, string]);
  const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
  response.writeHead(parseInt(status), Object.fromEntries(headers.filter(([name]) => name !== "Status")));
  response.end(output.subarray(end + 4));
}

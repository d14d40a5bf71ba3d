import type { Express, Request, Response } from "express";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { docsApp, explorerApp, isDocsPath } from "../docs/pages.js";
import { peek } from "../access/authorize.js";
import { callerHeaders, sendOptions, sendHttpError, SYSTEM_METHODS } from "./send.js";
import { httpError } from "../model/errors.js";
import { type Gateway, setGateway } from "./gateway.js";
import type { LoadedEndpoint } from "./generated-folder.js";
import type { RefreshResult } from "./refresh.js";
import { REFRESH_PATH, serveRefresh, isSystemPath, readOnly, serveSystem, type Service } from "./system.js";
import { MCP_PATH, serveMcp } from "./mcp.js";
import type { ActiveRelease } from "./release.js";
import { handleRequest } from "./handler.js";
import { requestIdOf } from "../http/request-context.js";
import type { EarlyErrorHeaders } from "../http/server.js";
import { COMMON_HEADERS } from "../http/headers.js";

export interface DataApi {
  readonly gateway: Gateway;
  readonly service: Service;
  readonly active: ActiveRelease;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshResult>;
}

/** The data API as a listener. An endpoint runs the handler that its generated module exports. */
export function dataApiListener(api: DataApi): RequestListener {
  const { gateway, service, active, refresh } = api;
  const docs = docsApp(service.title).use(explorerApp(service.title));
  const run: RequestListener = (request, response) => {
    const endpoint = active.find(pathOf(request.url ?? "/"));
    if (endpoint === null) void handleRequest(gateway, null, request, response);
    else runHandler(api, endpoint, request, response);
  };
  return (request, response) => {
    const path = pathOf(request.url ?? "/");
    const endpoint = active.find(path);
    if (endpoint !== null) runHandler(api, endpoint, request, response);
    else if (isSystemPath(path)) void serveSystem(gateway, service, path, request, response);
    else if (isDocsPath(path)) void serveDocs(api, docs, request, response);
    else if (path === MCP_PATH) void serveMcp(gateway, service.documents, run, request, response);
    else if (path === REFRESH_PATH) void serveRefresh(gateway, refresh, request, response);
    else void handleRequest(gateway, null, request, response);
  };
}

function runHandler(
  { gateway }: DataApi,
  { get, post }: LoadedEndpoint,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  setGateway(request, gateway);
  const handler = (request.method === "POST" ? post : get) as unknown as RequestListener;
  handler(request, response);
}

/** Headers of an error on a connection without a parsed request: only the client's address is known. */
export function earlyErrorHeaders(gateway: Gateway): EarlyErrorHeaders {
  return async (socket) => {
    const request = { socket, headers: {} };
    return [...callerHeaders(await peek(gateway, request), requestIdOf(request)), ...COMMON_HEADERS];
  };
}

function pathOf(url: string): string {
  if (!url.startsWith("/")) return absoluteFormPath(url);
  const mark = url.indexOf("?");
  return mark === -1 ? url : url.slice(0, mark);
}

/** A proxy may send an absolute address (RFC 9112 §3.2.2). */
function absoluteFormPath(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}

/** Serves a documentation page with the headers of every response. */
async function serveDocs(
  { gateway }: DataApi,
  docs: Express,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = requestIdOf(request);
  const caller = await peek(gateway, request);
  if (request.method === "OPTIONS") return sendOptions(response, request, SYSTEM_METHODS, caller, requestId);
  const error = caller.error ?? readOnly(request);
  if (error) return void sendHttpError(response, error, SYSTEM_METHODS, caller, requestId);
  const headers = [...callerHeaders(caller, requestId), ...COMMON_HEADERS];
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] ?? "", headers[i + 1] ?? "");
  docs(request as Request, response as Response, (error?: unknown) => {
    if (error) gateway.log.error({ requestId, err: error }, "documentation page failed");
    sendHttpError(response, httpError(error ? "unexpected" : "notFound"), SYSTEM_METHODS, caller, requestId);
  });
}

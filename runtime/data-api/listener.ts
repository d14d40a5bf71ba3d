import type { Express, Request, Response } from "express";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { docsApp, isDocsPath } from "../docs/pages.js";
import { peek } from "../access/authorize.js";
import { callerHeaders, sendOptions, sendRefusal, SYSTEM_METHODS } from "./send.js";
import { httpError } from "../model/errors.js";
import type { Gateway } from "./gateway.js";
import type { RefreshResult } from "./refresh.js";
import { REFRESH_PATH, serveRefresh } from "./refresh-route.js";
import type { RouteTable } from "./route-table.js";
import { serveEndpoint } from "./serve.js";
import { isSystemPath, readOnly, serveSystem, type Service } from "./system.js";
import { requestIdOf } from "../http/request-id.js";
import type { EarlyErrorHeaders } from "../http/server.js";
import { COMMON_HEADERS } from "../http/headers.js";

export interface DataApi {
  readonly gateway: Gateway;
  readonly service: Service;
  /** The endpoints in service; asked at each request, so they may change. */
  readonly routes: () => RouteTable;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshResult>;
}

/** The data API as a listener: endpoints by one look-up, then the system's own paths, then 404. */
export function dataApiListener(api: DataApi): RequestListener {
  const { gateway, service, routes, refresh } = api;
  const docs = docsApp(service.title);
  return (request, response) => {
    const path = pathOf(request.url ?? "/");
    const endpoint = routes().find(path);
    if (endpoint !== null) void serveEndpoint(gateway, endpoint, request, response);
    else if (isSystemPath(path)) void serveSystem(gateway, service, path, request, response);
    else if (isDocsPath(path)) void serveDocs(api, docs, request, response);
    else if (path === REFRESH_PATH) void serveRefresh(gateway, refresh, request, response);
    else void serveEndpoint(gateway, null, request, response);
  };
}

/** The headers of an answer to what never became a request: all that is known of the caller is its address. */
export function earlyErrorHeaders({ gateway }: Pick<DataApi, "gateway">): EarlyErrorHeaders {
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

/** A proxy may ask with the whole address (RFC 9112 §3.2.2). */
function absoluteFormPath(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}

/** Lets a public page through with the headers that every answer has. */
async function serveDocs(
  { gateway }: DataApi,
  docs: Express,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = requestIdOf(request);
  const admission = await peek(gateway, request);
  if (request.method === "OPTIONS")
    return sendOptions(response, request, SYSTEM_METHODS, admission, requestId);
  const refusal = admission.error ?? readOnly(request);
  if (refusal) return void sendRefusal(response, refusal, SYSTEM_METHODS, admission, requestId);
  const headers = [...callerHeaders(admission, requestId), ...COMMON_HEADERS];
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] ?? "", headers[i + 1] ?? "");
  docs(request as Request, response as Response, (error?: unknown) => {
    if (error) gateway.log.error({ requestId, err: error }, "documentation page failed");
    sendRefusal(response, httpError(error ? "unexpected" : "notFound"), SYSTEM_METHODS, admission, requestId);
  });
}

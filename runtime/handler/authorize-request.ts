import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestContext } from "../model/caller.js";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import type { Tier } from "../model/tier.js";
import { authorize, callerHeaders, peek, requireAccess } from "../request/authorize.js";
import { type Reply, send, sendHttpError, sendOptions } from "../response/send.js";
import type { Gateway } from "./gateway.js";

/** Who may call a path, and how. */
export interface ServedPath {
  readonly path: string;
  /** Methods, as in `Allow`; null for an unknown path. */
  readonly allowed: string | null;
  /** Whether a request counts against its caller's window. */
  readonly isLimited: boolean;
  /** Tier that a caller needs; without one the path is open to every caller. */
  readonly tier?: Tier;
  /** Where the path is an OAuth resource: the audience of its tokens beside the API's, and the address of its metadata. */
  readonly oauth?: { readonly audience: string | null; readonly metadata: string } | undefined;
}

/** A request and its response, with the context of the request. */
export interface Exchange {
  readonly gateway: Gateway;
  readonly route: ServedPath;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: RequestContext;
}

/** Checks in this order: key, rate limit, path, tier, method (runtime/docs/requests.md). `OPTIONS` needs only a path. */
export async function authorizeRequest(
  gateway: Gateway,
  route: ServedPath,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Exchange> {
  const isStillNeeded = (): boolean => !response.destroyed;
  const isOptions = request.method === "OPTIONS";
  const check = route.isLimited && !isOptions ? authorize : peek;
  const context = await check(gateway, request, isStillNeeded, route.oauth?.audience ?? null);
  const refusal = isOptions ? null : (context.refusal ?? refusalOf(route, context, request));
  return { gateway, route, request, response, context: { ...context, refusal } };
}

function refusalOf(
  { path, allowed, tier }: ServedPath,
  { caller }: RequestContext,
  { method = "" }: IncomingMessage,
): HttpError | null {
  if (allowed === null) return httpError("notFound");
  const refused = tier === undefined ? null : requireAccess(path, tier, caller);
  return refused ?? (allowed.split(", ").includes(method) ? null : httpError("methodNotAllowed"));
}

/** The response; null when it has been sent, or the client has disconnected. */
export type RouteResult = Result<Reply> | null;

/** Serves a request of a path that is not an endpoint's. Never rejects. */
export async function serveRoute(
  gateway: Gateway,
  route: ServedPath,
  request: IncomingMessage,
  response: ServerResponse,
  handle: (exchange: Exchange) => RouteResult | Promise<RouteResult>,
): Promise<void> {
  const exchange = await authorizeRequest(gateway, route, request, response);
  const { context } = exchange;
  const headers = callerHeaders(context);
  if (request.method === "OPTIONS") return sendOptions(response, request, route.allowed, headers);
  let result: RouteResult;
  try {
    result = context.refusal ?? (await handle(exchange));
  } catch (error) {
    const { id: requestId } = context;
    gateway.log.error({ requestId, route: route.path, method: request.method, err: error }, "request failed");
    if (response.headersSent) return void response.destroy();
    result = httpError("unexpected");
  }
  if (isHttpError(result)) sendHttpError(response, result, route, headers);
  else if (result !== null) send(response, result, headers);
}

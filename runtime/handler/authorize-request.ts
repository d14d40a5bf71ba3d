import type { IncomingMessage, ServerResponse } from "node:http";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import type { Tier } from "../model/tier.js";
import { requestIdOf } from "../http/headers.js";
import { authorize, type Authorization, callerHeaders, peek, requireAccess } from "../request/authorize.js";
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
}

/** A request whose caller is known. */
export interface Admission {
  readonly requestId: string;
  readonly caller: Authorization;
  /** Set when the request is refused. */
  readonly error: HttpError | null;
}

/** Checks in this order: key, rate limit, path, tier, method (runtime/docs/requests.md). `OPTIONS` needs only a path. */
export async function authorizeRequest(
  gateway: Gateway,
  route: ServedPath,
  request: IncomingMessage,
): Promise<Admission> {
  const requestId = requestIdOf(request);
  if (request.method === "OPTIONS") return { requestId, caller: await peek(gateway, request), error: null };
  const caller = await (route.isLimited ? authorize : peek)(gateway, request);
  return { requestId, caller, error: caller.error ?? refusalOf(route, caller, request) };
}

function refusalOf(
  { path, allowed, tier }: ServedPath,
  caller: Authorization,
  { method = "" }: IncomingMessage,
): HttpError | null {
  if (allowed === null) return httpError("notFound");
  const refused = tier === undefined ? null : requireAccess(path, tier, caller);
  return refused ?? (allowed.split(", ").includes(method) ? null : httpError("methodNotAllowed"));
}

/** A request that a path of the service itself answers. */
export interface RouteContext extends Admission {
  readonly gateway: Gateway;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The response; null when it has been sent, or the client has disconnected. */
export type RouteResult = Result<Reply> | null;

/** Serves a request of a path that is not an endpoint's. Never rejects. */
export async function serveRoute(
  gateway: Gateway,
  route: ServedPath,
  request: IncomingMessage,
  response: ServerResponse,
  handle: (context: RouteContext) => RouteResult | Promise<RouteResult>,
): Promise<void> {
  const admission = await authorizeRequest(gateway, route, request);
  const headers = callerHeaders(admission.caller, admission.requestId);
  if (request.method === "OPTIONS") return sendOptions(response, request, route.allowed, headers);
  let result: RouteResult;
  try {
    result = admission.error ?? (await handle({ ...admission, gateway, request, response }));
  } catch (error) {
    const { requestId } = admission;
    gateway.log.error({ requestId, route: route.path, method: request.method, err: error }, "request failed");
    if (response.headersSent) return void response.destroy();
    result = httpError("unexpected");
  }
  if (isHttpError(result)) sendHttpError(response, result, route.allowed, headers);
  else if (result !== null) send(response, result, headers);
}

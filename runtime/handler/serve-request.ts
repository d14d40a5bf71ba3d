import type { IncomingMessage, ServerResponse } from "node:http";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import type { Tier } from "../model/tier.js";
import { authorize, type Authorization, callerHeaders, peek, requireAccess } from "../request/authorize.js";
import { NO_ROWS, type Sent } from "../response/respond.js";
import { type Reply, send, sendHttpError, sendOptions } from "../response/send.js";
import { requestIdOf } from "../http/headers.js";
import type { Gateway } from "./gateway.js";

/** What a path serves. */
export interface HttpRoute<Request extends IncomingMessage = IncomingMessage> {
  readonly path: string;
  /** Methods, as in `Allow`; null for an unknown path. */
  readonly allowed: string | null;
  /** Whether a request counts against its caller's window. */
  readonly isLimited: boolean;
  /** Tier that a caller needs; without one the path is open to every caller. */
  readonly tier?: Tier;
  /** The response, or what has been sent already. */
  handle(context: RequestContext<Request>): Outcome | Promise<Outcome>;
}

type Outcome = Result<Reply | Sent>;

/** A request that has passed the key, the rate limit, the tier and the method. */
export interface RequestContext<Request extends IncomingMessage = IncomingMessage> {
  readonly gateway: Gateway;
  readonly request: Request;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly caller: Authorization;
  /** Headers of every response to this caller, as flat name and value pairs. */
  readonly headers: readonly string[];
}

/** The caller and the outcome. */
export interface ServedRequest {
  readonly caller: Authorization;
  readonly requestId: string;
  readonly sent: Sent;
  /** Why the request was refused or failed; null for a success. */
  readonly error: HttpError | null;
}

/** Requests within another one, which has been counted. */
const counted = new WeakSet<IncomingMessage>();

/** The request stands for one that has been counted against its caller's window already. */
export function markCounted(request: IncomingMessage): void {
  counted.add(request);
}

/**
 * Serves a request of any path. Checks run in this order: key, rate limit, tier, method, then what the route itself checks
 * (runtime/docs/requests.md). Never rejects.
 */
export async function serveRequest<Request extends IncomingMessage>(
  gateway: Gateway,
  route: HttpRoute<Request>,
  request: Request,
  response: ServerResponse,
): Promise<ServedRequest> {
  const requestId = requestIdOf(request);
  const isCounted = route.isLimited && request.method !== "OPTIONS" && !counted.has(request);
  const caller = await (isCounted ? authorize : peek)(gateway, request);
  const headers = callerHeaders(caller, requestId);
  if (request.method === "OPTIONS") {
    sendOptions(response, request, route.allowed, headers);
    return { caller, requestId, sent: NO_ROWS, error: null };
  }
  const context = { gateway, request, response, requestId, caller, headers };
  const result = refusal(route, context) ?? (await run(route, context));
  if (!("status" in result)) return { caller, requestId, sent: result, error: null };
  const error = isHttpError(result) ? result : null;
  const bytes = isHttpError(result)
    ? sendHttpError(response, result, route.allowed, headers)
    : send(response, result, headers);
  return { caller, requestId, sent: { ...NO_ROWS, bytes }, error };
}

function refusal<Request extends IncomingMessage>(
  { path, allowed, tier }: HttpRoute<Request>,
  { caller, request }: RequestContext<Request>,
): HttpError | null {
  if (caller.error) return caller.error;
  if (allowed === null) return httpError("notFound");
  const refused = tier === undefined ? null : requireAccess(path, tier, caller);
  return refused ?? requireMethod(allowed, request);
}

function requireMethod(allowed: string, { method = "" }: IncomingMessage): HttpError | null {
  return allowed.split(", ").includes(method) ? null : httpError("methodNotAllowed");
}

async function run<Request extends IncomingMessage>(
  route: HttpRoute<Request>,
  context: RequestContext<Request>,
): Promise<Outcome> {
  try {
    return await route.handle(context);
  } catch (error) {
    const { gateway, requestId, request, response } = context;
    const { method } = request;
    gateway.log.error({ requestId, route: route.path, method, err: error }, "request failed");
    if (!response.headersSent) return httpError("unexpected");
    response.destroy();
    return NO_ROWS;
  }
}

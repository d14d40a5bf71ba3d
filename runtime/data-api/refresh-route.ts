import type { IncomingMessage, ServerResponse } from "node:http";
import { requestIdOf } from "../http/request-id.js";
import { authorize, peek, requireTier } from "../access/authorize.js";
import { send, sendOptions, sendRefusal } from "./send.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { Gateway } from "./gateway.js";
import type { RefreshResult } from "./refresh.js";

export const REFRESH_PATH = "/v1/system/manifest/refresh";

const METHODS = "POST, OPTIONS";

/** Answers `POST /v1/system/manifest/refresh`, for tier3 alone (data-api.md §4.2). */
export async function serveRefresh(
  gateway: Gateway,
  refresh: () => Promise<RefreshResult>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = requestIdOf(request);
  if (request.method === "OPTIONS") {
    sendOptions(response, request, METHODS, await peek(gateway, request), requestId);
    return;
  }
  const admission = await authorize(gateway, request);
  const refusal = admission.error ?? requireTier("tier3", admission) ?? methodRefusal(request);
  // A body means nothing here; unread, it would hold up the connection's next request.
  request.resume();
  if (refusal) sendRefusal(response, refusal, METHODS, admission, requestId);
  else send(response, { status: 200, body: JSON.stringify(await refresh()) }, admission, requestId);
}

function methodRefusal({ method }: IncomingMessage): HttpError | null {
  return method === "POST" ? null : httpError("methodNotAllowed");
}

import type { IncomingMessage, ServerResponse } from "node:http";
import { requestIdOf } from "../http/request-id.js";
import { admit, glance, tierRefusal } from "./admission.js";
import { send, sendOptions, sendRefusal } from "./answer.js";
import { refuse, type Refusal } from "./errors.js";
import type { Gateway } from "./gateway.js";
import type { RefreshAnswer } from "./refresh.js";

export const REFRESH_PATH = "/v1/system/manifest/refresh";

const METHODS = "POST, OPTIONS";

/** Answers `POST /v1/system/manifest/refresh`, for tier3 alone (data-api.md §4.2). */
export async function serveRefresh(
  gateway: Gateway,
  refresh: () => Promise<RefreshAnswer>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = requestIdOf(request);
  if (request.method === "OPTIONS") {
    sendOptions(response, request, METHODS, await glance(gateway, request), requestId);
    return;
  }
  const admission = await admit(gateway, request);
  const refusal = admission.refusal ?? tierRefusal("tier3", admission) ?? methodRefusal(request);
  // A body means nothing here; unread, it would hold up the connection's next request.
  request.resume();
  if (refusal) sendRefusal(response, refusal, METHODS, admission, requestId);
  else send(response, { status: 200, body: JSON.stringify(await refresh()) }, admission, requestId);
}

function methodRefusal({ method }: IncomingMessage): Refusal | null {
  return method === "POST" ? null : refuse("methodNotAllowed");
}

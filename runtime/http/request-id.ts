import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/**
 * The caller's own X-Request-Id where it is fit for a log line, else a new one (decisions.md §A, Responses). A key that
 * was put into the wrong header is not.
 */
export function requestIdOf(request: Pick<IncomingMessage, "headers">): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && /^(?!.*sk_live_)[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

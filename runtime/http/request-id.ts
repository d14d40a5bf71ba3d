import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** The caller's own X-Request-Id where it is fit for a log line, else a new one (decisions.md §A, Responses). */
export function requestIdOf(request: Pick<IncomingMessage, "headers">): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

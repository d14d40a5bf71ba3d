import type { IncomingMessage, ServerResponse } from "node:http";
import { httpError, isHttpError, type Result } from "../model/errors.js";
import { COMMON_HEADERS, NO_STORE, setHeaders } from "../http/headers.js";
import { type ServedPath, type RouteContext, serveRoute } from "../handler/authorize-request.js";
import type { Gateway } from "../handler/gateway.js";
import type { Documents } from "../pages/documents.js";
import { callerHeaders } from "../request/authorize.js";
import { complexityError } from "../request/request-fields.js";
import { readBodyText } from "../response/send.js";
import { answerMcp, type McpCaller } from "./mcp.js";

export const MCP_PATH = "/mcp";

/** The first message of a body counts before the body is read. */
const ROUTE: ServedPath = { path: MCP_PATH, allowed: "POST, OPTIONS", isLimited: true };

/** Serves `POST /mcp` (runtime/docs/mcp.md). */
export function serveMcp(
  gateway: Gateway,
  documents: Documents,
  endpoints: () => McpCaller["endpoints"],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return serveRoute(gateway, ROUTE, request, response, async (context) => {
    const message = await messageOf(context);
    if (message === null || isHttpError(message)) return message;
    // Each message counts as one request. MCP has had no batches since 2025-06-18; its TypeScript client sends none.
    if (Array.isArray(message.json) && message.json.length > 1) return httpError("batchTooLong");
    const { caller, requestId } = context;
    setHeaders(response, [...callerHeaders(caller, requestId), ...COMMON_HEADERS, ...NO_STORE]);
    const { callable, locked } = documents.catalogue(caller);
    await answerMcp({ context, documents, endpoints: endpoints(), callable, locked }, message.json);
    return null;
  });
}

/** The JSON message of the body; null when the client has disconnected. */
async function messageOf({
  request,
  caller,
}: RouteContext): Promise<Result<{ readonly json: unknown }> | null> {
  const text = await readBodyText(request, caller);
  if (typeof text !== "string") return text;
  const error = complexityError(text);
  if (error) return error;
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return httpError("bodyNotJson");
  }
}

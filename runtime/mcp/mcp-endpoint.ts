import type { IncomingMessage, ServerResponse } from "node:http";
import { httpError, isHttpError, type Result } from "../model/errors.js";
import { COMMON_HEADERS, NO_STORE, setHeaders } from "../http/headers.js";
import { type ServedPath, type Exchange, serveRoute } from "../handler/authorize-request.js";
import type { Gateway } from "../handler/gateway.js";
import type { Documents } from "../pages/documents.js";
import { callerHeaders } from "../request/authorize.js";
import { complexityError } from "../request/request-fields.js";
import { readBodyText } from "../response/send.js";
import { type McpSettings, oauthResource, originProblem, protectedResource } from "./access.js";
import { answerMcp, type ToolRequest } from "./mcp.js";

export const MCP_PATH = "/mcp";

/** The first message of a body counts before the body is read. */
const ROUTE: ServedPath = { path: MCP_PATH, allowed: "POST, OPTIONS", isLimited: true };

/** Serves `POST /mcp` (runtime/docs/mcp.md). */
export function serveMcp(
  gateway: Gateway,
  settings: McpSettings,
  documents: Documents,
  endpoints: () => ToolRequest["endpoints"],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const oauth = oauthResource(gateway, request);
  const route = oauth === undefined ? ROUTE : { ...ROUTE, oauth };
  return serveRoute(gateway, route, request, response, async (exchange) => {
    const problem = originProblem(settings, request);
    if (problem) return problem;
    if (oauth !== undefined && !settings.mcpAnonymous && exchange.context.caller.key === null)
      return httpError("tokenRequired");
    const message = await messageOf(exchange);
    if (message === null || isHttpError(message)) return message;
    // Each message counts as one request. MCP has had no batches since 2025-06-18; its TypeScript client sends none.
    if (Array.isArray(message.json) && message.json.length > 1) return httpError("batchTooLong");
    const { context } = exchange;
    setHeaders(response, [...callerHeaders(context), ...COMMON_HEADERS, ...NO_STORE]);
    const { callable, locked } = documents.catalogue(context.caller);
    await answerMcp({ exchange, documents, endpoints: endpoints(), callable, locked }, message.json);
    return null;
  });
}

/** The JSON message of the body; null when the client has disconnected. */
async function messageOf({ request, context }: Exchange): Promise<Result<{ readonly json: unknown }> | null> {
  const text = await readBodyText(request, context.caller);
  if (typeof text !== "string") return text;
  const error = complexityError(text);
  if (error) return error;
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return httpError("bodyNotJson");
  }
}

/** Serves the metadata by which OAuth clients find the issuer. */
export function serveMetadata(
  gateway: Gateway,
  route: ServedPath,
  title: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return serveRoute(gateway, route, request, response, (exchange) => protectedResource(exchange, title));
}

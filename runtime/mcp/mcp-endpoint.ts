import type { IncomingMessage, ServerResponse } from "node:http";
import type { Endpoint } from "../model/endpoint.js";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import { COMMON_HEADERS, NO_STORE, setHeaders } from "../http/headers.js";
import { type ServedPath, type RouteContext, serveRoute } from "../handler/authorize-request.js";
import type { Gateway } from "../handler/gateway.js";
import type { Documents } from "../pages/documents.js";
import { authorize, callerHeaders } from "../request/authorize.js";
import { complexityError } from "../request/request-fields.js";
import { readBodyText } from "../response/send.js";
import { answerMcp, type McpCaller } from "./mcp.js";
import { queryForTool, unknownPath } from "./query.js";

export const MCP_PATH = "/mcp";

/** The first message of a body counts before the body is read. */
const ROUTE: ServedPath = { path: MCP_PATH, allowed: "POST, OPTIONS", isLimited: true };

/** Serves `POST /mcp` (runtime/docs/mcp.md). `endpointAt`: the endpoint of a path in the active release. */
export function serveMcp(
  gateway: Gateway,
  documents: Documents,
  endpointAt: (path: string) => Endpoint | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return serveRoute(gateway, ROUTE, request, response, async (context) => {
    const message = await messageOf(context);
    if (message === null || isHttpError(message)) return message;
    const error = await countBatch(gateway, request, message.json);
    if (error) return error;
    const { caller, requestId } = context;
    setHeaders(response, [...callerHeaders(caller, requestId), ...COMMON_HEADERS, ...NO_STORE]);
    await answerMcp(mcpCaller(context, documents, endpointAt), request, response, message.json);
    return null;
  });
}

function mcpCaller(
  context: RouteContext,
  documents: Documents,
  endpointAt: (path: string) => Endpoint | null,
): McpCaller {
  const { caller } = context;
  const { callable, locked } = documents.catalogue(caller);
  return {
    catalogue: callable,
    locked,
    search: () => documents.search(caller),
    lockedSearch: () => documents.lockedSearch(caller),
    async query(path, fields, isSummary = false) {
      const endpoint = endpointAt(path);
      return endpoint === null ? unknownPath() : queryForTool(context, endpoint, fields, isSummary);
    },
  };
}

/** Messages of one body at most. */
const MAX_BATCH = 20;

/** Counts the further messages of a batch; the error of one that is too long or over the limit. */
async function countBatch(
  gateway: Gateway,
  request: IncomingMessage,
  json: unknown,
): Promise<HttpError | null> {
  const messages = Array.isArray(json) ? json.length : 1;
  if (messages > MAX_BATCH) return httpError("batchTooLong", { max: MAX_BATCH });
  for (let i = 1; i < messages; i++) {
    const { error } = await authorize(gateway, request);
    if (error) return error;
  }
  return null;
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

import { httpError, type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import type { Handled } from "../../core/http/route.js";
import type { DataRoute, Exchange } from "../../core/handler/exchange.js";
import { readBodyText } from "../../core/handler/resolve.js";
import type { Documents } from "../../pages/documents.js";
import { readJson } from "../../core/request/request-fields.js";
import {
  type McpSettings,
  METADATA_PATHS,
  oauthResource,
  protectedResource,
  refusalOfOrigin,
  scopeChallenge,
} from "./access.js";
import type { ToolRequest } from "./describe.js";

/** What the tools read. */
export interface McpContext {
  readonly settings: McpSettings;
  readonly documents: Documents;
  readonly title: string;
  readonly endpoints: () => ToolRequest["endpoints"];
  readonly isPrivate: ToolRequest["isPrivate"];
}

/** `POST /mcp`, and the metadata by which OAuth clients find the issuer (runtime/docs/mcp.md). */
export function mcpRoutes(mcp: McpContext): readonly DataRoute[] {
  const metadata = METADATA_PATHS.map((path): DataRoute => ({
    method: "GET",
    path,
    access: { limit: "document" },
    operation: null,
    handle: (exchange) => protectedResource(exchange, mcp.title),
  }));
  return [
    {
      method: "POST",
      path: "/mcp",
      // A message counts as a request before its body is read; a body with several is refused.
      access: { limit: "caller", oauth: oauthResource },
      operation: null,
      handle: (exchange) => serveMessage(exchange, mcp),
    },
    ...metadata,
  ];
}

async function serveMessage(
  exchange: Exchange,
  { settings, documents, endpoints, isPrivate }: McpContext,
): Promise<Handled<HttpError>> {
  const { request, context, oauth } = exchange;
  const problem = refusalOfOrigin(settings, request);
  if (problem) return problem;
  if (oauth !== undefined && !settings.mcpAnonymous && context.caller.key === null)
    return httpError("tokenRequired");
  const message = await messageOf(exchange);
  if (message === null || isHttpError(message)) return message;
  // MCP has had no batches since 2025-06-18; its TypeScript client sends none.
  if (Array.isArray(message.json) && message.json.length > 1) return httpError("batchTooLong");
  const { callable, locked } = documents.catalogue(context.caller);
  const challenge = scopeChallenge(exchange, locked, message.json);
  if (challenge !== null) return challenge;
  // Loaded at the first message: with Ajv it took 8 MB and 70 ms of processor time of each start.
  const { answerMcp } = await import("./mcp.js");
  return answerMcp(
    { exchange, documents, endpoints: endpoints(), isPrivate, callable, locked },
    message.json,
  );
}

/** The JSON message of the body; null when the client has disconnected. */
async function messageOf({ request, context }: Exchange): Promise<Result<{ readonly json: unknown }> | null> {
  const text = await readBodyText(request, context.caller);
  return typeof text === "string" ? readJson(text) : text;
}

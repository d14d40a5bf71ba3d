import type { IncomingMessage, ServerResponse } from "node:http";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import { type ClientAddress, COMMON_HEADERS, NO_STORE, setHeaders } from "../http/headers.js";
import { type ServedPath, type Exchange, serveRoute } from "../handler/authorize-request.js";
import type { Gateway } from "../handler/gateway.js";
import type { Documents } from "../pages/documents.js";
import { callerHeaders } from "../request/authorize.js";
import { complexityError } from "../request/request-fields.js";
import { readBodyText } from "../response/send.js";
import { answerMcp, type ToolRequest } from "./mcp.js";

export const MCP_PATH = "/mcp";

/** The first message of a body counts before the body is read. */
const ROUTE: ServedPath = { path: MCP_PATH, allowed: "POST, OPTIONS", isLimited: true };

/** What decides from which pages a browser may call `/mcp`. */
export interface McpOrigins {
  /** The address that the server listens on. */
  readonly host: string;
  readonly publicUrl: string | null;
  readonly corsOrigins: ReadonlySet<string> | null;
  readonly addressOf: ClientAddress;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

/**
 * Refuses requests of pages that are not allowed to call this server. On a loopback address without a proxy only names of this
 * machine are: a page of another host whose name resolves to 127.0.0.1 (DNS rebinding) would else read what its visitor may.
 */
export function originProblem(
  { host, publicUrl, corsOrigins, addressOf }: McpOrigins,
  { headers }: IncomingMessage,
): HttpError | null {
  const { origin } = headers;
  if (LOOPBACK.test(host) && publicUrl === null && addressOf.isTrustedProxy === undefined) {
    if (!isLoopbackName(`http://${headers.host ?? ""}`)) return httpError("hostNotLocal", { header: "Host" });
    const isLocal = origin === undefined || isLoopbackName(origin);
    return isLocal ? null : httpError("hostNotLocal", { header: "Origin" });
  }
  if (origin === undefined || corsOrigins === null || corsOrigins.has(origin)) return null;
  const own = publicUrl === null ? null : new URL(publicUrl).origin;
  const isOwn = own === null ? hostOf(origin) === headers.host : origin === own;
  return isOwn ? null : httpError("originNotAllowed");
}

function isLoopbackName(address: string): boolean {
  return URL.canParse(address) && LOOPBACK.test(new URL(address).hostname);
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** Serves `POST /mcp` (runtime/docs/mcp.md). */
export function serveMcp(
  gateway: Gateway,
  origins: McpOrigins,
  documents: Documents,
  endpoints: () => ToolRequest["endpoints"],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return serveRoute(gateway, ROUTE, request, response, async (exchange) => {
    const problem = originProblem(origins, request);
    if (problem) return problem;
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

import { createRequire } from "node:module";
import type { ServerResponse } from "node:http";
import { pathToFileURL } from "node:url";
import type * as Sdk from "@modelcontextprotocol/server";
import type { Reply } from "../../core/http/send.js";
import { loadedOnce } from "../../core/model/loaded-once.js";
import { callTool } from "./call-tool.js";
import type { ToolRequest } from "./describe.js";
import { promptOf, PROMPTS } from "./prompts.js";
import { RESOURCE_TEMPLATES, readResource, resourcesOf } from "./resources.js";
import { LISTED_TOOLS } from "./tools.js";

/**
 * Answers one request of the Model Context Protocol (Streamable HTTP, without sessions: each request stands alone, so any
 * worker can answer it): of revision 2026-07-28, whose requests say it in `_meta`, and of older ones.
 */
export async function answerMcp(tool: ToolRequest, message: unknown): Promise<Reply> {
  if (isSubscription(message)) return NO_SUBSCRIPTIONS(message.id);
  const sdk = await loadSdk();
  const { request, response } = tool.exchange;
  const sent = webRequest(request.headers, signalOf(response));
  const answer = (await sdk.isLegacyRequest(sent, message))
    ? await answerOlder(sdk, tool, sent, message)
    : await sdk
        .createMcpHandler(() => serverOf(sdk, tool), { legacy: "reject" })
        .fetch(sent, {
          parsedBody: message,
        });
  return { status: answer.status, body: await answer.text() };
}

/** By revisions from 2025-03-26 to 2025-11-25, as one JSON object instead of a stream. */
async function answerOlder(
  sdk: typeof Sdk,
  tool: ToolRequest,
  sent: Request,
  message: unknown,
): Promise<Response> {
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = serverOf(sdk, tool);
  await server.connect(transport);
  sent.signal.addEventListener("abort", () => void server.close(), { once: true });
  return transport.handleRequest(sent, { parsedBody: message });
}

/** How long a client may keep what is the same for every caller until a release, and what its key decides, in milliseconds. */
const [PUBLIC, PRIVATE] = [
  { ttlMs: 3_600_000, cacheScope: "public" },
  { ttlMs: 60_000, cacheScope: "private" },
] as const;

const CACHE_HINTS = {
  "server/discover": PUBLIC,
  "tools/list": PUBLIC,
  "prompts/list": PUBLIC,
  "resources/templates/list": PUBLIC,
  "resources/list": PRIVATE,
  "resources/read": PRIVATE,
} as const;

/** Lists stay as they are until a release, so that no client waits for a change. */
const STABLE = { listChanged: false } as const;

function serverOf(sdk: typeof Sdk, tool: ToolRequest): Sdk.McpServer {
  const mcp = new sdk.McpServer(
    { name: tool.callable.title, version: "1" },
    {
      capabilities: { tools: STABLE, resources: STABLE, prompts: STABLE },
      cacheHints: CACHE_HINTS,
      instructions:
        "Read-only analytics data. Search for an endpoint, or list the categories; describe it, list the values of a column to filter by, then query it. Numbers carry all their digits.",
    },
  );
  const { server } = mcp;
  server.setRequestHandler("tools/list", () => ({ tools: LISTED_TOOLS }));
  server.setRequestHandler("tools/call", ({ params }) => callTool(tool, params.name, params.arguments ?? {}));
  server.setRequestHandler("resources/list", ({ params }) => resourcesOf(tool, params?.cursor));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [...RESOURCE_TEMPLATES],
  }));
  server.setRequestHandler("resources/read", ({ params }) => readResource(tool, params.uri));
  server.setRequestHandler("prompts/list", () => ({
    prompts: PROMPTS.map((prompt) => ({ ...prompt, arguments: [...prompt.arguments] })),
  }));
  server.setRequestHandler("prompts/get", ({ params }) => promptOf(tool, params.name, params.arguments));
  return mcp;
}

/** What the SDK reads of a request: it sees no key. */
const READ_HEADERS = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"];

/** The request without its body, which is parsed already. */
function webRequest(headers: Readonly<Record<string, unknown>>, signal: AbortSignal): Request {
  const read = READ_HEADERS.flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  return new Request("http://localhost/mcp", { method: "POST", headers: read, signal });
}

/** Aborted when the client disconnects. */
function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    controller.abort();
  });
  return controller.signal;
}

/** Nothing changes before the next release, so no stream that a caller may hold open for good says so. */
function isSubscription(message: unknown): message is { readonly id?: unknown } {
  return (message as { method?: unknown } | null)?.method === "subscriptions/listen";
}

const METHOD_NOT_FOUND = -32601;

const NO_SUBSCRIPTIONS = (id: unknown): Reply => ({
  status: 404,
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: typeof id === "string" || typeof id === "number" ? id : null,
    error: { code: METHOD_NOT_FOUND, message: "Method not found: this server sends no notifications." },
  }),
});

/** The official server SDK. The build bundles what is used of it, since the whole package has 8 MB. */
const loadSdk = loadedOnce(async () => {
  const file = createRequire(import.meta.url).resolve("@routewright/runtime/assets/mcp.js");
  return (await import(pathToFileURL(file).href)) as typeof Sdk;
});

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type * as Types from "@modelcontextprotocol/sdk/types.js";
import { callTool } from "./call-tool.js";
import type { ToolRequest } from "./describe.js";
import { promptOf, PROMPTS } from "./prompts.js";
import { RESOURCE_TEMPLATES, readResource, resourcesOf } from "./resources.js";
import { TOOLS } from "./tools.js";

/**
 * Answers one request of the Model Context Protocol (Streamable HTTP, without sessions: each request stands alone, so any
 * worker can answer it).
 */
export async function answerMcp(tool: ToolRequest, message: unknown): Promise<void> {
  const { request, response } = tool.exchange;
  const sdk = await loadSdk();
  const { server } = new sdk.McpServer(
    { name: tool.callable.title, version: "1" },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions:
        "Read-only analytics data. Search for an endpoint, or list the categories; describe it, list the values of a column to filter by, then query it. Numbers carry all their digits.",
    },
  );
  server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({ tools: [...TOOLS] }));
  server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }) =>
    callTool(tool, params.name, params.arguments ?? {}),
  );
  server.setRequestHandler(sdk.ListResourcesRequestSchema, ({ params }) => resourcesOf(tool, params?.cursor));
  server.setRequestHandler(sdk.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [...RESOURCE_TEMPLATES],
  }));
  server.setRequestHandler(sdk.ReadResourceRequestSchema, ({ params }) => readResource(tool, params.uri));
  server.setRequestHandler(sdk.ListPromptsRequestSchema, () => ({ prompts: [...PROMPTS] }));
  server.setRequestHandler(sdk.GetPromptRequestSchema, ({ params }) =>
    promptOf(tool, params.name, params.arguments),
  );
  const transport = new sdk.StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.once("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, message);
}

type Sdk = {
  readonly McpServer: typeof McpServer;
  readonly StreamableHTTPServerTransport: typeof StreamableHTTPServerTransport;
} & Pick<
  typeof Types,
  | "CallToolRequestSchema"
  | "GetPromptRequestSchema"
  | "ListPromptsRequestSchema"
  | "ListResourcesRequestSchema"
  | "ListResourceTemplatesRequestSchema"
  | "ListToolsRequestSchema"
  | "ReadResourceRequestSchema"
>;

let loading: Promise<Sdk> | null = null;

/** The server part of the official SDK. The build bundles it, since the whole package has 20 MB. */
function loadSdk(): Promise<Sdk> {
  const file = createRequire(import.meta.url).resolve("@routewright/runtime/assets/mcp.js");
  loading ??= import(pathToFileURL(file).href) as Promise<Sdk>;
  return loading;
}

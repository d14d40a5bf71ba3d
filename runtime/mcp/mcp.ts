import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type {
  CallToolRequestSchema,
  CallToolResult,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { Ajv, type ValidateFunction } from "ajv";
import type { CatalogueBody, CatalogueEndpoint } from "../pages/catalogue-body.js";
import { Search } from "../pages/search.js";

/** What the tools of one request may use, limited by the request's key. */
export interface McpCaller {
  /** What the caller may call. */
  readonly catalogue: CatalogueBody;
  /** Runs the endpoint's own handler with the caller's key. The body is NDJSON. */
  query(path: string, parameters: URLSearchParams): Promise<QueryReply>;
}

/** The response of an endpoint, cut at a maximum size. */
export interface QueryReply {
  readonly status: number;
  readonly body: string;
  /** Whether the body was cut, or more rows follow the page. */
  readonly hasMore: boolean;
}

/** Rows per call, by default and at most: more would fill a model's context. */
const DEFAULT_ROWS = 20;
const MAX_ROWS = 100;

/** Characters of rows per call, about 5,000 tokens. */
const MAX_CHARACTERS = 20_000;

const DEFAULT_FOUND = 20;
const MAX_FOUND = 50;

const TOOLS = [
  {
    name: "search_endpoints",
    description:
      "Find endpoints of this data API by words in their paths, columns and descriptions. Without words: all of them.",
    inputSchema: {
      type: "object" as const,
      properties: {
        query: { type: "string", description: "Words; each must occur.", maxLength: 500 },
        category: { type: "string", description: "Only endpoints of this category." },
        limit: { type: "integer", minimum: 1, maximum: MAX_FOUND, default: DEFAULT_FOUND },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: "describe_endpoint",
    description:
      "Describe one endpoint: columns with types, parameters, required filters, page sizes, sorting, freshness, tests.",
    inputSchema: {
      type: "object" as const,
      properties: { path: { type: "string", description: "As search_endpoints returns it." } },
      required: ["path"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: "query_endpoint",
    description:
      `Query one endpoint and get rows as JSON. At most ${String(MAX_ROWS)} rows and ${String(MAX_CHARACTERS)} characters ` +
      "a call: filter and sort rather than read everything. Describe the endpoint first: unknown parameters are refused.",
    inputSchema: {
      type: "object" as const,
      properties: {
        path: { type: "string", description: "As search_endpoints returns it." },
        parameters: {
          type: "object",
          description:
            "The endpoint's own parameters, `column[operator]` for its filters, and where it has them offset, sort_by and sort_direction. A list: several values.",
          additionalProperties: {
            anyOf: [
              { type: ["string", "number", "boolean"] },
              { type: "array", items: { type: ["string", "number", "boolean"] } },
            ],
          },
        },
        limit: { type: "integer", minimum: 1, maximum: MAX_ROWS, default: DEFAULT_ROWS },
      },
      required: ["path"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
] as const;

/** Arguments of all tools; each tool's schema says which it takes. */
interface Arguments {
  readonly path: string;
  readonly query?: string;
  readonly category?: string;
  readonly parameters?: Readonly<Record<string, Value | readonly Value[]>>;
  readonly limit?: number;
}

type Value = string | number | boolean;

/**
 * Answers one request of the Model Context Protocol (Streamable HTTP, without sessions: each request stands alone, so any
 * worker can answer it).
 */
export async function answerMcp(
  caller: McpCaller,
  request: IncomingMessage,
  response: ServerResponse,
  message: unknown,
): Promise<void> {
  const sdk = await loadSdk();
  const { server } = new sdk.McpServer(
    { name: caller.catalogue.title, version: "1" },
    {
      capabilities: { tools: {} },
      instructions:
        "Read-only analytics data. Search for an endpoint, describe it, then query it. Numbers carry all their digits.",
    },
  );
  server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({ tools: [...TOOLS] }));
  server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }) =>
    callTool(caller, params.name, params.arguments ?? {}),
  );
  const transport = new sdk.StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.once("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, message);
}

interface Sdk {
  readonly McpServer: typeof McpServer;
  readonly StreamableHTTPServerTransport: typeof StreamableHTTPServerTransport;
  readonly CallToolRequestSchema: typeof CallToolRequestSchema;
  readonly ListToolsRequestSchema: typeof ListToolsRequestSchema;
}

let loading: Promise<Sdk> | null = null;

/** The server part of the official SDK. The build bundles it, since the whole package has 20 MB. */
function loadSdk(): Promise<Sdk> {
  const file = createRequire(import.meta.url).resolve("@routewright/runtime/assets/mcp.js");
  loading ??= import(pathToFileURL(file).href) as Promise<Sdk>;
  return loading;
}

function callTool(caller: McpCaller, name: string, given: unknown): CallToolResult | Promise<CallToolResult> {
  const problem = argumentProblem(name, given);
  if (problem !== null) return failure(problem);
  const args = given as Arguments;
  if (name === "query_endpoint") return queryEndpoint(caller, args);
  return name === "search_endpoints" ? searchEndpoints(caller, args) : describeEndpoint(caller, args);
}

const validators = new Map<string, ValidateFunction>();

/** Why a tool cannot take these arguments; null when it can. */
function argumentProblem(name: string, given: unknown): string | null {
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) return `Unknown tool. There are: ${TOOLS.map((each) => each.name).join(", ")}.`;
  const validate = validators.get(name) ?? new Ajv({ allowUnionTypes: true }).compile(tool.inputSchema);
  validators.set(name, validate);
  if (validate(given)) return null;
  const [error] = validate.errors ?? [];
  return `Invalid arguments: ${error?.instancePath.slice(1) || "they"} ${error?.message ?? "do not match"}.`;
}

function searchEndpoints({ catalogue }: McpCaller, args: Arguments): CallToolResult {
  const { query = "", category, limit = DEFAULT_FOUND } = args;
  const found = searchOf(catalogue)
    .find(query)
    .filter((each) => category === undefined || each.category === category);
  const endpoints = found.slice(0, limit).map(({ path, description, columns, tier }) => ({
    path,
    description,
    tier,
    columns: columns.map(({ name }) => name),
  }));
  return success(JSON.stringify({ found: found.length, endpoints }));
}

const searches = new WeakMap<CatalogueBody, Search<CatalogueEndpoint>>();

/** Indexed once per catalogue object, which is replaced when anything in it changes. */
function searchOf(catalogue: CatalogueBody): Search<CatalogueEndpoint> {
  const search = searches.get(catalogue) ?? new Search(catalogue.endpoints);
  searches.set(catalogue, search);
  return search;
}

function describeEndpoint({ catalogue }: McpCaller, { path }: Arguments): CallToolResult {
  const endpoint = endpointAt(catalogue, path);
  return endpoint === undefined ? unknownEndpoint(path) : success(JSON.stringify(endpoint));
}

async function queryEndpoint(caller: McpCaller, args: Arguments): Promise<CallToolResult> {
  const endpoint = endpointAt(caller.catalogue, args.path);
  if (endpoint === undefined) return unknownEndpoint(args.path);
  const limit = args.limit ?? DEFAULT_ROWS;
  const reply = await caller.query(endpoint.path, queryString(endpoint, args, limit));
  return reply.status === 200
    ? success(rowsText(reply, limit))
    : failure(`HTTP ${String(reply.status)}: ${reply.body}`);
}

function queryString(
  { pagination }: CatalogueEndpoint,
  { parameters = {} }: Arguments,
  limit: number,
): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  if (pagination !== null) query.set("limit", String(Math.min(limit, pagination.max_limit)));
  return query;
}

/** As many rows as fit, as text, so that no digit is lost. */
function rowsText({ body, hasMore }: QueryReply, limit: number): string {
  const rows = body.split("\n").filter((line) => line !== "");
  const fitting: string[] = [];
  let characters = 0;
  for (const row of rows.slice(0, limit)) {
    characters += row.length;
    if (characters > MAX_CHARACTERS) break;
    fitting.push(row);
  }
  const isCut = fitting.length < rows.length || hasMore;
  const head = `"returned":${String(fitting.length)},"has_more":${String(isCut)}`;
  return `{${head},"rows":[${fitting.join(",\n")}]}`;
}

function endpointAt({ endpoints }: CatalogueBody, path: string): CatalogueEndpoint | undefined {
  return endpoints.find((endpoint) => endpoint.path === path);
}

/** The same message for an endpoint of a higher tier: its existence is not disclosed. */
function unknownEndpoint(path: string): CallToolResult {
  return failure(`Your key can call no endpoint ${path}. Find one with search_endpoints.`);
}

function success(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

function failure(text: string): CallToolResult {
  return { ...success(text), isError: true };
}

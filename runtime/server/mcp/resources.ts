import type { ListResourcesResult, ReadResourceResult } from "@modelcontextprotocol/server";
import { categoriesOf } from "../../pages/catalogue-body.js";
import { ENDPOINT_URI } from "./access.js";
import { VIEW_RESOURCES, viewAt } from "./apps.js";
import { describedEndpoint, type ToolRequest } from "./describe.js";

const CATALOGUE = "routewright://catalogue";

const mimeType = "application/json";

/** Resources of one page of the list. */
const PAGE = 100;

/** Endpoints in the catalogue as a resource: a model reads it whole. */
const MAX_LISTED = 500;

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${ENDPOINT_URI}{+path}`,
    name: "endpoint",
    description:
      "One endpoint by its path: columns with types and descriptions, parameters, filters, page sizes.",
    mimeType,
  },
] as const;

/** The catalogue, then the endpoints that the caller may call. */
export function resourcesOf({ callable: { endpoints } }: ToolRequest, cursor?: string): ListResourcesResult {
  const start = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(start) || start < 0) throw refusal("This cursor is of no list of resources.");
  const page = endpoints.slice(start, start + PAGE).map(({ path, description }) => ({
    uri: ENDPOINT_URI + path,
    name: path,
    ...(description !== "" && { description }),
    mimeType,
  }));
  const catalogue = {
    uri: CATALOGUE,
    name: "catalogue",
    description: "The categories and the endpoints.",
    mimeType,
  };
  const next = start + PAGE;
  return {
    resources: start === 0 ? [catalogue, ...VIEW_RESOURCES, ...page] : page,
    ...(next < endpoints.length && { nextCursor: String(next) }),
  };
}

export function readResource(tool: ToolRequest, uri: string): ReadResourceResult {
  const view = viewAt(uri);
  if (view !== null) return { contents: [view] };
  const found = uri === CATALOGUE ? catalogueOf(tool) : endpointAt(tool, uri);
  if (found === null) throw refusal(`There is no resource ${uri} that your key may read.`, { uri });
  return { contents: [{ uri, mimeType, text: JSON.stringify(found) }] };
}

function catalogueOf({ callable: { title, endpoints } }: ToolRequest): object {
  const listed = endpoints.slice(0, MAX_LISTED);
  return {
    title,
    categories: [...categoriesOf(endpoints)].map(([category, count]) => ({ category, endpoints: count })),
    endpoints: listed.map(({ path, tier, description }) => ({ path, tier, description })),
    ...(listed.length < endpoints.length && {
      more: `${String(endpoints.length - listed.length)} others: find them with search_endpoints.`,
    }),
  };
}

function endpointAt(tool: ToolRequest, uri: string): object | null {
  const path = uri.startsWith(ENDPOINT_URI) ? uri.slice(ENDPOINT_URI.length) : "";
  const endpoint = tool.callable.endpoints.find((each) => each.path === path);
  return endpoint === undefined ? null : describedEndpoint(tool, endpoint);
}

/** "Invalid params" of JSON-RPC. */
const INVALID_PARAMS = -32602;

/** The protocol's form of a refusal: its SDK sends the code, the text and the data of what is thrown. */
export function refusal(text: string, data?: object): Error {
  return Object.assign(new Error(text), { code: INVALID_PARAMS, ...(data && { data }) });
}

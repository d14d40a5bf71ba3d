import type { Catalogue, CatalogueEntry } from "../../catalogue/catalogue.js";
import { API_DESCRIPTION } from "./info.js";
import { type Json, type JsonMap, type JsonRecord, jsonText } from "./json-text.js";
import { rowNameOf } from "./names.js";
import { dataPathItem } from "./operation.js";
import type { Operation } from "./refusals.js";
import { ERROR_SCHEMA, HEADERS, NOT_MODIFIED, refusalComponents } from "./responses.js";
import { FORMAT_SCHEMAS, PAGINATION_SCHEMA, rowSchema } from "./rows.js";
import { SYSTEM_OPERATIONS, SYSTEM_SCHEMAS, SYSTEM_TAG, systemPaths } from "./system.js";

export interface OpenApiOptions {
  /** Title of the API (`API_TITLE`); null: the default. */
  readonly title?: string | null;
}

const DEFAULT_TITLE = "Routewright Data API";

/** An OpenAPI 3.1 document whose keys are in order; `openApiText` prints it. */
export type OpenApiDocument = Readonly<
  Record<"openapi" | "x-generated-by", string> &
    Record<"info" | "components", JsonRecord> &
    Record<"servers" | "tags" | "x-tagGroups", readonly Json[]> &
    Record<"paths", JsonMap>
>;

/** Tells the writer, and a reader, that the file is made by the generator. */
export const OPENAPI_MARKER = "Routewright. Do not edit: change the models, run `routewright generate`.";

/**
 * Describes what a catalogue publishes, its entries in the order they come in, then the system endpoints. The same
 * catalogue gives the same document.
 */
export function openApiOf(catalogue: Catalogue, options: OpenApiOptions = {}): OpenApiDocument {
  const { entries } = catalogue;
  const categories = [...new Set(entries.map(({ category }) => category))];
  return {
    openapi: "3.1.0",
    "x-generated-by": OPENAPI_MARKER,
    info: { title: options.title ?? DEFAULT_TITLE, version: "v1", description: API_DESCRIPTION },
    servers: [{ url: "/" }],
    tags: tagsOf(categories),
    "x-tagGroups": tagGroupsOf(categories),
    paths: new Map([
      ...entries.map((entry) => [entry.endpoint.path, dataPathItem(entry)] as const),
      ...systemPaths(),
    ]),
    components: componentsOf(entries),
  };
}

/** The document as a file: JSON, indented by two spaces, with a newline at its end. */
export function openApiText(catalogue: Catalogue, options: OpenApiOptions = {}): string {
  return `${jsonText(openApiOf(catalogue, options))}\n`;
}

function tagsOf(categories: readonly string[]): readonly Json[] {
  return [
    ...categories.map((name) => ({ name, description: `Rows of the category \`${name}\`.` })),
    { name: SYSTEM_TAG, description: "The service itself: its state and its documentation." },
  ];
}

/** Redoc's menu. */
function tagGroupsOf(categories: readonly string[]): readonly Json[] {
  const system = { name: "Service", tags: [SYSTEM_TAG] };
  return categories.length === 0 ? [system] : [{ name: "Data", tags: categories }, system];
}

function componentsOf(entries: readonly CatalogueEntry[]): JsonRecord {
  const rows = entries.map((entry) => [rowNameOf(entry.endpoint.path), rowSchema(entry)] as const);
  const shared = { Error: ERROR_SCHEMA, Pagination: PAGINATION_SCHEMA, ...FORMAT_SCHEMAS, ...SYSTEM_SCHEMAS };
  return {
    securitySchemes: { ApiKeyAuth: { type: "apiKey", in: "header", name: "X-API-Key" } },
    headers: HEADERS,
    responses: new Map<string, Json>([
      ...(entries.length > 0 ? [["NotModified", NOT_MODIFIED] as const] : []),
      ...refusalComponents([...entries.flatMap(operationsOf), ...SYSTEM_OPERATIONS]),
    ]),
    schemas: new Map<string, Json>([...rows, ...Object.entries(shared)]),
  };
}

function operationsOf({ endpoint }: CatalogueEntry): readonly Operation[] {
  return endpoint.methods.map((method) => ({ kind: "data", endpoint, method }));
}

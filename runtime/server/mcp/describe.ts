import { VALUES } from "../../core/model/column-types.js";
import type { ServedEndpoint } from "../../core/model/served-endpoint.js";
import type { Exchange } from "../../core/handler/exchange.js";
import type { CatalogueBody, CatalogueEndpoint } from "../../pages/catalogue-body.js";
import type { Documents } from "../../pages/documents.js";
import { DEFAULT_ROWS, MAX_ROWS } from "./tools.js";

/** What an answer to one request may use. */
export interface ToolRequest {
  readonly exchange: Exchange;
  readonly documents: Documents;
  /** By path. */
  readonly endpoints: ReadonlyMap<string, { readonly served: ServedEndpoint }>;
  readonly isPrivate: (path: string, column: string) => boolean;
  /** What the caller may call. */
  readonly callable: CatalogueBody;
  /** What the caller may see, but not call. */
  readonly locked: readonly CatalogueEndpoint[];
}

/** An endpoint as tools describe it: its entry in the catalogue, with the page sizes of tools and what the values of its filters are. */
export function describedEndpoint(tool: ToolRequest, endpoint: CatalogueEndpoint): object {
  return withValues(tool, withLimits(endpoint));
}

/** The endpoint with the tool's page sizes, not those of HTTP. */
function withLimits(endpoint: CatalogueEndpoint): CatalogueEndpoint {
  const { pagination } = endpoint;
  if (pagination === null) return endpoint;
  const [most, usual] = [Math.min(MAX_ROWS, pagination.max_limit), DEFAULT_ROWS];
  return {
    ...endpoint,
    pagination: { ...pagination, default_limit: Math.min(usual, most), max_limit: most },
  };
}

/** What the values of filters are. */
function withValues({ endpoints }: ToolRequest, { filters, ...endpoint }: CatalogueEndpoint): object {
  const types = new Map(
    endpoints.get(endpoint.path)?.served.spec.filters?.map(({ column, type }) => [column, type]),
  );
  const described = filters?.map((filter) => ({
    ...filter,
    value: VALUES[types.get(filter.column) ?? "other"].text,
  }));
  return { ...endpoint, ...(described && { filters: described }) };
}

import {
  atFormerPath,
  endpointTitle,
  freshnessText,
  type FormerPath,
  type HttpMethod,
  type Json,
  type JsonRecord,
  type Method,
  operationObject,
  ref,
  type Tier,
  TIER_NAMES,
} from "@routewright/runtime/model";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import { operationIdOf } from "./names.js";
import { codeList, paragraphs } from "./markdown.js";
import { queryParameters, requestBody, requiredFilters } from "./parameters.js";
import { errorReferences, queryExtension } from "./responses.js";
import { pagingHints } from "./client-hints.js";
import { rowsResponse } from "./rows.js";

/** The operations of a data endpoint, or of one of its former paths: one per method. */
export function dataOperations(
  entry: CatalogueEntry,
  former?: FormerPath,
): readonly (readonly [path: string, HttpMethod, Json])[] {
  const endpoint = former ? atFormerPath(entry, former) : entry;
  return entry.methods.map((method) => [
    endpoint.path,
    method,
    dataOperation(entry, endpoint, method, former),
  ]);
}

const QUERY = queryExtension("The same body and responses; safe to repeat (RFC 10008).");

/** `endpoint`: the entry as it answers at the path. */
function dataOperation(
  entry: CatalogueEntry,
  endpoint: CatalogueEntry,
  method: Method,
  former?: FormerPath,
): JsonRecord {
  return operationObject({
    operationId: operationIdOf(method, endpoint.path),
    tags: [entry.category],
    summary: endpointTitle(entry) + (method === "POST" ? " (POST)" : ""),
    description: descriptionOf(endpoint, former),
    deprecated: former !== undefined || endpoint.deprecationDate !== null,
    extensions: {
      "x-tier": endpoint.tier,
      ...(entry.stability && { "x-stability": entry.stability }),
      ...(entry.freshness && { "x-freshness": { ...entry.freshness } }),
      "x-dbt-model": endpoint.model,
      ...(method === "GET" ? pagingHints(entry) : QUERY),
    },
    security: endpoint.rows === undefined ? securityOf(endpoint.tier) : KEY,
    ...inputOf(entry, method),
    responses: [
      ["200", rowsResponse(entry, endpoint)],
      ...(method === "GET" ? [["304", NOT_MODIFIED_REF] as const] : []),
      ...errorReferences(method),
    ],
  });
}

const NOT_MODIFIED_REF = ref("responses", "NotModified");

/** Of endpoints with pages. In full: programs that read parameters by name seldom follow references. */
const PREFER = {
  name: "Prefer",
  in: "header",
  description: "`count=exact` adds `X-Total-Count`.",
  schema: { type: "string" },
};

function inputOf(
  entry: CatalogueEntry,
  method: Method,
): { readonly parameters?: readonly Json[]; readonly requestBody?: Json } {
  const headers = entry.pagination === null ? [] : [PREFER];
  switch (method) {
    case "GET":
      return { parameters: [...queryParameters(entry), ...headers] };
    case "POST":
      return { ...(headers.length > 0 && { parameters: headers }), requestBody: requestBody(entry) };
  }
}

/** Who may call: tier0 without a key too, other tiers with a key (runtime/docs/keys.md). */
export function securityOf(tier: Tier): Json {
  return tier === "tier0" ? KEY_OR_NONE : KEY;
}

const KEY = [{ ApiKeyAuth: [] }];
const KEY_OR_NONE = [{}, { ApiKeyAuth: [] }];

/** The model's description, then the endpoint's rules. */
function descriptionOf(entry: CatalogueEntry, former?: FormerPath): string {
  const {
    legacy,
    filters,
    fields,
    requireFresh,
    onFailedTest,
    rows,
    cursor,
    sort,
    tier,
    stability,
    freshness,
    deprecationDate,
    successor,
  } = entry;
  const required = requiredFilters(entry);
  return paragraphs(
    entry.description,
    legacy && !fields && !requireFresh && filters === undefined
      ? "The whole table. Takes no parameters."
      : "",
    required.length === 0 ? "" : `At least one of these parameters is required: ${codeList(required)}.`,
    rows === undefined ? "" : "Serves the rows of the key's organization only.",
    sort.length === 0 ? "" : `Sorted by ${codeList(sort.map((key) => key.join(" ")))}.`,
    cursor === undefined
      ? ""
      : "Pages follow each other by `cursor`: none slips while the rows are built again.",
    stability === undefined ? "" : "A preview: it may change without notice.",
    freshness === undefined ? "" : `Its rows are fresh ${freshnessText(freshness)}.`,
    onFailedTest === undefined ? "" : "No rows are served while a test of them fails.",
    deprecationDate === null ? "" : `Deprecated: may be removed from ${deprecationDate} on.`,
    successor === null ? "" : `${former ? "Moved to" : "The latest version is served by"} \`${successor}\`.`,
    `Access: ${tier} (${TIER_NAMES[tier]}).`,
  );
}

import {
  atOtherPaths,
  endpointTitle,
  freshnessText,
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
import { enforcedText } from "../../catalogue/enforced.js";
import { operationIdOf } from "./names.js";
import { codeList, paragraphs } from "./markdown.js";
import { queryParameters, requestBody, requiredFilters } from "./parameters.js";
import { errorReferences, queryExtension } from "./responses.js";
import { pagingHints } from "./client-hints.js";
import { rowsResponse } from "./rows.js";

/** The operations of a data endpoint at all paths where it answers: one per method. */
export function dataOperations(
  entry: CatalogueEntry,
): readonly (readonly [path: string, HttpMethod, Json])[] {
  return [entry, ...atOtherPaths(entry)].flatMap((endpoint) =>
    entry.methods.map((method) => [endpoint.path, method, dataOperation(entry, endpoint, method)] as const),
  );
}

const QUERY = queryExtension("The same body and responses; safe to repeat (RFC 10008).");

/** `endpoint`: the entry as it answers at the path. */
function dataOperation(entry: CatalogueEntry, endpoint: CatalogueEntry, method: Method): JsonRecord {
  const isFormer = endpoint.successor === entry.path;
  return operationObject({
    operationId: operationIdOf(method, endpoint.path),
    tags: [entry.category],
    summary: endpointTitle(entry) + (method === "POST" ? " (POST)" : ""),
    description: descriptionOf(endpoint, isFormer),
    deprecated: isFormer || endpoint.deprecationDate !== null,
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
      ...errorReferences(method, ...(entry.goneAt === undefined ? [] : (["ended"] as const))),
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
  example: "count=exact",
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

export const KEY = [{ ApiKeyAuth: [] }];
const KEY_OR_NONE = [{}, { ApiKeyAuth: [] }];

/** The model's description, then the endpoint's rules. */
function descriptionOf(entry: CatalogueEntry, isFormer: boolean): string {
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
    enforced,
    deprecationDate,
    goneAt,
    successor,
    successorChanges = [],
    path,
    versionPath = path,
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
    enforced === undefined ? "" : enforcedText(enforced),
    onFailedTest === undefined ? "" : "No rows are served while a test of them fails.",
    deprecationDate === null ? "" : `Deprecated: may be removed from ${deprecationDate} on.`,
    goneAt === undefined ? "" : `Answers 410 from ${goneAt} on.`,
    versionPath === path ? "" : `The latest version of its model; \`${versionPath}\` stays at this one.`,
    successor === null
      ? ""
      : `${isFormer ? "Moved to" : "The latest version is served by"} \`${successor}\`.`,
    isFormer || successorChanges.length === 0 ? "" : `What changes there: ${successorChanges.join("; ")}.`,
    `Access: ${tier} (${TIER_NAMES[tier]}).`,
  );
}

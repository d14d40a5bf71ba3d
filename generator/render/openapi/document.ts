import {
  type ApiAbout,
  type HttpMethod,
  type Json,
  type JsonRecord,
  openApiObject,
  operationObject,
  parametersOf,
  pathsObject,
  RATE_LIMITS,
  RATE_WINDOW_SECONDS,
  responseObject,
  SYSTEM_ROUTES,
  SYSTEM_SCHEMAS,
  servedPaths,
  type DescribedRoute,
  TIER_NAMES,
  TIERS,
} from "@routewright/runtime/model";
import type { Catalogue, CatalogueEntry } from "../../catalogue/catalogue.js";
import type { Kept } from "../kept.js";
import { RETRIES } from "./client-hints.js";
import { documentBytes, JsonBytes } from "./json-text.js";
import { rowNameOf } from "./names.js";
import { dataOperations, KEY, securityOf } from "./operation.js";
import { paragraphs } from "./markdown.js";
import { type SystemExamples, systemExamples, withExamples } from "./system-examples.js";
import {
  DOCUMENT_HEADERS,
  ERROR_SCHEMA,
  errorComponents,
  errorReferences,
  errorTable,
  HEADERS,
  headersOf,
  NOT_MODIFIED,
  PROBLEM_SCHEMA,
  queryExtension,
  SAME_DOCUMENT,
  type OperationKind,
} from "./responses.js";
import { CURSOR_PAGINATION_SCHEMA, PAGINATION_SCHEMA, entriesByModel, rowSchema } from "./rows.js";

export interface OpenApiOptions {
  /** Title of the API (`API_TITLE`); null: the default. */
  readonly title?: string | null;
  readonly about?: ApiAbout | undefined;
}

/** What need not be rendered again. */
interface Unchanged {
  readonly kept?: Kept | undefined;
  readonly unchanged?: ReadonlySet<CatalogueEntry>;
}

const DEFAULT_TITLE = "Routewright Data API";

/** Marks the file as generated: the writer overwrites only files with this marker. */
const OPENAPI_MARKER = "Routewright. Do not edit: change the models, run `routewright generate`.";

/** The OpenAPI document of a catalogue: its entries in their order, then the system endpoints. */
export function openApiOf(catalogue: Catalogue, options: OpenApiOptions & Unchanged = {}) {
  const { entries } = catalogue;
  const { about = {} } = options;
  const title = options.title ?? DEFAULT_TITLE;
  const hasEnds = entries.some(({ goneAt }) => goneAt !== undefined);
  const hasCursors = entries.some(({ cursor }) => cursor !== undefined);
  const byModel = entriesByModel(entries);
  const examples = systemExamples(entries);
  const categories = [...new Set(entries.map(({ category }) => category))];
  return openApiObject({
    extensions: { "x-generated-by": OPENAPI_MARKER, "x-speakeasy-retries": RETRIES },
    title,
    version: "v1",
    description: [about.description, descriptionOf(hasEnds)]
      .filter((text) => text !== undefined)
      .join("\n\n"),
    info: operatorOf(title, about),
    server: "/",
    tags: [
      ...categories.map((name) => {
        const description = Object.hasOwn(catalogue.categories, name)
          ? catalogue.categories[name]
          : undefined;
        return { name, ...(description !== undefined && { description: paragraphs(description) }) };
      }),
      { name: SYSTEM_TAG, description: "The service itself: its state and its documentation." },
    ],
    tagGroups: tagGroupsOf(categories),
    paths: new Map([
      ...entries.flatMap((entry) => keptPaths(entry, options) ?? [...pathsObject(dataOperations(entry))]),
      ...pathsObject(SYSTEM_ROUTES.flatMap((route) => systemOperations(route, examples))),
    ]),
    components: componentsOf(
      entries.map((entry) => {
        const name = rowNameOf(entry.path);
        return [name, keptSchema(name, entry, options) ?? rowSchema(entry, byModel)] as const;
      }),
      hasCursors,
      hasEnds,
    ),
  });
}

/** The members of `info` that name the operator. */
function operatorOf(title: string, { contact, termsOfService, logo }: ApiAbout): JsonRecord {
  const mail = contact?.startsWith("mailto:") === true ? contact.slice("mailto:".length) : null;
  return {
    ...(termsOfService !== undefined && { termsOfService }),
    ...(contact !== undefined && { contact: mail === null ? { url: contact } : { email: mail } }),
    ...(logo !== undefined && { "x-logo": { url: logo, altText: title } }),
  };
}

/** The operations of an unchanged entry by their paths; undefined where one is not known. */
function keptPaths(
  entry: CatalogueEntry,
  { kept, unchanged }: Unchanged,
): readonly (readonly [string, Json])[] | undefined {
  if (kept === undefined || !unchanged?.has(entry)) return undefined;
  const paths = servedPaths(entry).map((path) => [path, written(kept.operationsOf(path))] as const);
  const known = paths.flatMap(([path, item]) => (item === undefined ? [] : [[path, item] as const]));
  return known.length === paths.length ? known : undefined;
}

/** The schema of an unchanged entry's row. What is referred to is of other entries, which may have changed. */
function keptSchema(name: string, entry: CatalogueEntry, { kept, unchanged }: Unchanged): Json | undefined {
  if (!unchanged?.has(entry) || entry.columns.some(({ references }) => references !== undefined))
    return undefined;
  return written(kept?.schemaOf(name));
}

/** As a part of a document, which is only written. */
function written(bytes: Buffer | undefined): Json | undefined {
  return bytes === undefined ? undefined : (new JsonBytes(bytes) as unknown as Json);
}

/** The document as `openapi.json`. */
export function openApiBytes(catalogue: Catalogue, options: OpenApiOptions & Unchanged = {}): Buffer {
  return documentBytes(openApiOf(catalogue, options));
}

/** The groups of Redoc's menu. */
function tagGroupsOf(categories: readonly string[]): readonly Json[] {
  const system = { name: "Service", tags: [SYSTEM_TAG] };
  return categories.length === 0 ? [system] : [{ name: "Data", tags: categories }, system];
}

function componentsOf(
  rows: readonly (readonly [name: string, schema: Json])[],
  hasCursors: boolean,
  hasEnds: boolean,
): JsonRecord {
  const shared = {
    Error: ERROR_SCHEMA,
    Problem: PROBLEM_SCHEMA,
    Pagination: PAGINATION_SCHEMA,
    ...(hasCursors && { CursorPagination: CURSOR_PAGINATION_SCHEMA }),
    ...(SYSTEM_SCHEMAS as JsonRecord),
  };
  return {
    securitySchemes: { ApiKeyAuth: { type: "apiKey", in: "header", name: "X-API-Key" } },
    headers: HEADERS,
    responses: new Map<string, Json>([
      ...(rows.length > 0 ? [["NotModified", NOT_MODIFIED] as const] : []),
      ...errorComponents(hasEnds),
    ]),
    schemas: new Map<string, Json>([...rows, ...Object.entries(shared)]),
  };
}

/** The introduction of the documentation: tiers and rate limits, errors, formats. */
function descriptionOf(hasEnds: boolean): string {
  return [
    "Read-only access to analytics tables. Every endpoint is generated from a published dbt model.",
    "",
    `Send your key in the header \`X-API-Key\`, or as \`Authorization: Bearer\`. It opens the endpoints of its tier and of the tiers below; public ` +
      `endpoints need no key. Requests are counted in windows of ${RATE_WINDOW_SECONDS} seconds, per key, or per IP address without one.`,
    "",
    `| Tier | Name | Requests per ${RATE_WINDOW_SECONDS} s |`,
    "|---|---|---|",
    ...TIERS.map((tier) => `| ${tier} | ${TIER_NAMES[tier]} | ${RATE_LIMITS[tier]} |`),
    "",
    'Every error is a JSON object `{"detail": "..."}` that says what is wrong:',
    "",
    ...errorTable(hasEnds),
    "",
    "An empty query value (`?token=`) counts as absent.",
    "",
    "Language models reach the same endpoints, with the same keys and limits, at `POST /mcp` (Model Context Protocol, " +
      "Streamable HTTP). Its messages are JSON-RPC, which the protocol describes, so it is no operation here. `/explore` shows the " +
      "catalogue as a page.",
    "",
    "Rows are JSON by default; `Accept: text/csv` and `Accept: application/x-ndjson` select other formats, and so do the " +
      "suffixes `.csv`, `.ndjson` and `.json` after a path. `.parquet`, `.arrow` (file) and `.arrows` (stream) are tables with " +
      "typed columns: `application/vnd.apache.parquet`, `….arrow.file` and `….arrow.stream`. Responses with rows have an `ETag`; send it in " +
      "`If-None-Match`: 304 while the rows are the same.",
    "",
    "Numbers have all their digits, also beyond 2^53, where some JSON parsers round: " +
      "`Accept: application/json; numbers=string` returns such columns as strings. Times are in UTC. " +
      "Years outside 0001 to 9999 have a sign and at least six digits, `-000043-03-15` in 44 BC; infinite dates and numbers are null.",
  ].join("\n");
}

/** Tag of the system endpoints; categories are in lower case and cannot equal it. */
const SYSTEM_TAG = "System";

/** A limited one with parameters reads rows. */
function kindOf({ limit }: DescribedRoute["access"], hasQuery: boolean): OperationKind {
  if (limit === "caller") return hasQuery ? "values" : "limited";
  if (limit === "document") return hasQuery ? "openapi" : "document";
  return "open";
}

/** The operation of a system route; none where the document does not describe it. */
function systemOperations(
  route: DescribedRoute,
  examples: SystemExamples,
): readonly (readonly [string, HttpMethod, Json])[] {
  const { path, method, access, operation } = route;
  if (operation === null) return [];
  const {
    operationId,
    summary,
    description,
    query = null,
    body = null,
    queryMethod,
    needsKey,
    responses,
    tier = access.tier ?? "tier0",
  } = operation;
  const isDocument = access.limit === "document";
  const headers = headersOf(isDocument ? DOCUMENT_HEADERS : []);
  const answers = responses.map(({ status, description, mediaType, schema }): [string, Json] => [
    String(status),
    schema === null
      ? { description, headers }
      : responseObject(description, mediaType, { schema: schema as JsonRecord }, headers),
  ]);
  const parts = operationObject({
    operationId,
    tags: [SYSTEM_TAG],
    summary,
    description,
    extensions: {
      "x-tier": tier,
      ...(queryMethod !== undefined && queryExtension(queryMethod)),
    },
    // A key must be valid even where none is required: public operations have the key errors too.
    security: needsKey === true ? KEY : securityOf(access.tier ?? "tier0"),
    parameters: query === null ? undefined : withExamples(parametersOf(query), examples[operationId]),
    requestBody:
      body === null
        ? undefined
        : { required: true, content: { "application/json": { schema: body as JsonRecord } } },
    responses: [
      ...answers,
      ...(isDocument ? [["304", SAME_DOCUMENT] as const] : []),
      ...errorReferences(kindOf(access, query !== null), ...(body === null ? [] : (["POST"] as const))),
    ],
  });
  return [[path, method, parts]];
}

import { type Tier, TIERS } from "@routewright/runtime/model";
import type { Json, JsonMap, JsonRecord } from "./json-text.js";
import { securityOf } from "./operation.js";
import { errorReferences, type OperationKind, ref, response } from "./responses.js";

/** Tag of the system endpoints; categories are in lower case and cannot equal it. */
export const SYSTEM_TAG = "System";

interface SystemEndpoint {
  readonly path: string;
  readonly method: "get" | "post";
  /** Begins with `system_`; those of data operations begin with their method. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tier: Tier;
  readonly kind: OperationKind;
  readonly parameters?: readonly JsonRecord[];
  readonly responses: Readonly<Record<string, JsonRecord>>;
}

const OPEN = { method: "get", tier: "tier0", kind: "open" } as const;

/** The system endpoints in the documented order (runtime/docs/system-endpoints.md). */
const SYSTEM_ENDPOINTS: readonly SystemEndpoint[] = [
  {
    ...OPEN,
    path: "/",
    operationId: "system_status",
    summary: "Service status",
    description: "Status of the service, and the path of its documentation.",
    responses: { 200: json("The service is online.", ref("schemas", "ServiceStatus")) },
  },
  {
    ...OPEN,
    path: "/health",
    operationId: "system_health",
    summary: "Readiness",
    description: "Readiness: 503 while the database is unreachable.",
    responses: {
      200: json("Ready.", ref("schemas", "Health")),
      503: json("The database is unreachable.", ref("schemas", "Health")),
    },
  },
  {
    ...OPEN,
    path: "/docs",
    operationId: "system_docs",
    summary: "Interactive documentation",
    description: "This document in Swagger UI.",
    responses: { 200: text("A page.", "text/html") },
  },
  {
    ...OPEN,
    path: "/redoc",
    operationId: "system_redoc",
    summary: "Alternative documentation",
    description: "This document in Redoc.",
    responses: { 200: text("A page.", "text/html") },
  },
  {
    ...OPEN,
    path: "/explore",
    operationId: "system_explore",
    summary: "Explorer",
    description: "The catalogue as a page: search, try an endpoint, draw a chart.",
    responses: { 200: text("A page.", "text/html") },
  },
  {
    ...OPEN,
    path: "/openapi.json",
    operationId: "system_openapi",
    summary: "OpenAPI description",
    description:
      "This document, OpenAPI 3.1. With a key it describes what the key may call; with `tier`, what that tier may call; " +
      "else everything.",
    kind: "openapi",
    parameters: [
      {
        name: "tier",
        in: "query",
        description: "Describe only endpoints that this tier may call.",
        schema: { type: "string", enum: TIERS },
      },
    ],
    responses: { 200: json("The description.", { type: "object", additionalProperties: true }) },
  },
  {
    ...OPEN,
    path: "/v1/system/catalogue",
    operationId: "system_catalogue",
    summary: "Catalogue",
    description:
      "The endpoints that the caller's key may call, with their columns, parameters, last dbt build, dbt test results and " +
      "lineage.",
    responses: { 200: json("The catalogue.", ref("schemas", "Catalogue")) },
  },
  {
    ...OPEN,
    path: "/v1/system/usage",
    operationId: "system_usage",
    summary: "The caller's limits and use",
    description: "Limits and use of the caller's own key, or limits of a caller without one.",
    kind: "limited",
    responses: { 200: json("Limits and use.", ref("schemas", "Usage")) },
  },
  {
    path: "/metrics",
    method: "get",
    operationId: "system_metrics",
    summary: "Metrics",
    description:
      "Metrics for Prometheus. Loopback callers need no key; METRICS_PUBLIC=true opens them to all callers.",
    tier: "tier3",
    kind: "metrics",
    responses: { 200: text("Metrics in the Prometheus text format.", "text/plain") },
  },
  {
    path: "/v1/system/manifest/refresh",
    method: "post",
    operationId: "system_manifest_refresh",
    summary: "Refresh the manifest",
    description:
      "Reads the manifest now and updates the endpoints. A manifest that cannot be read changes nothing.",
    tier: "tier3",
    kind: "limited",
    responses: { 200: json("The result of the refresh.", ref("schemas", "Refresh")) },
  },
];

const SUMS = ["requests", "refused", "errors", "rows", "bytes"];

/** Schemas of the system endpoints (runtime/docs/system-endpoints.md). */
export const SYSTEM_SCHEMAS: JsonRecord = {
  ServiceStatus: {
    type: "object",
    properties: {
      status: { type: "string", enum: ["online"] },
      service: { type: "string", description: "Title of the API." },
      docs: { type: "string", description: "Path of the interactive documentation." },
    },
    required: ["status", "service", "docs"],
  },
  Health: {
    type: "object",
    properties: {
      status: { type: "string", enum: ["ok", "unavailable"] },
      database_connected: { type: "boolean" },
      detail: { type: "string", description: "What is degraded; absent when everything works." },
    },
    required: ["status", "database_connected"],
  },
  Usage: {
    type: "object",
    properties: {
      user: { type: ["string", "null"], description: "Null without a key." },
      tier: { type: "string", enum: TIERS },
      org: { type: ["string", "null"] },
      expires: { type: ["string", "null"], format: "date-time", description: "When the key expires." },
      allowed: {
        type: ["array", "null"],
        items: { type: "string" },
        description: "Categories and paths that the key is limited to.",
      },
      limits: record({
        requests_per_window: { type: "integer" },
        window_seconds: { type: "integer" },
        query_timeout_ms: { type: ["integer", "null"] },
        stream_timeout_ms: { type: ["integer", "null"] },
      }),
      window: record({
        requests: { type: "integer" },
        remaining: { type: "integer" },
        resets_at: { type: "string", format: "date-time" },
      }),
      days: {
        type: ["array", "null"],
        description: "The last 30 days with requests; null without a key, or where usage is not recorded.",
        items: record({
          day: { type: "string", format: "date", description: "In UTC." },
          ...Object.fromEntries(SUMS.map((name) => [name, { type: "integer" }])),
        }),
      },
    },
    required: ["user", "tier", "org", "expires", "allowed", "limits", "window", "days"],
  },
  Catalogue: {
    type: "object",
    properties: {
      title: { type: "string", description: "Title of the API." },
      tier: { type: "string", enum: TIERS, description: "The caller's." },
      endpoints: listOf(
        {
          path: { type: "string" },
          model: { type: "string", description: "The dbt model." },
          category: { type: "string" },
          tier: { type: "string", enum: TIERS },
          description: { type: "string" },
          columns: listOf(
            { name: { type: "string" }, type: { type: ["string", "null"] }, description: { type: "string" } },
            "In the order of the rows' members.",
          ),
          parameters: {
            type: ["array", "null"],
            items: { type: "object" },
            description: "Null where the endpoint takes none.",
          },
          deprecation_date: { type: ["string", "null"], description: "When the endpoint may be removed." },
          data_as_of: { type: ["string", "null"], description: "As in `X-Data-As-Of`." },
          last_build: {
            type: ["object", "null"],
            properties: { completed_at: { type: "string" }, rows: { type: ["integer", "null"] } },
            description: "The model's last dbt build and the rows that it wrote.",
          },
          tests: {
            type: ["object", "null"],
            properties: {
              passed: { type: "integer" },
              warned: { type: "integer" },
              failed: { type: "integer" },
              unknown: { type: "integer" },
            },
            description: "The model's dbt tests by their last result.",
          },
        },
        "The endpoints that the caller may call.",
      ),
      locked: {
        type: "object",
        additionalProperties: { type: "integer" },
        description: "Number of further endpoints per higher tier.",
      },
      lineage: {
        type: ["array", "null"],
        items: { type: "object" },
        description: "The upstream nodes of the endpoints' models, by name.",
      },
    },
    required: ["title", "tier", "endpoints", "locked", "lineage"],
  },
  Refresh: {
    type: "object",
    properties: {
      status: { type: "string", enum: ["reloaded", "unchanged", "error"] },
      models: { type: "integer", description: "Models in the manifest." },
      endpoints: { type: "integer", description: "Endpoints served." },
      added: paths("New paths."),
      removed: paths("Removed paths."),
      changed: paths("Paths of changed endpoints."),
      skipped: {
        type: "array",
        description: "Published models without an endpoint, with the reasons.",
        items: {
          type: "object",
          properties: { model: { type: "string" }, errors: { type: "array", items: { type: "string" } } },
          required: ["model", "errors"],
        },
      },
      manifest_hash: { type: "string", description: "SHA-256 of the active manifest." },
      loaded_at: { type: "string", format: "date-time", description: "When it was loaded." },
      detail: { type: "string", description: "With `error`: why nothing changed." },
    },
    required: ["status", "models", "endpoints"],
  },
};

/** Schema of a list of objects with at least these properties. */
function listOf(properties: JsonRecord, description: string): JsonRecord {
  return {
    type: "array",
    description,
    items: record(properties),
  };
}

function record(properties: JsonRecord): JsonRecord {
  return { type: "object", properties, required: Object.keys(properties) };
}

function paths(description: string): JsonRecord {
  return { type: "array", items: { type: "string" }, description };
}

/** The path items of the system endpoints. */
export function systemPaths(): JsonMap {
  return new Map(
    SYSTEM_ENDPOINTS.map((endpoint) => [endpoint.path, { [endpoint.method]: systemOperation(endpoint) }]),
  );
}

/** A key must be valid even where none is required: public operations have the key errors too. */
function systemOperation({
  operationId,
  summary,
  description,
  tier,
  kind,
  parameters,
  responses,
}: SystemEndpoint): JsonRecord {
  const all = [...Object.entries<Json>(responses), ...errorReferences(kind)];
  return {
    operationId,
    tags: [SYSTEM_TAG],
    summary,
    description,
    "x-tier": tier,
    security: securityOf(kind === "limited" ? tier : "tier0"),
    ...(parameters && { parameters }),
    responses: new Map(all.sort(([a], [b]) => Number(a) - Number(b))),
  };
}

function json(description: string, schema: JsonRecord): JsonRecord {
  return response(description, "application/json", { schema });
}

function text(description: string, mediaType: string): JsonRecord {
  return response(description, mediaType, { schema: { type: "string" } });
}

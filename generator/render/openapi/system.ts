import type { Tier } from "@routewright/runtime/model";
import type { Json, JsonMap, JsonRecord } from "./json-text.js";
import { securityOf } from "./operation.js";
import { errorReferences, type OperationKind, ref, response } from "./responses.js";

/** Tag of the endpoints that serve no rows; a category is lower-cased and cannot be equal to it. */
export const SYSTEM_TAG = "System";

interface SystemEndpoint {
  readonly path: string;
  readonly method: "get" | "post";
  /** In a form that no data operation has: those begin with their method. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tier: Tier;
  readonly kind: OperationKind;
  readonly responses: Readonly<Record<string, JsonRecord>>;
}

const OPEN = { method: "get", tier: "tier0", kind: "open" } as const;

/** The system endpoints in the documented order (runtime/README.md, System endpoints). */
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
    description: "This description in Swagger UI.",
    responses: { 200: text("A page.", "text/html") },
  },
  {
    ...OPEN,
    path: "/redoc",
    operationId: "system_redoc",
    summary: "Alternative documentation",
    description: "This description in Redoc.",
    responses: { 200: text("A page.", "text/html") },
  },
  {
    ...OPEN,
    path: "/openapi.json",
    operationId: "system_openapi",
    summary: "OpenAPI description",
    description: "This description itself, OpenAPI 3.1.",
    responses: { 200: json("The description.", { type: "object", additionalProperties: true }) },
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
      "Re-reads the manifest at once and rebuilds the endpoints. One that cannot be read changes nothing.",
    tier: "tier3",
    kind: "refresh",
    responses: { 200: json("The result of the refresh.", ref("schemas", "Refresh")) },
  },
];

/** Bodies of the system endpoints (runtime/README.md, System endpoints). */
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
  Refresh: {
    type: "object",
    properties: {
      status: { type: "string", enum: ["reloaded", "unchanged", "error"] },
      models: { type: "integer", description: "Models in the manifest." },
      endpoints: { type: "integer", description: "Endpoints in service." },
      added: paths("Paths that are new."),
      removed: paths("Paths that are gone."),
      changed: paths("Paths whose endpoint changed."),
      skipped: {
        type: "array",
        description: "Published models without an endpoint, and why.",
        items: {
          type: "object",
          properties: { model: { type: "string" }, errors: { type: "array", items: { type: "string" } } },
          required: ["model", "errors"],
        },
      },
      manifest_hash: { type: "string", description: "SHA-256 of the manifest in service." },
      loaded_at: { type: "string", format: "date-time", description: "When it was loaded." },
      detail: { type: "string", description: "With `error`: why the endpoints stay as they are." },
    },
    required: ["status", "models", "endpoints"],
  },
};

function paths(description: string): JsonRecord {
  return { type: "array", items: { type: "string" }, description };
}

/** The path items of the system endpoints. */
export function systemPaths(): JsonMap {
  return new Map(
    SYSTEM_ENDPOINTS.map((endpoint) => [endpoint.path, { [endpoint.method]: systemOperation(endpoint) }]),
  );
}

/** A key that is sent must be known even where none is needed. */
function systemOperation({
  operationId,
  summary,
  description,
  tier,
  kind,
  responses,
}: SystemEndpoint): JsonRecord {
  const all = [...Object.entries<Json>(responses), ...errorReferences(kind)];
  return {
    operationId,
    tags: [SYSTEM_TAG],
    summary,
    description,
    "x-tier": tier,
    security: securityOf(kind === "refresh" ? tier : "tier0"),
    responses: new Map(all.sort(([a], [b]) => Number(a) - Number(b))),
  };
}

function json(description: string, schema: JsonRecord): JsonRecord {
  return response(description, "application/json", { schema });
}

function text(description: string, mediaType: string): JsonRecord {
  return response(description, mediaType, { schema: { type: "string" } });
}

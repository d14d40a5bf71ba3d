import type { Tier } from "@routewright/runtime/model";
import type { Json, JsonMap, JsonRecord } from "./json-text.js";
import { securityOf } from "./operation.js";
import type { Operation } from "./refusals.js";
import { ref, refusalReferences, response } from "./responses.js";

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
  readonly refusals: Operation;
  readonly responses: Readonly<Record<string, JsonRecord>>;
}

const OPEN = { method: "get", tier: "tier0", refusals: { kind: "open" } } as const;

/** The system endpoints of data-api.md §4.2 and decisions.md §A, in that order. */
const SYSTEM_ENDPOINTS: readonly SystemEndpoint[] = [
  {
    ...OPEN,
    path: "/",
    operationId: "system_status",
    summary: "Service status",
    description: "Tells that the service is there, and where its documentation is.",
    responses: { 200: json("The service is there.", ref("schemas", "ServiceStatus")) },
  },
  {
    ...OPEN,
    path: "/health",
    operationId: "system_health",
    summary: "Readiness",
    description: "Whether the service is ready: it is not while the database is unreachable.",
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
      "Metrics for Prometheus. Loopback callers need no key; METRICS_PUBLIC=true opens it to everybody.",
    tier: "tier3",
    refusals: { kind: "metrics" },
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
    refusals: { kind: "refresh" },
    responses: { 200: json("What came of it.", ref("schemas", "Refresh")) },
  },
];

/** Bodies of the system endpoints (decisions.md §A, Responses). */
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
      detail: { type: "string", description: "What does not work as it should; absent when all does." },
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
      changed: paths("Paths whose endpoint is not what it was."),
      skipped: {
        type: "array",
        description: "Published models that have no endpoint, and why.",
        items: {
          type: "object",
          properties: { model: { type: "string" }, errors: { type: "array", items: { type: "string" } } },
          required: ["model", "errors"],
        },
      },
      manifest_hash: { type: "string", description: "SHA-256 of the manifest in service." },
      loaded_at: { type: "string", format: "date-time", description: "When it came into service." },
      detail: { type: "string", description: "With `error`: why the endpoints stay as they are." },
    },
    required: ["status", "models", "endpoints"],
  },
};

function paths(description: string): JsonRecord {
  return { type: "array", items: { type: "string" }, description };
}

/** The system endpoints as operations that can refuse. */
export const SYSTEM_OPERATIONS: readonly Operation[] = SYSTEM_ENDPOINTS.map(({ refusals }) => refusals);

/** The path items of the system endpoints. */
export function systemPaths(): JsonMap {
  return new Map(
    SYSTEM_ENDPOINTS.map((endpoint) => [endpoint.path, { [endpoint.method]: systemOperation(endpoint) }]),
  );
}

/** Where no key is needed, one that is sent must be known all the same (data-api.md §5). */
function systemOperation({
  operationId,
  summary,
  description,
  tier,
  refusals,
  responses,
}: SystemEndpoint): JsonRecord {
  const answers = [...Object.entries<Json>(responses), ...refusalReferences(refusals)];
  return {
    operationId,
    tags: [SYSTEM_TAG],
    summary,
    description,
    "x-tier": tier,
    security: securityOf(refusals.kind === "refresh" ? tier : "tier0"),
    responses: new Map(answers.sort(([a], [b]) => Number(a) - Number(b))),
  };
}

function json(description: string, schema: JsonRecord): JsonRecord {
  return response(description, "application/json", { schema });
}

function text(description: string, mediaType: string): JsonRecord {
  return response(description, mediaType, { schema: { type: "string" } });
}

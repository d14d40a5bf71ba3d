import type { Tier } from "@routewright/runtime/model";
import type { Json, JsonMap, JsonRecord } from "./json-text.js";
import { securityOf } from "./operation.js";
import type { Operation } from "./refusals.js";
import { ref, refusalReferences, response } from "./responses.js";

/** Tag of the endpoints that serve no rows; a category is lower-cased and cannot be equal to it. */
export const SYSTEM_TAG = "System";

interface SystemEndpoint {
  readonly path: string;
  /** In a form that no data operation has: those begin with their method. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tier: Tier;
  readonly refusals: Operation;
  readonly responses: Readonly<Record<string, JsonRecord>>;
}

const OPEN = { tier: "tier0", refusals: { kind: "open" } } as const;

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
    operationId: "system_metrics",
    summary: "Metrics",
    description:
      "Metrics for Prometheus. Loopback callers need no key; METRICS_PUBLIC=true opens it to everybody.",
    tier: "tier3",
    refusals: { kind: "metrics" },
    responses: { 200: text("Metrics in the Prometheus text format.", "text/plain") },
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
    },
    required: ["status", "database_connected"],
  },
};

/** The system endpoints as operations that can refuse. */
export const SYSTEM_OPERATIONS: readonly Operation[] = SYSTEM_ENDPOINTS.map(({ refusals }) => refusals);

/** The path items of the system endpoints. */
export function systemPaths(): JsonMap {
  return new Map(SYSTEM_ENDPOINTS.map((endpoint) => [endpoint.path, { get: systemOperation(endpoint) }]));
}

/** A key is never needed, but one that is sent must be known (data-api.md §5). */
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
    security: securityOf("tier0"),
    responses: new Map(answers.sort(([a], [b]) => Number(a) - Number(b))),
  };
}

function json(description: string, schema: JsonRecord): JsonRecord {
  return response(description, "application/json", { schema });
}

function text(description: string, mediaType: string): JsonRecord {
  return response(description, mediaType, { schema: { type: "string" } });
}

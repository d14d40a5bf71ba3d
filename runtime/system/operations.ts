/**
 * What the handlers of `endpoints.ts` answer, as the OpenAPI document describes it: names and schemas alone, which
 * the generator imports.
 */
import { type Tier, TIERS } from "../model/tier.js";
import type { Schema } from "./schemas.js";

interface Answer {
  readonly description: string;
  readonly mediaType: string;
  readonly schema: Schema;
}

const OPEN = { method: "get", tier: "tier0", kind: "open" } as const;

/** A system endpoint as the OpenAPI document describes it. */
export interface SystemEndpoint {
  readonly path: string;
  readonly method: "get" | "post";
  /** Begins with `system_`; those of data operations begin with their method. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tier: Tier;
  readonly kind: "open" | "openapi" | "limited" | "metrics";
  readonly parameters?: readonly Schema[];
  /** By status, those without an error. */
  readonly responses: Readonly<Record<string, Answer>>;
}

/** The system endpoints in the documented order (runtime/docs/system-endpoints.md). */
export const SYSTEM_ENDPOINTS: readonly SystemEndpoint[] = [
  {
    ...OPEN,
    path: "/",
    operationId: "system_status",
    summary: "Service status",
    description: "Status of the service, and the path of its documentation.",
    responses: { 200: json("The service is online.", named("ServiceStatus")) },
  },
  {
    ...OPEN,
    path: "/health",
    operationId: "system_health",
    summary: "Readiness",
    description: "Readiness: 503 while the database is unreachable.",
    responses: {
      200: json("Ready.", named("Health")),
      503: json("The database is unreachable.", named("Health")),
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
    responses: { 200: json("The catalogue.", named("Catalogue")) },
  },
  {
    ...OPEN,
    path: "/v1/system/usage",
    operationId: "system_usage",
    summary: "The caller's limits and use",
    description: "Limits and use of the caller's own key, or limits of a caller without one.",
    kind: "limited",
    responses: { 200: json("Limits and use.", named("Usage")) },
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
    responses: { 200: json("The result of the refresh.", named("Refresh")) },
  },
];

function json(description: string, schema: Schema): Answer {
  return { description, mediaType: "application/json", schema };
}

function named(schema: string): Schema {
  return { $ref: `#/components/schemas/${schema}` };
}

function text(description: string, mediaType: string): Answer {
  return { description, mediaType, schema: { type: "string" } };
}

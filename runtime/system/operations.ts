import { CATALOGUE, CATALOGUE_SCHEMA } from "./catalogue.js";
import { OPENAPI, PAGES } from "./documents.js";
import { HEALTH, HEALTH_SCHEMA, METRICS, STATUS, STATUS_SCHEMA } from "./monitoring.js";
import type { Schema, SystemEndpoint } from "./operation.js";
import { REFRESH, REFRESH_SCHEMA } from "./refresh.js";
import { USAGE, USAGE_SCHEMA } from "./usage.js";

/** The system endpoints in the documented order (runtime/docs/system-endpoints.md). */
export const SYSTEM_ENDPOINTS: readonly SystemEndpoint[] = [
  ...[STATUS, HEALTH, ...PAGES, OPENAPI],
  ...[CATALOGUE, USAGE, METRICS, REFRESH],
];

/** Schemas of their responses. */
export const SYSTEM_SCHEMAS: Readonly<Record<string, Schema>> = {
  ServiceStatus: STATUS_SCHEMA,
  Health: HEALTH_SCHEMA,
  Usage: USAGE_SCHEMA,
  Catalogue: CATALOGUE_SCHEMA,
  Refresh: REFRESH_SCHEMA,
};

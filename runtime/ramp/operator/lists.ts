import type { ProjectId } from "../database/id.js";
import type { DatabaseRow, RampDatabase } from "../database/ramp-database.js";

/** What `routewright ramp … list` shows, oldest first; `$1` is the project. */
const LISTS = {
  organizations: `SELECT id AS "organizationId", name FROM ramp.organizations ORDER BY created_at, id`,
  projects: `SELECT id AS "projectId", organization_id AS "organizationId", name, client_id AS "clientId", token_ttl_seconds AS "tokenTtlSeconds",
      max_token_seconds AS "maxTokenSeconds", page_origins AS "pageOrigins", redirect_origins AS "redirectOrigins",
      wallet_domains AS "walletDomains", amount_tolerance AS "amountTolerance"
    FROM ramp.projects ORDER BY created_at, id`,
  secrets: `SELECT id AS "secretId", created_at AS "createdAt", revoked_at AS "revokedAt" FROM ramp.client_secrets
    WHERE project_id = $1 ORDER BY created_at, id`,
  keys: `SELECT kid, created_at AS "createdAt", retired_at AS "retiredAt", revoked_at AS "revokedAt" FROM ramp.signing_keys ORDER BY created_at, kid`,
  connections: `SELECT c.id AS "providerId", c.code, v.url, v.key_id AS "keyId", c.enabled FROM ramp.provider_connections c
    JOIN ramp.provider_credentials v ON v.project_id = c.project_id AND v.connection_id = c.id AND v.version = c.version
    WHERE c.project_id = $1 ORDER BY c.code`,
  identityProviders: `SELECT id AS "identityProviderId", issuer, audiences, clock_skew_seconds AS "clockSkewSeconds"
    FROM ramp.identity_providers WHERE project_id = $1 ORDER BY created_at, id`,
  webhooks: `SELECT id AS "webhookId", url, concurrency, event_types AS "eventTypes", created_at AS "createdAt",
      (SELECT count(*)::int FROM ramp.webhook_deliveries d
       WHERE d.project_id = e.project_id AND d.endpoint_id = e.id AND d.status = 'PENDING') AS pending
    FROM ramp.webhook_endpoints e WHERE project_id = $1 AND deleted_at IS NULL ORDER BY created_at, id`,
} as const;

export function listRecords(
  database: RampDatabase,
  name: keyof typeof LISTS,
  projectId?: ProjectId,
): Promise<DatabaseRow[]> {
  return database.operator.rows(LISTS[name], projectId === undefined ? [] : [projectId]);
}

import { createHash } from "node:crypto";
import { isUuid, type ProjectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";
import { newSecret } from "@routewright/runtime/internal/webhooks/signed-event.js";
import { runIdempotent } from "../core/idempotency.js";
import {
  isRampError,
  jsonResponse,
  type RampAnswer,
  type RampError,
  rampError,
} from "../core/ramp-errors.js";
import type { Vault } from "../core/vault.js";

/** The secrets that sign the deliveries of an endpoint: its own, and former ones until their ends. */

export interface NewWebhook {
  readonly webhookId: string;
  readonly secret: string;
}

export function noWebhook(webhookId: string): string {
  return `The project has no webhook ${webhookId}: \`routewright ramp webhook list\` shows its webhooks.`;
}

interface SecretRotation {
  readonly webhookId: string;
  /** How long the former secret signs deliveries too. */
  readonly overlapHours: number;
}

/**
 * Gives an endpoint a new secret, shown once. Until the overlap ends, deliveries carry a signature of each secret.
 * @param key repeated with it, the rotation gives the same secret, as over HTTP
 */
export async function rotateWebhookSecret(
  database: RampDatabase,
  vault: Vault,
  projectId: ProjectId,
  { key = null, ...rotation }: SecretRotation & { readonly key?: string | null | undefined },
): Promise<Outcome<NewWebhook>> {
  const { webhookId: resourceId, overlapHours } = rotation;
  if (!isUuid(resourceId)) return failed(noWebhook(resourceId));
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([resourceId.toLowerCase(), overlapHours]))
    .digest();
  const begin = async (tx: ProjectTransaction): Promise<RampAnswer> => {
    const rotated = await rotateSecret(tx, vault, rotation);
    return isRampError(rotated) ? rotated : jsonResponse(200, rotated);
  };
  const caller = { projectId, isKeyUsed: null, requireAuthorized: () => undefined };
  const answer = await runIdempotent(
    { database, vault },
    caller,
    key === null ? null : { key, fingerprint },
    {
      prepare: () => Promise.resolve({ resourceId, begin }),
    },
  );
  if (!isRampError(answer)) return succeeded(JSON.parse(answer.body) as NewWebhook);
  return failed(answer.error === "NOT_FOUND" ? noWebhook(resourceId) : answer.message);
}

/** Each adds a signature to the headers of deliveries, which receivers limit: to 8 KB in many servers. */
const MOST_FORMER_SECRETS = 20;

export async function rotateSecret(
  tx: ProjectTransaction,
  vault: Vault,
  { webhookId, overlapHours }: SecretRotation,
): Promise<NewWebhook | RampError> {
  const id = webhookId.toLowerCase();
  const locked = await tx.row<{ secret: Buffer }>(
    `SELECT secret FROM ramp.webhook_endpoints WHERE ${OF_PROJECT} AND id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
    [id],
  );
  if (locked === null) return rampError("NOT_FOUND");
  const former = await tx.row<{ count: number }>(
    `SELECT count(*)::int AS count FROM ramp.webhook_secrets WHERE ${OF_PROJECT} AND endpoint_id = $1 AND signs_until > now()`,
    [id],
  );
  if (overlapHours > 0 && (former?.count ?? 0) >= MOST_FORMER_SECRETS) return rampError("TOO_MANY_SECRETS");
  tx.write(
    `INSERT INTO ramp.webhook_secrets (endpoint_id, secret, signs_until)
     SELECT $1, $2, now() + make_interval(hours => $3) WHERE $3 > 0`,
    [id, locked.secret, overlapHours],
  );
  const secret = newSecret();
  tx.update("webhook_endpoints", id, { secret: vault.seal(`webhook:${tx.projectId}:${id}`, secret) });
  return { webhookId: id, secret };
}

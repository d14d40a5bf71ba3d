import { Webhook } from "standardwebhooks";
import { failpoint } from "../failpoints.js";
import { namesPrivateAddress, publicLookup, sendRequest } from "../outbound-http.js";
import type { ProjectId } from "../database/id.js";
import type { RampContext } from "../context.js";
import type { ProjectTransaction } from "../database/ramp-database.js";

/** How long a receiver may take (decisions.md §B, Events). */
const TIMEOUT_MS = 30_000;
/** While an attempt is under way nobody else makes one; a crashed one is made again after this. */
const ATTEMPT_SECONDS = 60;
/** Pauses before the next attempts, in seconds; then the delivery is exhausted. */
export const RETRY_SECONDS = [60, 5 * 60, 30 * 60, 2 * 60 * 60, 24 * 60 * 60] as const;

interface Delivery {
  readonly id: string;
  readonly attempts: number;
  readonly event_id: string;
  readonly body: string;
  readonly endpoint_id: string;
  readonly url: string;
  readonly secret: Buffer;
  readonly allow_private: boolean;
}

/** The purpose under which an endpoint's secret is sealed. */
export function webhookPurpose(projectId: ProjectId, endpointId: string): string {
  return `webhook:${projectId}:${endpointId}`;
}

/** Makes one attempt to deliver an event, if one is still to be made (Standard Webhooks). */
export async function deliver(ramp: RampContext, projectId: ProjectId, deliveryId: string): Promise<void> {
  const delivery = await ramp.database.inProject(projectId, (tx) => take(tx, deliveryId));
  if (delivery === null) return;
  const result = await attempt(ramp, projectId, delivery);
  await failpoint("delivery.answered");
  await ramp.database.inProject(projectId, (tx) => record(tx, delivery, result));
}

/** Takes a delivery for one attempt; null when it is done, or somebody is at it. */
async function take(tx: ProjectTransaction, id: string): Promise<Delivery | null> {
  const taken = await tx.row(
    `UPDATE ramp.webhook_deliveries SET attempts = attempts + 1, attempted_until = now() + interval '${String(ATTEMPT_SECONDS)} s',
       attempt_at = now() + interval '${String(ATTEMPT_SECONDS)} s', updated_at = now()
     WHERE id = $1 AND status = 'PENDING' AND (attempted_until IS NULL OR attempted_until < now()) RETURNING id`,
    [id],
  );
  if (taken === null) return null;
  return tx.row<Delivery>(
    `SELECT d.id, d.attempts, d.event_id, v.body, d.endpoint_id, e.url, e.secret, e.allow_private
     FROM ramp.webhook_deliveries d
     JOIN ramp.events v ON v.project_id = d.project_id AND v.id = d.event_id
     JOIN ramp.webhook_endpoints e ON e.project_id = d.project_id AND e.id = d.endpoint_id WHERE d.id = $1`,
    [id],
  );
}

/** Status of the receiver's answer, or what went wrong before there was one. */
async function attempt(
  { vault, now }: RampContext,
  projectId: ProjectId,
  delivery: Delivery,
): Promise<string> {
  const url = new URL(delivery.url);
  if (!delivery.allow_private && namesPrivateAddress(url)) return "private address";
  const at = now();
  const secret = vault.open(webhookPurpose(projectId, delivery.endpoint_id), delivery.secret);
  const result = await sendRequest({
    url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "Routewright-Ramp",
      "webhook-id": delivery.event_id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign(delivery.event_id, at, delivery.body),
    },
    body: delivery.body,
    timeoutMs: TIMEOUT_MS,
    ...(delivery.allow_private ? {} : { lookup: publicLookup }),
  });
  return result.kind === "answered" ? String(result.status) : result.reason;
}

async function record(tx: ProjectTransaction, { id, attempts }: Delivery, result: string): Promise<void> {
  const isDelivered = /^2\d\d$/.test(result);
  const pause = RETRY_SECONDS[attempts - 1];
  const status = isDelivered ? "DELIVERED" : pause === undefined ? "EXHAUSTED" : "PENDING";
  await tx.rows(
    `UPDATE ramp.webhook_deliveries SET status = $2, last_result = $3, attempted_until = NULL, updated_at = now(),
       attempt_at = CASE WHEN $2 = 'PENDING' THEN now() + make_interval(secs => $4) END
     WHERE id = $1 AND status = 'PENDING' AND attempts = $5`,
    [id, status, result.slice(0, 200), pause ?? 0, attempts],
  );
}

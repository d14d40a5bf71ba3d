import { Webhook } from "standardwebhooks";
import { ClaimWorker } from "../core/claim-worker.js";
import type { CoreContext } from "../core/context.js";
import { projectId } from "../database/id.js";
import { type OperatorTransaction, type ProjectTransaction } from "../database/transaction.js";
import { failpoint } from "../core/failpoints.js";
import {
  namesPrivateAddress,
  type NotificationResult,
  publicLookup,
  sendNotification,
} from "../../http/outbound-http.js";
import { recordEvent } from "./events.js";

/** How events are delivered (runtime/ramp/docs/webhooks.md). */
export const DEFAULT_DELIVERY_POLICY = {
  timeoutMs: 10_000,
  /** Deliveries of this process at a time. */
  maxInFlight: 500,
};
export type DeliveryPolicy = Readonly<typeof DEFAULT_DELIVERY_POLICY>;

/** How often due deliveries are looked for. */
const POLL_MS = 250;
/** A claim expires this long after the attempt's time limit; then another process repeats the attempt. */
const CLAIM_GRACE_SECONDS = 10;
const HOUR = 60 * 60;
/** Pauses before the next attempts, in seconds; then the delivery is exhausted. */
export const RETRY_SECONDS = [60, 5 * 60, 30 * 60, 2 * HOUR, 8 * HOUR, 24 * HOUR, 36 * HOUR] as const;

const LONGEST_PAUSE_SECONDS = 36 * HOUR;

interface Delivery {
  readonly project_id: string;
  readonly id: string;
  readonly attempts: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly body: string;
  readonly endpoint_id: string;
  readonly url: string;
  readonly secret: Buffer;
  /** Null once the overlap of a rotation is over. */
  readonly previous_secret: Buffer | null;
  readonly allow_private: boolean;
}

type DeliveryContext = Pick<CoreContext, "database" | "vault" | "log" | "now">;

/** Delivers due events, apart from the processing of intents, which no receiver may delay. */
export function startDeliveryWorker(ramp: DeliveryContext, policy: DeliveryPolicy): ClaimWorker<Delivery> {
  const { database, log } = ramp;
  return new ClaimWorker<Delivery>(
    {
      name: "webhook deliveries",
      pollMs: POLL_MS,
      maxInFlight: policy.maxInFlight,
      claim: (capacity) => database.asOperator((tx) => claimDue(tx, policy, capacity)),
      async run(delivery) {
        const result = await send(ramp, policy, delivery);
        // After a crash here the attempt is repeated: an event is delivered at least once.
        await failpoint("delivery.answered");
        const status = await database.asOperator((tx) => recordAttempt(tx, delivery, result));
        if (result.kind === "failed" && result.reason === PRIVATE) logUndeliverable(ramp, delivery);
        if (status === "EXHAUSTED") await notifyExhausted(ramp, delivery, result);
      },
    },
    log,
  );
}

/**
 * Claims due deliveries. The endpoints are locked first and counted in a second statement, which sees what other processes
 * have committed: so the limit per endpoint holds over all of them. Deliveries that another transaction has locked (a replay)
 * are left for the next time: waiting for them would stop the others, or end in a deadlock.
 */
async function claimDue(
  tx: OperatorTransaction,
  { timeoutMs }: DeliveryPolicy,
  capacity: number,
): Promise<readonly Delivery[]> {
  const endpoints = await tx.rows<{ id: string }>(
    `SELECT e.id FROM ramp.webhook_endpoints e WHERE e.enabled AND EXISTS (
       SELECT FROM ramp.webhook_deliveries d WHERE d.project_id = e.project_id AND d.endpoint_id = e.id
         AND d.status = 'PENDING' AND d.attempt_at <= now())
     FOR NO KEY UPDATE OF e SKIP LOCKED`,
  );
  if (endpoints.length === 0) return [];
  const until = `now() + interval '${String(Math.ceil(timeoutMs / 1000) + CLAIM_GRACE_SECONDS)} s'`;
  return tx.rows<Delivery>(
    `WITH endpoint AS (
       SELECT e.*, e.concurrency - (
         SELECT count(*) FROM ramp.webhook_deliveries b
         WHERE b.project_id = e.project_id AND b.endpoint_id = e.id AND b.attempted_until > now()) AS free
       FROM ramp.webhook_endpoints e WHERE e.id = ANY($1::uuid[])),
     due AS (
       SELECT d.project_id, d.id FROM endpoint e CROSS JOIN LATERAL (
         SELECT d.project_id, d.id, d.attempt_at FROM ramp.webhook_deliveries d
         WHERE d.project_id = e.project_id AND d.endpoint_id = e.id AND d.status = 'PENDING' AND d.attempt_at <= now()
         ORDER BY d.attempt_at, d.event_id LIMIT GREATEST(e.free, 0) FOR NO KEY UPDATE SKIP LOCKED) d
       ORDER BY d.attempt_at LIMIT $2)
     UPDATE ramp.webhook_deliveries d SET attempts = attempts + 1, attempted_until = ${until}, attempt_at = ${until}, updated_at = now()
     FROM due, ramp.events v, endpoint e
     WHERE d.project_id = due.project_id AND d.id = due.id AND v.project_id = d.project_id AND v.id = d.event_id
       AND e.project_id = d.project_id AND e.id = d.endpoint_id
     RETURNING d.project_id, d.id, d.attempts, d.event_id, v.type AS event_type, v.body, d.endpoint_id, e.url, e.secret, e.allow_private,
       CASE WHEN e.previous_secret_until > now() THEN e.previous_secret END AS previous_secret`,
    [endpoints.map(({ id }) => id), capacity],
  );
}

/** The result where an address is private and must not be: `publicLookup` gives it for names. */
const PRIVATE = "EPRIVATE";

/** Makes one attempt. Does not reject when the receiver fails. */
async function send(
  { vault, now }: DeliveryContext,
  { timeoutMs }: DeliveryPolicy,
  delivery: Delivery,
): Promise<NotificationResult> {
  const url = new URL(delivery.url);
  if (!delivery.allow_private && namesPrivateAddress(url)) return { kind: "failed", reason: PRIVATE };
  const at = now();
  const purpose = `webhook:${delivery.project_id}:${delivery.endpoint_id}` as const;
  const secrets = [delivery.secret, delivery.previous_secret].filter((secret) => secret !== null);
  const sign = (sealed: Buffer): string =>
    new Webhook(vault.open(purpose, sealed)).sign(delivery.event_id, at, delivery.body);
  return sendNotification({
    url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "Routewright-Ramp",
      "webhook-id": delivery.event_id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": secrets.map(sign).join(" "),
    },
    body: delivery.body,
    timeoutMs,
    ...(delivery.allow_private ? {} : { lookup: publicLookup }),
  });
}

/** Status of a receiver that is gone for good: its endpoint is switched off. */
const GONE = 410;

async function recordAttempt(
  tx: OperatorTransaction,
  { project_id, id, attempts, endpoint_id }: Delivery,
  result: NotificationResult,
): Promise<string | null> {
  const isGone = result.kind === "answered" && result.status === GONE;
  const isDelivered = result.kind === "answered" && result.status >= 200 && result.status < 300;
  const pause = isGone ? undefined : RETRY_SECONDS[attempts - 1];
  const status = isDelivered ? "DELIVERED" : pause === undefined ? "EXHAUSTED" : "PENDING";
  // Writes nothing if the claim has expired and another process has begun the next attempt.
  const recorded = await tx.row(
    `UPDATE ramp.webhook_deliveries SET status = $3, last_result = $4, attempted_until = NULL, updated_at = now(),
       attempt_at = CASE WHEN $3 = 'PENDING' THEN now() + make_interval(secs => $5) END
     WHERE project_id = $1 AND id = $2 AND status = 'PENDING' AND attempts = $6 RETURNING id`,
    [project_id, id, status, lastResultOf(result), pauseBefore(result, pause ?? 0, tx.now), attempts],
  );
  if (isGone) await switchOff(tx, project_id, endpoint_id);
  return recorded && status;
}

/** An endpoint that is switched off gets no events; what waits for it is given up, and can be replayed once it is on again. */
async function switchOff(tx: OperatorTransaction, projectId: string, endpointId: string): Promise<void> {
  await tx.rows(
    "UPDATE ramp.webhook_endpoints SET enabled = false, gone_at = now() WHERE project_id = $1 AND id = $2 AND enabled",
    [projectId, endpointId],
  );
  giveUpDeliveries(tx, projectId, endpointId, "endpoint switched off");
}

/** Gives up what waits for an endpoint. */
export function giveUpDeliveries(
  tx: Pick<ProjectTransaction, "write">,
  projectId: string,
  endpointId: string,
  why: string,
): void {
  tx.write(
    `UPDATE ramp.webhook_deliveries SET status = 'EXHAUSTED', attempt_at = NULL, last_result = $3, updated_at = now()
     WHERE project_id = $1 AND endpoint_id = $2 AND status = 'PENDING'`,
    [projectId, endpointId, why],
  );
}

/** Seconds until the next attempt: by the schedule, or later where the receiver asks for it with `Retry-After` (RFC 9110 §10.2.3). */
function pauseBefore(result: NotificationResult, scheduled: number, now: Date): number {
  const text = (result.kind === "answered" && result.retryAfter) || "";
  const asked = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now.getTime()) / 1000;
  return Math.max(scheduled, Math.min(Number.isNaN(asked) ? 0 : asked, LONGEST_PAUSE_SECONDS));
}

function lastResultOf(result: NotificationResult): string {
  return (result.kind === "answered" ? String(result.status) : result.reason).slice(0, 200);
}

function logUndeliverable({ log }: DeliveryContext, { project_id, endpoint_id }: Delivery): void {
  log.warn(
    { project: project_id, webhook: endpoint_id },
    "webhook leads to a private address and gets nothing: change its URL, or allow private addresses",
  );
}

/** Sends an event to the other endpoints of the project; an event of this type that is given up causes no further one. */
async function notifyExhausted(
  { database, log }: DeliveryContext,
  { project_id, event_id: eventId, event_type, endpoint_id: webhookId }: Delivery,
  result: NotificationResult,
): Promise<void> {
  const lastResult = lastResultOf(result);
  log.error(
    { project: project_id, webhook: webhookId, event: eventId, lastResult },
    "webhook delivery given up",
  );
  if (event_type === "webhook.exhausted") return;
  await database.inProject(projectId(project_id), (tx) => {
    const data = { webhookId, eventId, lastResult };
    recordEvent(tx, { type: "webhook.exhausted", intentId: null, data, except: webhookId });
    return Promise.resolve();
  });
}

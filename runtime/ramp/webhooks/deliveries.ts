import { Webhook } from "standardwebhooks";
import { ClaimWorker } from "@routewright/runtime/internal/core/http/claim-worker.js";
import type { CoreContext } from "../core/context.js";
import { projectId } from "../database/id.js";
import type { OperatorTransaction, ProjectTransaction } from "../database/transaction.js";
import { failpoint } from "../core/failpoints.js";
import {
  type NotificationResult,
  sendNotification,
} from "@routewright/runtime/internal/core/http/outbound-http.js";
import { namesPrivateAddress, PRIVATE } from "@routewright/runtime/internal/webhooks/public-names.js";
import { claimDue, type Delivery } from "./claim-deliveries.js";
import { recordEvent } from "./events.js";
import { ProjectShares } from "./project-shares.js";

/** How events are delivered (runtime/ramp/docs/webhooks.md). */
export const DEFAULT_DELIVERY_POLICY = {
  timeoutMs: 10_000,
  /** Deliveries of this process at a time. */
  maxInFlight: 500,
  /** Of one project at a time, and how many begin in a second. */
  perProject: 100,
  perProjectSecond: 200,
};
export type DeliveryPolicy = Readonly<typeof DEFAULT_DELIVERY_POLICY>;

/** How often due deliveries are looked for. */
const POLL_MS = 250;
const HOUR = 60 * 60;
/** Pauses before the next attempts, in seconds; then the delivery is exhausted. */
export const RETRY_SECONDS = [60, 5 * 60, 30 * 60, 2 * HOUR, 8 * HOUR, 24 * HOUR, 36 * HOUR] as const;

const LONGEST_PAUSE_SECONDS = 36 * HOUR;

type DeliveryContext = Pick<CoreContext, "database" | "vault" | "log" | "names" | "now">;

/** Delivers due events, apart from the processing of intents, which no receiver may delay. */
export function startDeliveryWorker(ramp: DeliveryContext, policy: DeliveryPolicy): ClaimWorker<Delivery> {
  const { database, log } = ramp;
  const shares = new ProjectShares(policy);
  return new ClaimWorker<Delivery>(
    {
      name: "webhook deliveries",
      pollMs: POLL_MS,
      maxInFlight: policy.maxInFlight,
      async claim(capacity) {
        const claimed = await database.asOperator((tx) => claimDue(tx, policy, shares, capacity));
        for (const { project_id } of claimed) shares.begin(project_id);
        return claimed;
      },
      async run(delivery) {
        const sending = send(ramp, policy, delivery);
        const result = await sending.finally(() => shares.end(delivery.project_id));
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

/** Makes one attempt. Does not reject when the receiver fails. */
async function send(
  { vault, names, now }: DeliveryContext,
  { timeoutMs }: DeliveryPolicy,
  delivery: Delivery,
): Promise<NotificationResult> {
  const url = new URL(delivery.url);
  if (!delivery.allow_private && namesPrivateAddress(url)) return { kind: "failed", reason: PRIVATE };
  const at = now();
  const purpose = `webhook:${delivery.project_id}:${delivery.endpoint_id}` as const;
  const secrets = [delivery.secret, ...delivery.former_secrets];
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
    ...(delivery.allow_private ? {} : { lookup: names.lookupFor(delivery.project_id) }),
  });
}

/** Status of a receiver that is gone for good: its endpoint is switched off. */
const GONE = 410;

/** Locks the endpoint before the delivery, as a request that switches it off does. */
async function recordAttempt(
  tx: OperatorTransaction,
  { project_id, id, attempts, endpoint_id, url }: Delivery,
  result: NotificationResult,
): Promise<string | null> {
  const isGone = result.kind === "answered" && result.status === GONE;
  const isDelivered = result.kind === "answered" && result.status >= 200 && result.status < 300;
  const pause = isGone ? undefined : RETRY_SECONDS[attempts - 1];
  const status = isDelivered ? "DELIVERED" : pause === undefined ? "EXHAUSTED" : "PENDING";
  const lastResult = lastResultOf(result);
  const noted = [project_id, endpoint_id, lastResult];
  if (isGone) tx.write(SWITCH_OFF, noted);
  else tx.write(NOTE_RESULT, [...noted, url]);
  // Writes nothing if the claim has expired and another process has begun the next attempt.
  const recorded = await tx.row(
    `UPDATE ramp.webhook_deliveries SET status = $3, last_result = $4, attempted_until = NULL, updated_at = now(),
       attempt_at = CASE WHEN $3 = 'PENDING' THEN now() + make_interval(secs => $5) END
     WHERE project_id = $1 AND id = $2 AND status = 'PENDING' AND attempts = $6 RETURNING id`,
    [project_id, id, status, lastResult, pauseBefore(result, pause ?? 0, tx.now), attempts],
  );
  if (isGone) giveUpDeliveries(tx, project_id, endpoint_id, "endpoint switched off");
  return recorded && status;
}

/** Another result is noted at once, the time of the same one every 10 s: 1,000 deliveries would write the row 1,000 times. */
const NOTE_RESULT = `UPDATE ramp.webhook_endpoints SET last_result = $3, last_result_at = now() WHERE project_id = $1 AND id = $2 AND url = $4
  AND (last_result IS DISTINCT FROM $3 OR last_result_at < now() - interval '10 s')`;

/** An endpoint that is switched off gets no events; what waits for it is given up, and can be replayed once it is on again. */
const SWITCH_OFF = `UPDATE ramp.webhook_endpoints SET enabled = false, gone_at = now(), last_result = $3, last_result_at = now()
  WHERE project_id = $1 AND id = $2 AND enabled`;

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

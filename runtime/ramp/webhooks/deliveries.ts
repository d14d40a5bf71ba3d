import { ClaimWorker } from "@routewright/runtime/internal/core/http/claim-worker.js";
import type { CoreContext } from "../core/context.js";
import { projectId } from "../database/id.js";
import type { OperatorTransaction, ProjectTransaction } from "../database/transaction.js";
import { failpoint } from "../core/failpoints.js";
import type { NotificationResult } from "@routewright/runtime/internal/core/http/outbound-http.js";
import { PRIVATE } from "@routewright/runtime/internal/webhooks/public-names.js";
import { type AfterAttempt, afterAttempt } from "@routewright/runtime/internal/webhooks/retry-schedule.js";
import { sendSigned } from "@routewright/runtime/internal/webhooks/signed-event.js";
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
        const after = await database.asOperator(async (tx) => {
          const after = afterAttempt(result, delivery.attempts, tx.now);
          return (await recordAttempt(tx, delivery, after)) ? after : null;
        });
        if (result.kind === "failed" && result.reason === PRIVATE) logUndeliverable(ramp, delivery);
        if (after?.status === "EXHAUSTED") await notifyExhausted(ramp, delivery, after);
      },
    },
    log,
  );
}

/** Makes one attempt. Does not reject when the receiver fails. */
async function send(
  { vault, names, now }: DeliveryContext,
  { timeoutMs }: DeliveryPolicy,
  { project_id: tenant, endpoint_id, url, event_id: id, body, allow_private, ...delivery }: Delivery,
): Promise<NotificationResult> {
  const purpose = `webhook:${tenant}:${endpoint_id}` as const;
  const secrets = [delivery.secret, ...delivery.former_secrets].map((sealed) => vault.open(purpose, sealed));
  const event = { url: new URL(url), id, body, secrets, allowPrivate: allow_private, tenant };
  return sendSigned({ ...event, sender: "Routewright-Ramp", timeoutMs }, names, now());
}

/** Locks the endpoint before the delivery, as a request that switches it off does. */
async function recordAttempt(
  tx: OperatorTransaction,
  { project_id, id, attempts, endpoint_id, url }: Delivery,
  { status, pause, lastResult, isGone }: AfterAttempt,
): Promise<boolean> {
  const noted = [project_id, endpoint_id, lastResult];
  if (isGone) tx.write(SWITCH_OFF, noted);
  else tx.write(NOTE_RESULT, [...noted, url]);
  // Writes nothing if the claim has expired and another process has begun the next attempt.
  const recorded = await tx.row(
    `UPDATE ramp.webhook_deliveries SET status = $3, last_result = $4, attempted_until = NULL, updated_at = now(),
       attempt_at = CASE WHEN $3 = 'PENDING' THEN now() + make_interval(secs => $5) END
     WHERE project_id = $1 AND id = $2 AND status = 'PENDING' AND attempts = $6 RETURNING id`,
    [project_id, id, status, lastResult, pause, attempts],
  );
  if (isGone) giveUpDeliveries(tx, project_id, endpoint_id, "endpoint switched off");
  return recorded !== null;
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
  { lastResult }: AfterAttempt,
): Promise<void> {
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

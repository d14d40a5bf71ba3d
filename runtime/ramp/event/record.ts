import type { ProjectTransaction } from "../store/database.js";
import { newId } from "../store/id.js";

/** What a project's webhooks are told (decisions.md §B, Events). */
export const EVENT_TYPES = ["intent.status_changed", "compliance.updated", "transaction.updated"] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/**
 * Writes an event, its deliveries and their jobs in the transaction of the state that it tells of: none is sent for what is
 * rolled back, none is lost for what is committed.
 */
export async function recordEvent(
  tx: ProjectTransaction,
  type: EventType,
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data: { projectId: tx.projectId, ...data } });
  await tx.rows(
    `WITH event AS (INSERT INTO ramp.events (id, type, body) VALUES ($1, $2, $3) RETURNING id),
     delivery AS (
       INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at)
       SELECT event.id, e.id, now() + interval '${String(HANDOVER_SECONDS)} s' FROM event, ramp.webhook_endpoints e WHERE e.enabled
       RETURNING id)
     SELECT ramp.enqueue('deliver', json_build_object('projectId', $4::text, 'deliveryId', id), 'deliver:' || id) FROM delivery`,
    [newId(), type, body, tx.projectId],
  );
}

/** The queue delivers at once; what it has not taken up by then, the sweep hands it again (work/sweep.ts). */
const HANDOVER_SECONDS = 10;

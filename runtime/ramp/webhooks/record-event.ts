import { ofProject, type ProjectTransaction } from "../database/ramp-database.js";
import { newId } from "../database/id.js";

/** The types of events (runtime/ramp/docs/webhooks.md). */
export const EVENT_TYPES = [
  "intent.status_changed",
  "compliance.updated",
  "transaction.updated",
  "intent.attention",
  "webhook.exhausted",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

interface NewEvent {
  readonly type: EventType;
  readonly intentId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  /** An endpoint that does not get it. */
  readonly except?: string;
}

/**
 * Writes an event and its deliveries in the transaction of the state change that it reports: none is sent for a rollback, none
 * is lost for a commit. The database gives the sequence number within the body.
 */
export function recordEvent(tx: ProjectTransaction, { type, intentId, data, except }: NewEvent): void {
  const head = JSON.stringify({ type, timestamp: tx.now.toISOString() }).slice(0, -1);
  const tail = JSON.stringify({ projectId: tx.projectId, ...data });
  tx.write(
    `WITH event AS (
       INSERT INTO ramp.events (id, type, intent_id, sequence, body) SELECT $1, $2::text, $5::uuid, n, $3 || n || $4
       FROM nextval('ramp.event_sequence') AS n RETURNING id)
     INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at)
     SELECT event.id, e.id, now() FROM event, ramp.webhook_endpoints e WHERE ${ofProject("e")} AND e.enabled
       AND (e.event_types IS NULL OR $2 = ANY (e.event_types)) AND ($6::uuid IS NULL OR e.id <> $6)`,
    [newId(), type, `${head},"sequence":`, `,"data":${tail}}`, intentId, except ?? null],
  );
}

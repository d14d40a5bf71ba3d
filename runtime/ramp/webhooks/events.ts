import type { ProjectTransaction } from "../database/ramp-database.js";
import { newId } from "../database/id.js";

/** What a project's webhooks are told (decisions.md §B, Events). */
export const EVENT_TYPES = [
  "intent.status_changed",
  "compliance.updated",
  "transaction.updated",
  "intent.attention",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

interface NewEvent {
  readonly id: string;
  readonly type: EventType;
  readonly body: string;
}

/** The events of transactions that have not ended yet. */
const pending = new WeakMap<ProjectTransaction, NewEvent[]>();

/**
 * Writes an event, its deliveries and their jobs in the transaction of the state that it tells of: none is sent for what is
 * rolled back, none is lost for what is committed. All events of a transaction are one statement at its end.
 */
export function recordEvent(
  tx: ProjectTransaction,
  type: EventType,
  data: Readonly<Record<string, unknown>>,
): void {
  const timestamp = new Date().toISOString();
  const event = {
    id: newId(),
    type,
    body: JSON.stringify({ type, timestamp, data: { projectId: tx.projectId, ...data } }),
  };
  const events = pending.get(tx);
  if (events) return void events.push(event);
  const first = [event];
  pending.set(tx, first);
  tx.beforeCommit(() => writeEvents(tx, first));
}

/** The queue delivers at once; what it has not taken up by then, the sweep hands it again (work/sweep.ts). */
const HANDOVER_SECONDS = 10;

function writeEvents(tx: ProjectTransaction, events: readonly NewEvent[]): void {
  tx.write(
    `WITH event AS (
       INSERT INTO ramp.events (id, type, body) SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[]) RETURNING id),
     delivery AS (
       INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at)
       SELECT event.id, e.id, now() + interval '${String(HANDOVER_SECONDS)} s' FROM event, ramp.webhook_endpoints e WHERE e.enabled
       RETURNING id)
     SELECT ramp.enqueue('deliver', json_build_object('projectId', $4::text, 'deliveryId', id), 'deliver:' || id) FROM delivery`,
    [
      events.map(({ id }) => id),
      events.map(({ type }) => type),
      events.map(({ body }) => body),
      tx.projectId,
    ],
  );
}

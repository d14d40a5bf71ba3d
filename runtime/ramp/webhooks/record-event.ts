import { Type } from "@sinclair/typebox";
import { Refund } from "../providers/protocol.js";
import { ofProject, type ProjectTransaction } from "../database/ramp-database.js";
import { newId } from "../database/id.js";

const Id = Type.String({ format: "uuid" });
const Reason = Type.Union([Type.String(), Type.Null()]);
const COMMON = { projectId: Id, intentId: Id, customerId: Id };

/** The types of events and their data (runtime/ramp/README.md, Webhooks). */
export const EVENTS = {
  "intent.status_changed": Type.Object({
    ...COMMON,
    type: Type.String(),
    status: Type.String(),
    previousStatus: Type.Union([Type.String(), Type.Null()]),
    failureReason: Reason,
  }),
  "compliance.updated": Type.Object({ ...COMMON, requirementCode: Type.String(), status: Type.String() }),
  "transaction.updated": Type.Object({
    ...COMMON,
    transactionId: Id,
    status: Type.String(),
    failureReason: Reason,
    refunds: Type.Optional(Type.Array(Refund)),
  }),
  "intent.attention": Type.Object({ ...COMMON, reason: Reason }),
} as const;

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

export type EventType = keyof typeof EVENTS;

/**
 * Writes an event and its deliveries in the transaction of the state change that it reports: none is sent for a rollback, none
 * is lost for a commit. The database gives the sequence number within the body.
 */
export function recordEvent(
  tx: ProjectTransaction,
  type: EventType,
  data: Readonly<Record<string, unknown>>,
): void {
  const head = JSON.stringify({ type, timestamp: new Date().toISOString() }).slice(0, -1);
  const tail = JSON.stringify({ projectId: tx.projectId, ...data });
  tx.write(
    `WITH event AS (
       INSERT INTO ramp.events (id, type, intent_id, sequence, body) SELECT $1, $2, $5::uuid, n, $3 || n || $4
       FROM nextval('ramp.event_sequence') AS n RETURNING id)
     INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at)
     SELECT event.id, e.id, now() FROM event, ramp.webhook_endpoints e WHERE ${ofProject("e")} AND e.enabled`,
    [newId(), type, `${head},"sequence":`, `,"data":${tail}}`, data["intentId"] ?? null],
  );
}

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
    refund: Type.Optional(Refund),
  }),
  "intent.attention": Type.Object({ ...COMMON, reason: Reason }),
} as const;

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

export type EventType = keyof typeof EVENTS;

interface NewEvent {
  readonly id: string;
  readonly type: EventType;
  /** The body around its sequence number, which the database gives. */
  readonly head: string;
  readonly tail: string;
}

/** Events of open transactions. */
const pending = new WeakMap<ProjectTransaction, NewEvent[]>();

/**
 * Writes an event and its deliveries in the transaction of the state change that it reports: none is sent for a rollback, none
 * is lost for a commit. All events of a transaction are one statement at its end.
 */
export function recordEvent(
  tx: ProjectTransaction,
  type: EventType,
  data: Readonly<Record<string, unknown>>,
): void {
  const head = JSON.stringify({ type, timestamp: new Date().toISOString() }).slice(0, -1);
  const tail = JSON.stringify({ projectId: tx.projectId, ...data });
  const event = { id: newId(), type, head: `${head},"sequence":`, tail: `,"data":${tail}}` };
  const events = pending.get(tx);
  if (events) return void events.push(event);
  const first = [event];
  pending.set(tx, first);
  tx.beforeCommit(() => writeEvents(tx, first));
}

function writeEvents(tx: ProjectTransaction, events: readonly NewEvent[]): void {
  tx.write(
    `WITH event AS (
       INSERT INTO ramp.events (id, type, sequence, body) SELECT e.id, e.type, e.sequence, e.head || e.sequence || e.tail
       FROM (SELECT *, nextval('ramp.event_sequence') AS sequence
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS u (id, type, head, tail)) e RETURNING id)
     INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at)
     SELECT event.id, e.id, now() FROM event, ramp.webhook_endpoints e WHERE ${ofProject("e")} AND e.enabled`,
    [
      events.map(({ id }) => id),
      events.map(({ type }) => type),
      events.map(({ head }) => head),
      events.map(({ tail }) => tail),
    ],
  );
}

import { Type } from "@sinclair/typebox";
import { Fees, Receipt, Refund } from "../providers/protocol.js";
import { ofProject, type ProjectTransaction } from "../database/ramp-database.js";
import { newId } from "../database/id.js";

const Id = Type.String({ format: "uuid" });
const Reason = Type.Union([Type.String(), Type.Null()]);

/** The intent as events carry it: without account details. */
const EventIntent = Type.Object({
  type: Type.String(),
  status: Type.String(),
  srcAmount: Type.String(),
  srcCurrencyCode: Type.String(),
  destCurrencyCode: Type.String(),
  rail: Type.String(),
  provider: Type.String(),
  livemode: Type.Boolean({ description: "false: the provider moves no real money" }),
  price: Type.Optional(Type.Object({ destAmount: Type.String(), exchangeRate: Type.String(), fees: Fees })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  transaction: Type.Optional(
    Type.Object({
      id: Id,
      status: Type.String(),
      providerReference: Type.Optional(Type.String()),
      receipt: Type.Optional(Receipt),
      refunds: Type.Optional(Type.Array(Refund)),
    }),
  ),
});

const COMMON = { projectId: Id, intentId: Id, customerId: Id, intent: EventIntent };
const ABOUT_WEBHOOK = { projectId: Id, webhookId: Id };

/** The types of events and their data (runtime/ramp/docs/webhooks.md). */
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
  "intent.attention": Type.Object({ ...COMMON, reasons: Type.Array(Type.String()) }),
  "webhook.exhausted": Type.Object({ ...ABOUT_WEBHOOK, eventId: Id, lastResult: Type.String() }),
  "webhook.test": Type.Object(ABOUT_WEBHOOK),
} as const;

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

export type EventType = keyof typeof EVENTS;

interface NewEvent {
  readonly type: EventType;
  readonly intentId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  /** The endpoint that alone gets it, whatever types it has. */
  readonly only?: string;
  /** An endpoint that does not get it. */
  readonly except?: string;
}

/**
 * Writes an event and its deliveries in the transaction of the state change that it reports: none is sent for a rollback, none
 * is lost for a commit. The database gives the sequence number within the body.
 */
export function recordEvent(tx: ProjectTransaction, { type, intentId, data, only, except }: NewEvent): void {
  const head = JSON.stringify({ type, timestamp: tx.now.toISOString() }).slice(0, -1);
  const tail = JSON.stringify({ projectId: tx.projectId, ...data });
  tx.write(
    `WITH event AS (
       INSERT INTO ramp.events (id, type, intent_id, sequence, body) SELECT $1, $2::text, $5::uuid, n, $3 || n || $4
       FROM nextval('ramp.event_sequence') AS n RETURNING id)
     INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at)
     SELECT event.id, e.id, now() FROM event, ramp.webhook_endpoints e WHERE ${ofProject("e")} AND e.enabled
       AND CASE WHEN $6::uuid IS NULL THEN e.event_types IS NULL OR $2 = ANY (e.event_types) ELSE e.id = $6 END
       AND ($7::uuid IS NULL OR e.id <> $7)`,
    [newId(), type, `${head},"sequence":`, `,"data":${tail}}`, intentId, only ?? null, except ?? null],
  );
}

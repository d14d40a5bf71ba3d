import { type TSchema, Type } from "@sinclair/typebox";
import { literals, Nullable } from "../core/json-schema.js";
import {
  ATTENTION_REASONS,
  INTENT_STATUSES,
  REQUIREMENT_STATUSES,
  TRANSACTION_STATUSES,
} from "../intents/intent.js";
import { Fees, Receipt, Refund } from "../providers/protocol.js";
import type { EventType } from "../webhooks/events.js";

/** The data of events, for the OpenAPI document (runtime/ramp/docs/webhooks.md); a test compares them with those that are sent. */

const Id = Type.String({ format: "uuid" });
const FailureReason = Nullable(Type.String({ description: "Why it failed; null: it did not." }));

/** The intent as events carry it: after the change, without account details. */
const EventIntent = Type.Object({
  type: literals(["ONRAMP", "OFFRAMP"]),
  status: literals(INTENT_STATUSES),
  srcAmount: Type.String(),
  srcCurrencyCode: Type.String(),
  destCurrencyCode: Type.String(),
  rail: Type.String(),
  provider: Type.String(),
  providerId: Id,
  providerCode: Type.String(),
  livemode: Type.Boolean({ description: "false: the provider moves no real money." }),
  price: Type.Optional(Type.Object({ destAmount: Type.String(), exchangeRate: Type.String(), fees: Fees })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  transaction: Type.Optional(
    Type.Object({
      id: Id,
      status: literals(TRANSACTION_STATUSES),
      providerReference: Type.Optional(Type.String()),
      paymentDueAt: Type.Optional(Type.String({ format: "date-time" })),
      receipt: Type.Optional(Receipt),
      refunds: Type.Optional(Type.Array(Refund)),
    }),
  ),
});

const OF_INTENT = { projectId: Id, intentId: Id, customerId: Id, intent: EventIntent };
const OF_WEBHOOK = { projectId: Id, webhookId: Id };

export const EVENT_DATA: Readonly<Record<EventType, TSchema>> = {
  "intent.status_changed": Type.Object({
    ...OF_INTENT,
    type: literals(["ONRAMP", "OFFRAMP"]),
    status: literals(INTENT_STATUSES),
    previousStatus: Nullable(literals(INTENT_STATUSES)),
    failureReason: FailureReason,
  }),
  "compliance.updated": Type.Object({
    ...OF_INTENT,
    requirementCode: Type.String(),
    status: literals(REQUIREMENT_STATUSES),
    reason: Type.Optional(Type.String({ description: "Why it failed, or what more the provider needs." })),
  }),
  "transaction.updated": Type.Object({
    ...OF_INTENT,
    transactionId: Id,
    status: literals(TRANSACTION_STATUSES),
    failureReason: FailureReason,
    refunds: Type.Optional(Type.Array(Refund)),
  }),
  "intent.attention": Type.Object({ ...OF_INTENT, reasons: Type.Array(literals(ATTENTION_REASONS)) }),
  "webhook.exhausted": Type.Object({ ...OF_WEBHOOK, eventId: Id, lastResult: Type.String() }),
  "webhook.test": Type.Object(OF_WEBHOOK),
};

import {
  anything,
  described,
  flag,
  listOf,
  mapOf,
  oneOf,
  openRecord,
  orNull,
  type Schema,
  text,
  textOf,
  time,
} from "@routewright/runtime/internal/core/model/schema.js";
import { NewPriceView } from "./price-schemas.js";
import { ATTENTION_REASONS, INTENT_STATUSES, TRANSACTION_STATUSES } from "../intents/intent.js";
import { DEPOSIT_ACCOUNT_STATUSES } from "../intents/deposit-account.js";
import { DepositView } from "./deposit-account-schemas.js";
import { REFUND_STATUSES } from "../intents/refund-transitions.js";
import { REQUIREMENT_STATUSES } from "../intents/requirement.js";
import { REFUSAL_REASONS } from "../providers/refusal-reasons.js";
import { Fees, Receipt, Refund } from "../providers/protocol.js";
import type { EventType } from "../webhooks/events.js";

/** The data of events, for the OpenAPI document (runtime/ramp/docs/webhooks.md); a test compares them with those that are sent. */

const Id = textOf({ format: "uuid" });
const FailureReason = orNull(described("Why it failed; null: it did not.", text));

const RefusalView = openRecord({ reason: oneOf(REFUSAL_REASONS), message: text });

const PriceTerms = openRecord({ destAmount: text, exchangeRate: text, fees: Fees });

/** The intent as events carry it: after the change, without account details. */
const EventIntent = openRecord(
  {
    type: oneOf(["ONRAMP", "OFFRAMP"]),
    status: oneOf(INTENT_STATUSES),
    srcAmount: text,
    srcCurrencyCode: text,
    destCurrencyCode: text,
    rail: text,
    provider: text,
    providerId: Id,
    providerCode: text,
    livemode: described("false: the provider moves no real money.", flag),
  },
  {
    price: PriceTerms,
    newPrice: NewPriceView,
    refusal: RefusalView,
    metadata: mapOf(anything),
    deposit: DepositView,
    transaction: openRecord(
      { id: Id, status: oneOf(TRANSACTION_STATUSES) },
      { providerReference: text, paymentDueAt: time, receipt: Receipt, refunds: listOf(Refund) },
    ),
  },
);

const OF_INTENT = { projectId: Id, intentId: Id, customerId: Id, intent: EventIntent };
const OF_WEBHOOK = { projectId: Id, webhookId: Id };

export const EVENT_DATA: Readonly<Record<EventType, Schema>> = {
  "intent.status_changed": openRecord({
    ...OF_INTENT,
    type: oneOf(["ONRAMP", "OFFRAMP"]),
    status: oneOf(INTENT_STATUSES),
    previousStatus: orNull(oneOf(INTENT_STATUSES)),
    failureReason: FailureReason,
  }),
  "compliance.updated": openRecord(
    { ...OF_INTENT, requirementCode: text, status: oneOf(REQUIREMENT_STATUSES) },
    { reason: described("Why it failed, or what more the provider needs.", text) },
  ),
  "transaction.updated": openRecord(
    { ...OF_INTENT, transactionId: Id, status: oneOf(TRANSACTION_STATUSES), failureReason: FailureReason },
    { refunds: listOf(Refund) },
  ),
  "refund.updated": openRecord(
    {
      ...OF_INTENT,
      refundId: Id,
      status: oneOf(REFUND_STATUSES),
      origin: oneOf(["REQUEST", "PROVIDER"]),
      amount: text,
      reason: text,
    },
    { providerRefundId: described("The provider's own id of it.", text), failureReason: text },
  ),
  "intent.refused": openRecord({ ...OF_INTENT, reason: oneOf(REFUSAL_REASONS), message: text }),
  "intent.price_offered": openRecord({ ...OF_INTENT, newPrice: NewPriceView }),
  "intent.price_changed": openRecord({ ...OF_INTENT, price: PriceTerms, previousPrice: PriceTerms }),
  "intent.attention": openRecord({ ...OF_INTENT, reasons: listOf(oneOf(ATTENTION_REASONS)) }),
  "deposit_account.updated": openRecord(
    {
      ...{ projectId: Id, depositAccountId: Id, customerId: Id, status: oneOf(DEPOSIT_ACCOUNT_STATUSES) },
      ...{ type: oneOf(["ONRAMP", "OFFRAMP"]), srcCurrencyCode: text, destCurrencyCode: text, rail: text },
      ...{ provider: text, providerId: Id, providerCode: text },
      livemode: described("false: the provider moves no real money.", flag),
    },
    { failureReason: described("Why the provider refused it.", text) },
  ),
  "webhook.exhausted": openRecord({ ...OF_WEBHOOK, eventId: Id, lastResult: text }),
  "webhook.test": openRecord(OF_WEBHOOK),
};

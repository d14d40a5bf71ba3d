import { type EventType, recordEvent } from "../webhooks/events.js";
import type { ProjectTransaction } from "../database/transaction.js";
import type { Price } from "../providers/quotes.js";
import type { Intent, NewPrice, Transaction } from "./intent.js";

/** The event of a change of an intent. */
export function recordChange(
  tx: ProjectTransaction,
  type: EventType,
  intent: Intent,
  change: Readonly<Record<string, unknown>>,
): void {
  const { id, customerId } = intent;
  const data = { intentId: id, customerId, ...change, intent: eventIntent(intent) };
  recordEvent(tx, { type, intentId: id, data });
}

function eventIntent(intent: Intent): object {
  const { type, status, srcAmount, src, dest, rail, provider, providerCode, connectionId } = intent;
  const { sandbox, price, newPrice, refusal, metadata, transaction } = intent;
  return {
    type,
    status,
    srcAmount,
    srcCurrencyCode: src.currencyCode,
    destCurrencyCode: dest.currencyCode,
    rail,
    provider,
    providerId: connectionId,
    providerCode,
    livemode: !sandbox,
    ...(price && { price: priceTerms(price) }),
    ...(newPrice && { newPrice: newPriceView(intent, newPrice) }),
    ...(refusal && { refusal: { reason: refusal.reason, message: refusal.message } }),
    ...(metadata && { metadata }),
    ...(intent.depositAccountId !== null && { deposit: depositView(intent) }),
    ...(transaction && { transaction: eventTransaction(transaction) }),
  };
}

function eventTransaction(transaction: Transaction): object {
  const { id, status, providerReference, paymentDueAt, receipt, refunds } = transaction;
  return {
    id,
    status,
    ...(providerReference !== null && { providerReference }),
    ...(paymentDueAt && { paymentDueAt }),
    ...(receipt && { receipt }),
    ...(refunds.length > 0 && { refunds }),
  };
}

/** What is said of the payment to a deposit account that an intent is. */
export function depositView({ depositAccountId, depositId, depositReference, returnReason }: Intent) {
  return {
    depositAccountId: depositAccountId ?? "",
    id: depositId ?? "",
    ...(depositReference !== null && { reference: depositReference }),
    ...(returnReason !== null && { returnReason }),
  };
}

export function priceTerms({ destAmount, exchangeRate, fees }: Price): object {
  return { destAmount, exchangeRate, fees };
}

/** What is said of it: who gives it, how much the destination receives, and received by the price so far. */
export function newPriceView(
  intent: Pick<Intent, "price" | "acceptedAmount">,
  { quoteId, expiresAt, order: { provider, providerCode, connectionId: providerId, price } }: NewPrice,
) {
  const { destAmount, exchangeRate, fees, hasIndicativePrice } = price;
  const previousDestAmount = intent.price?.destAmount ?? intent.acceptedAmount ?? destAmount;
  const of = { provider, providerId, providerCode };
  return {
    quoteId,
    ...of,
    destAmount,
    previousDestAmount,
    exchangeRate,
    fees,
    hasIndicativePrice,
    expiresAt,
  };
}

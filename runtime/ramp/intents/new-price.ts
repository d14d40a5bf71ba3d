import { isDeepStrictEqual } from "node:util";
import { Amount } from "../accounts/amount.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import { newId } from "../database/id.js";
import type { ProjectTransaction } from "../database/transaction.js";
import type { HeldPrice, Price } from "../providers/quotes.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { bookPrice } from "./book.js";
import { intentClosed } from "./intent-closed.js";
import { type Intent, isOffered, isOver, isTerminal, type NewPrice, type PricedOrder } from "./intent.js";
import { executionOrderOf, type NextOrder, replaceOrder } from "./transitions.js";
import { newPriceView, priceTerms, recordChange } from "./intent-event.js";

/** A price in place of one that the provider no longer holds (runtime/ramp/docs/intents.md, New prices). */

/** How long a price that its provider does not hold waits to be accepted: a minute's prices are close. */
const UNHELD_OFFER_MS = 60_000;

/** The order at a price of the intent's own provider. */
export function orderAt(
  intent: Intent,
  { price, expiresAt }: HeldPrice,
  { callbackUrl }: ProviderConnection,
): PricedOrder {
  const { connectionId, connectionVersion, provider, providerCode, sandbox, rail } = intent;
  const heldUntil = expiresAt === null ? null : expiresAt.toISOString();
  return {
    connectionId,
    connectionVersion,
    provider,
    providerCode,
    sandbox,
    rail,
    callbackUrl,
    price,
    heldUntil,
  };
}

/** Takes a price that what was accepted allows; offers another one. */
export function applyPrice(tx: ProjectTransaction, intent: Intent, order: PricedOrder): Intent {
  return isWorse(order.price, intent) ? offerPrice(tx, intent, order) : takePrice(tx, intent, order);
}

/** Compared with the price that was accepted, so that renewals one after the other do not add up. */
export function isWorse({ destAmount }: Price, intent: Intent): boolean {
  const accepted = acceptedAmount(intent);
  if (accepted === null) return false;
  const least = Amount.of(accepted).lessPercent(intent.maxSlippage ?? "0");
  return Amount.of(destAmount).isLess(least);
}

function acceptedAmount({ acceptedAmount, price }: Intent): string | null {
  return acceptedAmount ?? price?.destAmount ?? null;
}

function takePrice(
  tx: ProjectTransaction,
  intent: Intent,
  order: PricedOrder,
  accepted = acceptedAmount(intent),
): Intent {
  const replaced =
    intent.status === "PENDING" ? replaceOrder(tx, intent, order) : replacePrice(tx, intent, order);
  return recordTaken(tx, replaced, { acceptedAmount: accepted, previous: intent.price });
}

/** Goes on with the next candidate that quotes nothing yet: the acceptance counts for the price that it will quote. */
export function takeUnpriced(tx: ProjectTransaction, intent: Intent, order: NextOrder): Intent {
  const replaced = replaceOrder(tx, intent, order);
  return recordTaken(tx, replaced, { acceptedAmount: acceptedAmount(intent), previous: null });
}

function recordTaken(
  tx: ProjectTransaction,
  replaced: Intent,
  { acceptedAmount, previous }: Pick<Intent, "acceptedAmount"> & { readonly previous: Price | null },
): Intent {
  const kept = { acceptedAmount, newPrice: null };
  tx.update("intents", replaced.id, kept);
  const after = { ...replaced, ...kept };
  if (previous === null || after.price === null) return after;
  const [price, previousPrice] = [priceTerms(after.price), priceTerms(previous)];
  if (!isDeepStrictEqual(price, previousPrice))
    recordChange(tx, "intent.price_changed", after, { price, previousPrice });
  return after;
}

/** The price of a payment that is to be made, or of an order that was refused for its price and is sent again under the same id. */
function replacePrice(
  tx: ProjectTransaction,
  intent: Intent,
  { price: offered, heldUntil }: PricedOrder,
): Intent {
  const price = heldUntil === null ? offered : { ...offered, expiresAt: heldUntil };
  const { transaction } = intent;
  const onboardingAttempt = intent.onboardingAttempt + 1;
  tx.update("intents", intent.id, { price, onboardingAttempt });
  const priced = { ...intent, price, onboardingAttempt, updatedAt: tx.now };
  if (transaction === null) return priced;
  const again = {
    orderBody: executionOrderOf(priced, transaction.id),
    orderAttempt: transaction.orderAttempt + 1,
  };
  tx.update("transactions", transaction.id, again);
  return bookPrice(tx, { ...priced, transaction: { ...transaction, ...again } }, intent.price);
}

/** In place of an earlier offer. */
function offerPrice(tx: ProjectTransaction, intent: Intent, order: PricedOrder): Intent {
  const expiresAt = order.heldUntil ?? new Date(tx.now.getTime() + UNHELD_OFFER_MS).toISOString();
  const newPrice: NewPrice = { quoteId: newId(), expiresAt, order };
  tx.update("intents", intent.id, { newPrice });
  const offered = { ...intent, newPrice, updatedAt: tx.now };
  recordChange(tx, "intent.price_offered", offered, { newPrice: newPriceView(offered, newPrice) });
  return offered;
}

/** Also where it was accepted, as after a lost answer. */
const NO_OFFER =
  "The intent has no `newPrice` of this id: it was accepted already, or another one has taken its place. Read the intent: `price` is the accepted one.";
const OFFER_EXPIRED =
  "The new price is no longer held. With `autoExecute` another one follows as `newPrice`; else repeat POST /v1/intent/{id}/transaction, which gets one.";

/** The customer, or the project, accepts the offered price. */
export function acceptPrice(tx: ProjectTransaction, intent: Intent, quoteId: string): Intent | RampError {
  const { newPrice, status } = intent;
  if (isTerminal(status) || isOver(intent)) return intentClosed(intent);
  if (newPrice === null || newPrice.quoteId !== quoteId.toLowerCase())
    return rampError("NOT_FOUND", {
      message: NO_OFFER,
      details: [{ path: "/quoteId", message: "is not the `newPrice`" }],
    });
  if (!isOffered(intent)) return rampError("QUOTE_EXPIRED", { message: OFFER_EXPIRED });
  return takePrice(tx, intent, newPrice.order, newPrice.order.price.destAmount);
}

import type { ProjectTransaction } from "../database/transaction.js";
import { fetchHeldPrice, fetchPrice } from "../providers/quotes.js";
import { type Intent, isOffered, isOver, type PricedOrder } from "./intent.js";
import type { IntentContext } from "./lease.js";
import { applyPrice, orderAt } from "./new-price.js";
import { createPayment, recordPrice } from "./transitions.js";

/**
 * The one way to a payment: for `POST /v1/intent/{id}/transaction`, the hosted page and `autoExecute`. An order that a restore lost is adopted
 * at the price that it was made at (apply-reply.ts).
 */

/** What a payment can be made at: the intent's price, another one, or the offered one once it is accepted. Null: the provider gives none now. */
export type Terms = "held" | "offered" | PricedOrder | null;

/** Asks the provider for a price where the intent has none that holds. No transaction is open. */
export async function termsOf(ramp: IntentContext, intent: Intent): Promise<Terms> {
  if (isOffered(intent)) return "offered";
  if (isPriceHeld(intent)) return "held";
  const connection = await ramp.providers.get(intent);
  // A price that the onboarding did not name is held only by providers that quote again.
  const held =
    intent.price === null
      ? await fetchPrice(ramp, connection, intent)
      : await fetchHeldPrice(ramp, connection, intent);
  return held && orderAt(intent, held, connection);
}

/** Whether a payment can be made: the checks are complete, and none is made yet. */
export function isPayable(intent: Intent): boolean {
  return intent.status === "PENDING_PAYMENT" && intent.transaction === null && !isOver(intent);
}

/** Whether the provider holds the price until the payment, or still does. */
export function isPriceHeld({ price, readAt }: Intent): boolean {
  return price !== null && (price.expiresAt === undefined || new Date(price.expiresAt) > readAt);
}

/** Makes the payment, or offers a price that is worse than what was accepted: then there is no transaction. Null: there is no price. */
export function makePayment(tx: ProjectTransaction, intent: Intent, terms: Terms): Intent | null {
  if (isOffered(intent)) return intent;
  if (intent.price !== null && isPriceHeld(intent)) return createPayment(tx, intent, intent.price);
  if (terms === null || typeof terms === "string") return null;
  if (intent.price === null && intent.acceptedAmount === null)
    return createPayment(tx, recordPrice(tx, intent, terms.price), terms.price);
  const priced = applyPrice(tx, intent, terms);
  return isOffered(priced) ? priced : createPayment(tx, priced, terms.price);
}

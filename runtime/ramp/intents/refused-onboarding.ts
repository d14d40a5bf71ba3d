import Big from "big.js";
import type { ProjectTransaction } from "../database/transaction.js";
import { isRampError } from "../core/ramp-errors.js";
import type { RefusedReply } from "../providers/provider.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { fetchHeldPrice, type Price } from "../providers/quotes.js";
import { nextCandidate } from "./choose-provider.js";
import type { Intent } from "./intent.js";
import type { IntentContext } from "./lease.js";
import { refusalOf, REFUSALS } from "./refusal.js";
import { moveIntent, recordOnboardingRefusal, replaceOrder } from "./transitions.js";

/** What follows from the refusal of an onboarding (refusal.ts). */

type Apply = (tx: ProjectTransaction, intent: Intent) => Intent;

/** A refusal, recorded with what follows at once. */
export interface AfterRefusal {
  readonly apply: Apply;
  /** Whether the next step is due now; else after a pause. */
  readonly isDue: boolean;
}

export function afterRefusal(refused: Intent, reply: RefusedReply): AfterRefusal {
  const refusal = refusalOf(reply);
  const { then } = REFUSALS[refusal.reason];
  const isFirst = refused.refusal === null;
  return {
    // One price is got at once; where that is refused too, each after a pause.
    isDue: then === "next candidate" || (refusal.reason === "PRICE" && isFirst),
    apply(tx, intent) {
      if (intent.status !== "PENDING") return intent;
      const recorded = recordOnboardingRefusal(tx, intent, refusal);
      if (then === "COMPLIANCE_FAILED") return moveIntent(tx, recorded, then, refusal.message);
      const isLast = then === "next candidate" && intent.isProviderNamed;
      return isLast ? moveIntent(tx, recorded, "REFUSED", refusal.message) : recorded;
    },
  };
}

/** Sends the onboarding at a price of now, if that is not worse for the customer. Null: there is none such. */
export async function renewedPrice(
  ramp: IntentContext,
  connection: ProviderConnection,
  intent: Intent,
): Promise<Apply | null> {
  const price = await fetchHeldPrice(ramp, connection, intent);
  if (price === null || isWorse(price, intent.price)) return null;
  const { callbackUrl } = connection;
  return (tx, current) => replaceOrder(tx, current, { ...current, price, callbackUrl });
}

function isWorse(price: Price, before: Price | null): boolean {
  return before !== null && new Big(price.destAmount).lt(before.destAmount);
}

/** Sends the onboarding to the best of the candidates that have not refused it; without one the intent ends. Null: none can be asked now. */
export async function nextOrder(ramp: IntentContext, intent: Intent): Promise<Apply | null> {
  const next = await nextCandidate(ramp, intent);
  if (next === null)
    return (tx, current) => moveIntent(tx, current, "REFUSED", current.refusal?.message ?? "Refused.");
  if (isRampError(next)) return null;
  return (tx, current) => replaceOrder(tx, current, next);
}

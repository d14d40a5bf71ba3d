import type { ProjectTransaction } from "../database/transaction.js";
import { isRampError } from "../core/ramp-errors.js";
import type { RefusedReply } from "../providers/provider.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { fetchHeldPrice } from "../providers/quotes.js";
import { nextCandidate } from "./choose-provider.js";
import type { Intent } from "./intent.js";
import type { IntentContext } from "./lease.js";
import { refusalOf } from "../providers/refusal-reasons.js";
import { REFUSALS } from "./refusal.js";
import { applyPrice, orderAt, takeUnpriced } from "./new-price.js";
import { moveIntent, recordIntentRefusal } from "./transitions.js";

/** What follows from a refusal before the payment (refusal.ts). */

type Apply = (tx: ProjectTransaction, intent: Intent) => Intent;

/** A refusal, recorded with what follows at once. */
export interface AfterRefusal {
  readonly apply: Apply;
  /** Whether the next step is due now; else after a pause. */
  readonly isDue: boolean;
}

/** An order that is refused for its price is made at another one; one that is refused otherwise ends the payment. Null: it does. */
export function afterOrderRefusal(refused: Intent, reply: RefusedReply): AfterRefusal | null {
  const refusal = refusalOf(reply);
  if (refusal.reason !== "PRICE") return null;
  return { isDue: refused.refusal === null, apply: (tx, intent) => recordIntentRefusal(tx, intent, refusal) };
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
      const recorded = recordIntentRefusal(tx, intent, refusal);
      if (then === "COMPLIANCE_FAILED") return moveIntent(tx, recorded, then, refusal.message);
      const isLast = then === "next candidate" && intent.isProviderNamed;
      return isLast ? moveIntent(tx, recorded, "REFUSED", refusal.message) : recorded;
    },
  };
}

/** The order at a price of now. Null: there is none. */
export async function renewedPrice(
  ramp: IntentContext,
  connection: ProviderConnection,
  intent: Intent,
): Promise<Apply | null> {
  const held = await fetchHeldPrice(ramp, connection, intent);
  return held && ((tx, current) => applyPrice(tx, current, orderAt(current, held, connection)));
}

/** The onboarding at the best of the candidates that have not refused it, at a price as good as the accepted one; without a candidate the intent ends. Null: none can be asked now. */
export async function nextOrder(ramp: IntentContext, intent: Intent): Promise<Apply | null> {
  const next = await nextCandidate(ramp, intent);
  if (next === null)
    return (tx, current) => moveIntent(tx, current, "REFUSED", current.refusal?.message ?? "Refused.");
  if (isRampError(next)) return null;
  const { price, heldUntil } = next;
  return (tx, current) =>
    price === null ? takeUnpriced(tx, current, next) : applyPrice(tx, current, { ...next, price, heldUntil });
}

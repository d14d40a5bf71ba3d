import { type Refusal, type RefusalReason } from "../providers/refusal-reasons.js";

/**
 * What follows from a refusal of an onboarding, by its reason: the status that it ends in, a wait until the intent expires, or the next
 * candidate; without one, `REFUSED` (runtime/ramp/docs/intents.md, Refusals; a test compares the page). `words`: for the customer.
 */
export const REFUSALS = {
  IDENTITY: {
    when: "the provider does not serve the customer, or says no reason",
    then: "COMPLIANCE_FAILED",
    words: "The provider could not confirm who you are.",
  },
  PRICE: {
    when: "the price is no longer held",
    then: "waits",
    words: "The price has changed. We ask the provider for a new one; you see it before you pay.",
  },
  MAINTENANCE: {
    when: "the provider takes no orders for now",
    then: "waits",
    words: "The provider is not available right now. We try again until the payment expires.",
  },
  LIMIT: {
    when: "the amount is beyond what the customer may pay there",
    then: "next candidate",
    words: "The amount is beyond a limit of the provider.",
  },
  COUNTRY: {
    when: "the provider does not serve the customer's country",
    then: "next candidate",
    words: "The provider does not serve your country.",
  },
  ACCOUNT: {
    when: "the provider does not move money from or to the account",
    then: "next candidate",
    words: "The provider does not take the account.",
  },
} as const satisfies Readonly<
  Record<RefusalReason, { readonly when: string; readonly then: string; readonly words: string }>
>;

/** What the customer reads of it. */
export function wordsOf(refusal: Refusal | null): string {
  return refusal === null ? "" : REFUSALS[refusal.reason].words;
}

import type { ExecutionOrder, OnboardingOrder } from "../providers/protocol.js";
import type { Intent } from "./intent.js";

/**
 * Orders are stored as the bytes that are sent, before they are: a provider that compares repeats of an idempotency key gets the
 * same bytes, whatever has changed since.
 */
export function onboardingOrderOf(
  { id, type, src, dest, srcAmount, rail, price }: Intent,
  customer: Pick<OnboardingOrder, "customerReference" | "wallets" | "callbackUrl">,
): string {
  const quoteId = price?.providerQuoteId;
  const movement = { type, src, dest, srcAmount, rail, ...(quoteId === undefined ? {} : { quoteId }) };
  const { customerReference, wallets, callbackUrl } = customer;
  return JSON.stringify({ id, customerReference, wallets, movement, callbackUrl } satisfies OnboardingOrder);
}

/** The order of an intent's transaction: for the movement that was onboarded. */
export function executionOrderOf({ id: onboardingId, onboardingOrder }: Intent, id: string): string {
  const order = JSON.parse(onboardingOrder ?? "null") as OnboardingOrder | null;
  if (order === null) throw new Error("The customer's data is deleted: nothing more can be ordered.");
  const { customerReference, movement, callbackUrl } = order;
  return JSON.stringify({
    id,
    onboardingId,
    customerReference,
    movement,
    callbackUrl,
  } satisfies ExecutionOrder);
}

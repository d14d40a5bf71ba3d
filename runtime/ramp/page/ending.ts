import type { Intent } from "../intent/intent.js";
import { isPastOnboarding, type Outcome } from "./stage.js";

/** How a page takes leave: what it tells the window that it was opened from, and where it goes (decisions.md §B, Events). */
export interface Ending {
  readonly message: {
    readonly type: "INTENT_COMPLETED" | "INTENT_DISMISSED";
    readonly payload: { readonly intentId: string };
  };
  /** Origins that may hear it. */
  readonly origins: readonly string[];
  /** Null: nowhere. */
  readonly url: string | null;
}

export function endingOf(intent: Intent, outcome: Outcome, pageOrigins: readonly string[]): Ending {
  const isDone = outcome === "COMPLETED" || outcome === "APPROVED";
  const redirectUrl = redirectUrlOf(intent);
  const origins = new Set(pageOrigins);
  if (redirectUrl !== null) origins.add(redirectUrl.origin);
  return {
    message: { type: isDone ? "INTENT_COMPLETED" : "INTENT_DISMISSED", payload: { intentId: intent.id } },
    origins: [...origins],
    url: redirectUrl?.href ?? null,
  };
}

/** Where the customer is awaited, with `intentId` and `status` added to the query. */
function redirectUrlOf(intent: Intent): URL | null {
  const { onboardingRedirectUrl: onboarding, checkoutRedirectUrl: checkout } = intent;
  const given = isPastOnboarding(intent) ? (checkout ?? onboarding) : (onboarding ?? checkout);
  if (given === null || !/^https?:\/\//i.test(given) || !URL.canParse(given)) return null;
  const url = new URL(given);
  url.searchParams.set("intentId", intent.id);
  url.searchParams.set("status", intent.status);
  return url;
}

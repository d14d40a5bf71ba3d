import { createHash } from "node:crypto";
import {
  type Intent,
  type IntentStatus,
  isOffered,
  isOver,
  type NewPrice,
  type Transaction,
} from "../intents/intent.js";
import { TRAVEL_RULE, TRAVEL_RULE_FORM } from "../providers/travel-rule.js";
import { formProblem } from "../providers/form.js";
import type { Refusal } from "../providers/refusal-reasons.js";
import { isMet, type Requirement } from "../intents/requirement.js";

/** What the page shows, and what the customer can do on it. */
export type Stage =
  | { readonly kind: "form"; readonly requirement: FormRequirement }
  /** The requirement is met on a page of the provider's own. */
  | { readonly kind: "elsewhere"; readonly requirement: PageRequirement }
  | { readonly kind: "waiting"; readonly for: "provider" | "check" | "payment" | "review" }
  /** The provider has refused the onboarding for now. */
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** A price that is worse than the accepted one waits for the customer. */
  | { readonly kind: "offer"; readonly newPrice: NewPrice }
  /** Compliance is complete; the customer starts the payment. */
  | { readonly kind: "confirm" }
  | { readonly kind: "pay"; readonly transaction: Transaction }
  | { readonly kind: "end"; readonly outcome: StageOutcome };

export type StageOutcome =
  | "APPROVED"
  | "COMPLETED"
  | "COMPLIANCE_FAILED"
  | "REFUSED"
  | "TRANSACTION_FAILED"
  | "EXPIRED"
  | "CANCELLED"
  | "REFUNDED"
  /** The customer has left the page; the intent is unchanged. */
  | "DISMISSED";

export interface FormRequirement extends Requirement {
  readonly form: Readonly<Record<string, unknown>>;
}

interface PageRequirement extends Requirement {
  readonly url: string;
}

export function stageOf(intent: Intent): Stage {
  switch (intent.status) {
    case "PENDING":
      return offerOf(intent) ?? refusalStage(intent);
    case "COMPLIANCE_IN_PROGRESS":
      return complianceStage(intent);
    case "COMPLIANCE_APPROVED":
    case "PENDING_PAYMENT":
    case "TRANSACTION_IN_PROGRESS":
      return hasCheckout(intent)
        ? (offerOf(intent) ?? paymentStage(intent))
        : { kind: "end", outcome: "APPROVED" };
    case "AMOUNT_MISMATCH":
      return { kind: "waiting", for: "review" };
    case "COMPLETED":
      return { kind: "end", outcome: intent.transaction?.status === "REFUNDED" ? "REFUNDED" : "COMPLETED" };
    case "COMPLIANCE_FAILED":
    case "REFUSED":
    case "TRANSACTION_FAILED":
    case "EXPIRED":
    case "CANCELLED":
      return { kind: "end", outcome: intent.status };
  }
}

function offerOf(intent: Intent): Stage | null {
  const { newPrice } = intent;
  return newPrice !== null && isOffered(intent) && !isOver(intent) ? { kind: "offer", newPrice } : null;
}

function refusalStage({ refusal }: Intent): Stage {
  return refusal === null ? { kind: "waiting", for: "provider" } : { kind: "refused", refusal };
}

function complianceStage(intent: Intent): Stage {
  for (const given of intent.requirements) {
    const requirement = withOwnForm(intent, given);
    if (isElsewhere(requirement)) return { kind: "elsewhere", requirement };
    if (hasForm(requirement)) return { kind: "form", requirement };
  }
  return { kind: "waiting", for: "check" };
}

/** The form of originator and beneficiary is the ramp's, unless what was given with the intent is on its way. */
function withOwnForm({ hasTravelRule }: Intent, requirement: Requirement): Requirement {
  const isOwn = requirement.code === TRAVEL_RULE && requirement.form === null && requirement.url === null;
  return isOwn && !hasTravelRule ? { ...requirement, form: TRAVEL_RULE_FORM } : requirement;
}

/** Whether there is something to do on a page of the provider's own, which the customer can have left in between. */
export function isElsewhere(requirement: Requirement): requirement is PageRequirement {
  const { status, url } = requirement;
  return url !== null && (status === "PENDING" || status === "IN_PROGRESS");
}

/** One that cannot be drawn, which an answer of before can have, is none: its look-up needs attention. */
function hasForm(requirement: Requirement): requirement is FormRequirement {
  const { form, status } = requirement;
  return form !== null && status === "PENDING" && formProblem(form) === null;
}

function paymentStage({ status, transaction, autoExecute, refusal }: Intent): Stage {
  if (status === "PENDING_PAYMENT" && refusal !== null) return { kind: "refused", refusal };
  if (transaction === null && !autoExecute && status === "PENDING_PAYMENT") return { kind: "confirm" };
  if (transaction === null || transaction.instructions.length === 0)
    return { kind: "waiting", for: "payment" };
  return { kind: "pay", transaction };
}

/**
 * Whether the payment is made on these pages too. It is not when the customer returns to the caller's site after onboarding and
 * no address after checkout is given.
 */
function hasCheckout({ onboardingRedirectUrl, checkoutRedirectUrl }: Intent): boolean {
  return checkoutRedirectUrl !== null || onboardingRedirectUrl === null;
}

/** Whether a payment is to be made or on its way, on these pages. */
export function hasPaymentPage(intent: Intent): boolean {
  const { status } = intent;
  return hasCheckout(intent) && (status === "PENDING_PAYMENT" || status === "TRANSACTION_IN_PROGRESS");
}

/** Whether the customer has completed onboarding. */
function isPastOnboarding({ status, requirements, transaction }: Intent): boolean {
  if (transaction !== null) return true;
  if (
    status === "PENDING" ||
    status === "COMPLIANCE_IN_PROGRESS" ||
    status === "REFUSED" ||
    status === "COMPLIANCE_FAILED"
  )
    return false;
  return requirements.every(isMet);
}

/** Changes whenever the page of a stage would look different. */
export function versionOf(intent: Intent, stage: Stage): string {
  const seen = JSON.stringify([intent.status, intent.transaction?.status, stage]);
  return createHash("sha256").update(seen).digest("base64url").slice(0, 16);
}

/** A page of the provider's own, which sends the customer back to `returnUrl` (runtime/ramp/docs/provider-protocol.md, Pages). */
export function withReturn(url: string, returnUrl: string): string {
  return withQuery(url, { return_url: returnUrl });
}

/** Adds parameters to somebody else's address. As text: they may have signed what stands before them. */
function withQuery(url: string, added: Readonly<Record<string, string>>): string {
  const [address = "", ...fragment] = url.split("#");
  const parameters = Object.entries(added).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const query = (address.includes("?") ? "&" : "?") + parameters.join("&");
  return [address + query, ...fragment].join("#");
}

/** How a page ends: the message to the window that opened it, and the next address (runtime/ramp/docs/webhooks.md). */
export interface PageExit {
  readonly message: {
    readonly type: "INTENT_COMPLETED" | "INTENT_DISMISSED";
    readonly payload: { readonly intentId: string; readonly status: IntentStatus };
  };
  /** Origins that receive the message. */
  readonly origins: readonly string[];
  /** Null: the customer stays on the page. */
  readonly url: string | null;
}

export function exitOf(intent: Intent, outcome: StageOutcome, pageOrigins: readonly string[]): PageExit {
  const isDone = outcome === "COMPLETED" || outcome === "APPROVED";
  const redirectUrl = redirectUrlOf(intent);
  const origins = new Set(pageOrigins);
  if (redirectUrl !== null) origins.add(new URL(redirectUrl).origin);
  return {
    message: {
      type: isDone ? "INTENT_COMPLETED" : "INTENT_DISMISSED",
      payload: { intentId: intent.id, status: intent.status },
    },
    origins: [...origins],
    url: redirectUrl,
  };
}

/** The caller's address to redirect to, with `intentId` and `status` added to the query in place of those that it has. */
export function redirectUrlOf(intent: Intent): string | null {
  const { onboardingRedirectUrl: onboarding, checkoutRedirectUrl: checkout } = intent;
  const given = isPastOnboarding(intent) ? (checkout ?? onboarding) : (onboarding ?? checkout);
  if (given === null || !/^https?:\/\//i.test(given) || !URL.canParse(given)) return null;
  return withQuery(withoutQuery(given, REDIRECT_PARAMETERS), { intentId: intent.id, status: intent.status });
}

const REDIRECT_PARAMETERS: ReadonlySet<string> = new Set(["intentId", "status"]);

/** Without parameters of these names; the others as they are. */
function withoutQuery(url: string, names: ReadonlySet<string>): string {
  const [, path = "", query, fragment = ""] = /^([^?#]*)(?:\?([^#]*))?(.*)$/.exec(url) ?? [];
  const kept = query?.split("&").filter((pair) => {
    const [name = ""] = new URLSearchParams(pair).keys();
    return !names.has(name);
  });
  return path + (kept === undefined || kept.length === 0 ? "" : `?${kept.join("&")}`) + fragment;
}

import type { AmountText, PercentText } from "../accounts/amount.js";
import { type Balances, SUSPENSE_REASONS } from "./journal.js";
import type { JsonText } from "../core/exact-json.js";
import type { AccountSide } from "../accounts/account-details.js";
import type { ProjectId } from "../database/id.js";
import type { Instruction, Rail, Receipt, Refund } from "../providers/protocol.js";
import type { DepositReturn } from "../providers/deposit-messages.js";
import { TRAVEL_RULE } from "../providers/travel-rule.js";
import type { Price } from "../providers/quotes.js";
import type { Refusal, RefusalReason } from "../providers/refusal-reasons.js";
import { REFUSALS } from "./refusal.js";
import { type IntentRefund, openRefund } from "./refund.js";
import type { Requirement } from "./requirement.js";

/** The movement of money of an intent; at most one per intent, for life. */
export interface Transaction {
  readonly id: string;
  readonly status: TransactionStatus;
  readonly providerReference: string | null;
  readonly instructions: readonly Instruction[];
  readonly failureReason: string | null;
  /** Until when the provider waits for the payment; null: it does not say. */
  readonly paymentDueAt: Date | null;
  readonly receipt: Receipt | null;
  /** As the provider lists them. */
  readonly refunds: readonly Refund[];
  /** Grows with each other price of the order. */
  readonly orderAttempt: number;
  /** The bytes of the order; null once the customer's data is deleted. */
  readonly orderBody: string | null;
  /** Why the provider refused the order, until the order is withdrawn; null otherwise. */
  readonly refusalReason: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Why an intent needs the operator's attention: all reasons there are (runtime/ramp/docs/provider-protocol.md, Amounts). */
export const ATTENTION_REASONS = [
  ...SUSPENSE_REASONS,
  "RECEIPT_MISSING",
  "REFUND_REFUSED",
  "REFUND_MATCHED",
  "DUPLICATE_DEPOSIT",
  "INVALID_INSTRUCTIONS",
  "CONTRADICTION",
  "REFERENCE_CHANGED",
  "UNKNOWN_ORDER",
  "INVALID_ANSWER",
  "PROVIDER_FAILS",
] as const;
export type AttentionReason = (typeof ATTENTION_REASONS)[number];

/** The open reasons, each with what it is about. */
export type Attention = Readonly<Partial<Record<AttentionReason, string>>>;

export function needsAttention(attention: Attention): boolean {
  return Object.keys(attention).length > 0;
}

/** An order at a price of now: of the same provider, or of the next candidate. */
export interface PricedOrder extends Pick<
  Intent,
  "connectionId" | "connectionVersion" | "provider" | "providerCode" | "sandbox" | "rail"
> {
  readonly callbackUrl: string;
  readonly price: Price;
  /** Until when the provider holds the price; null: it does not. */
  readonly heldUntil: string | null;
}

/** A price that is worse than the accepted one, and waits to be accepted. */
export interface NewPrice {
  /** Names it to who accepts it. */
  readonly quoteId: string;
  readonly expiresAt: string;
  readonly order: PricedOrder;
}

export interface Intent {
  readonly id: string;
  readonly projectId: ProjectId;
  readonly customerId: string;
  readonly connectionId: string;
  /** Version of the connection's address and credentials that the intent was created with. */
  readonly connectionVersion: number;
  /** The provider's name, and its code. */
  readonly provider: string;
  readonly providerCode: string;
  readonly type: "ONRAMP" | "OFFRAMP";
  readonly status: IntentStatus;
  readonly src: AccountSide;
  readonly dest: AccountSide;
  readonly srcAmount: AmountText;
  readonly rail: Rail;
  /** What the payment is worth by a quote. Null: not known yet, and nothing is ordered. */
  readonly price: Price | null;
  /** What the destination receives by the price that the customer accepted, once another price has replaced it; null before. */
  readonly acceptedAmount: AmountText | null;
  /** How much less than that a renewed price may give, in percent; null: nothing. */
  readonly maxSlippage: PercentText | null;
  /** The price that waits to be accepted; null: none does. */
  readonly newPrice: NewPrice | null;
  readonly autoExecute: boolean;
  readonly onboardingRedirectUrl: string | null;
  readonly checkoutRedirectUrl: string | null;
  readonly failureReason: string | null;
  /** The last refusal of the onboarding, and of which attempt; null: none, or the provider has taken it since. */
  readonly refusal: (Refusal & { readonly attempt: number }) | null;
  /** The connections that have refused it. */
  readonly refusedBy: readonly string[];
  /** Whether the request names the provider, or its quote: no other one is tried then. */
  readonly isProviderNamed: boolean;
  /** Grows with each order of another content or price. */
  readonly onboardingAttempt: number;
  /** The caller's own data; null without. */
  readonly metadata: JsonText | null;
  readonly expiresAt: Date;
  /** Whether the customer requested a cancel. */
  readonly isCancelRequested: boolean;
  readonly leaseOwner: string | null;
  readonly failedAttempts: number;
  readonly attention: Attention;
  /** Reasons that the operator has resolved: about the same, they need no attention again. */
  readonly acknowledged: Attention;
  /** The sums of its postings (journal.ts). */
  readonly balances: Balances;
  /** Asked for, or made by the provider alone; oldest first. */
  readonly refunds: readonly IntentRefund[];
  /** The deposit account that it is a payment to, and the provider's id of the payment; null: it has an order of the ramp's. */
  readonly depositAccountId: string | null;
  readonly depositId: string | null;
  /** What the payment alone is known by, such as the bank's reference. */
  readonly depositReference: string | null;
  /** Why the payment goes back to its sender; null: it is carried out. */
  readonly returnReason: DepositReturn | null;
  /** Whether originator and beneficiary are stored, and still to be sent (travel-rules.ts). */
  readonly hasTravelRule: boolean;
  /** Whether the provider moves no real money. */
  readonly sandbox: boolean;
  /** The bytes of the onboarding order; null once the customer's data is deleted. */
  readonly onboardingOrder: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The time that its deadlines are compared with (intent-rows.ts). */
  readonly readAt: Date;
  readonly requirements: readonly Requirement[];
  readonly transaction: Transaction | null;
}

/** Whether the customer's data is deleted: look-ups record what happens to the money, nothing about the customer. */
export function isErased({ onboardingOrder }: Intent): boolean {
  return onboardingOrder === null;
}

/** The first requirement that is still to be met, by the provider's order; null when none is. */
export function outstandingRequirement({ requirements }: Intent): Requirement | null {
  return requirements.find(({ status }) => status === "PENDING" || status === "IN_PROGRESS") ?? null;
}

/**
 * The moves that an intent can make (runtime/ramp/docs/intents.md, States). The database refuses all others; a test compares
 * this table with the database's.
 */
export const INTENT_MOVES = {
  PENDING: [
    "COMPLIANCE_IN_PROGRESS",
    "COMPLIANCE_APPROVED",
    "COMPLIANCE_FAILED",
    "REFUSED",
    "EXPIRED",
    "CANCELLED",
  ],
  COMPLIANCE_IN_PROGRESS: ["COMPLIANCE_APPROVED", "COMPLIANCE_FAILED", "EXPIRED", "CANCELLED"],
  COMPLIANCE_APPROVED: ["PENDING_PAYMENT", "EXPIRED", "CANCELLED"],
  /** Back where the provider lists another check. */
  PENDING_PAYMENT: ["COMPLIANCE_IN_PROGRESS", "TRANSACTION_IN_PROGRESS", "EXPIRED", "CANCELLED"],
  TRANSACTION_IN_PROGRESS: ["COMPLETED", "AMOUNT_MISMATCH", "TRANSACTION_FAILED", "EXPIRED", "CANCELLED"],
  /** The provider has carried the payment out, but with other amounts: the provider or the operator settles it. */
  AMOUNT_MISMATCH: ["COMPLETED", "TRANSACTION_FAILED"],
  COMPLETED: [],
  COMPLIANCE_FAILED: [],
  /** No candidate takes it, for a reason that is not the customer's identity (refusal.ts). */
  REFUSED: [],
  TRANSACTION_FAILED: [],
  EXPIRED: [],
  CANCELLED: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type IntentStatus = keyof typeof INTENT_MOVES;

export const INTENT_STATUSES = Object.keys(INTENT_MOVES) as readonly IntentStatus[];

export const TRANSACTION_MOVES = {
  PENDING: ["IN_PROGRESS"],
  IN_PROGRESS: ["SUCCESS", "FAILED", "CANCELLED"],
  SUCCESS: ["REFUNDED"],
  FAILED: [],
  CANCELLED: [],
  REFUNDED: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type TransactionStatus = keyof typeof TRANSACTION_MOVES;

export const TRANSACTION_STATUSES = Object.keys(TRANSACTION_MOVES) as readonly TransactionStatus[];

export function isTerminal(status: IntentStatus): boolean {
  return INTENT_MOVES[status].length === 0;
}

/** Whether `from` can move to `to`. An older status cannot. */
export function canMove<S extends string>(
  moves: Readonly<Record<S, readonly string[]>>,
  from: S,
  to: S,
): boolean {
  return moves[from].includes(to);
}

/** Whether compliance is still to be completed (`COMPLIANCE_NOT_COMPLETE`). */
export function awaitsCompliance(status: IntentStatus): boolean {
  return status === "PENDING" || status === "COMPLIANCE_IN_PROGRESS" || status === "COMPLIANCE_APPROVED";
}

/** The next thing to do about an intent. */
export type Step =
  | "startOnboarding"
  | "checkOnboarding"
  /** The provider asks for originator and beneficiary, which are stored. */
  | "sendTravelRule"
  /** The order was refused for its price: take or offer another one. */
  | "renewPrice"
  /** It was refused for good: send it to the next candidate. */
  | "chooseNext"
  /** Make the payment without a request (`autoExecute`). */
  | "makePayment"
  | "execute"
  /** The provider refused the order: an earlier copy of it can still be on its way and is cancelled first. */
  | "withdrawOrder"
  | "checkExecution"
  /** The intent has expired or the customer cancels: the provider must cancel the execution first. */
  | "cancelExecution"
  /** Record that a refund is sent, before it is. */
  | "prepareRefund"
  | "refund"
  | "cancelRefund"
  /** Expire, or cancel for the customer, unless the provider has an order that the database lost with a restore. */
  | "end"
  /** Nothing, until a request, a callback or the next poll. */
  | "wait";

/** State of one run: no call yet, the provider has answered, or a call has failed. */
export type Progress = "fresh" | "answered" | "unanswered";

export function nextStep(intent: Intent, progress: Progress): Step {
  if (progress === "unanswered") return "wait";
  switch (intent.status) {
    case "PENDING":
    case "COMPLIANCE_IN_PROGRESS":
      if (isOver(intent)) return "end";
      if (isTravelRuleDue(intent)) return "sendTravelRule";
      if (progress === "answered") return "wait";
      return intent.status === "PENDING" ? onboardingStep(intent) : "checkOnboarding";
    case "COMPLIANCE_APPROVED":
    case "PENDING_PAYMENT":
      return paymentStep(intent, progress);
    case "TRANSACTION_IN_PROGRESS":
      if (progress === "answered") return "wait";
      return isOver(intent) ? "cancelExecution" : "checkExecution";
    case "AMOUNT_MISMATCH":
    case "COMPLETED":
    case "COMPLIANCE_FAILED":
    case "REFUSED":
    case "TRANSACTION_FAILED":
    case "EXPIRED":
    case "CANCELLED":
      // Refunds one after the other; then a correction, a return, or a provider that contradicts the recorded end.
      return (
        refundStep(intent) ??
        (intent.transaction === null || progress === "answered" ? "wait" : "checkExecution")
      );
  }
}

/** Whether the provider asks for what is stored. */
function isTravelRuleDue({ hasTravelRule, requirements }: Intent): boolean {
  return (
    hasTravelRule && requirements.some(({ code, status }) => code === TRAVEL_RULE && status === "PENDING")
  );
}

function onboardingStep(intent: Intent): Step {
  const reason = refusedFor(intent);
  if (reason === null || reason === "MAINTENANCE") return "startOnboarding";
  if (isOffered(intent)) return "wait";
  return REFUSALS[reason].then === "waits" ? "renewPrice" : "chooseNext";
}

/** Why the provider has refused the order as it is; null: it has not. */
function refusedFor({ refusal, onboardingAttempt }: Intent): RefusalReason | null {
  return refusal?.attempt === onboardingAttempt ? refusal.reason : null;
}

/** Whether a new price waits to be accepted. */
export function isOffered({ newPrice, readAt }: Intent): boolean {
  return newPrice !== null && new Date(newPrice.expiresAt) > readAt;
}

/** Each ends with an answer that the refund waits for no longer, so that they end. */
function refundStep(intent: Intent): Step | null {
  const refund = openRefund(intent);
  if (refund === undefined) return null;
  if (refund.isCancelRequested) return "cancelRefund";
  return refund.isSent ? "refund" : "prepareRefund";
}

/** Whether the customer cancels, or the time is over. */
export function isOver({ expiresAt, readAt, isCancelRequested }: Intent): boolean {
  return expiresAt <= readAt || isCancelRequested;
}

function paymentStep(intent: Intent, progress: Progress): Step {
  const { transaction, autoExecute } = intent;
  if (transaction !== null && transaction.refusalReason !== null) return "withdrawOrder";
  if (transaction !== null) return isOver(intent) ? "cancelExecution" : orderStep(intent);
  if (isOver(intent)) return "end";
  // A check that is listed by now counts.
  if (progress === "fresh") return "checkOnboarding";
  return autoExecute && !isOffered(intent) ? "makePayment" : "wait";
}

/** An order that was refused for its price is sent again at another one alone: one without an answer may have been taken. */
function orderStep(intent: Intent): Step {
  if (refusedFor(intent) === null) return "execute";
  return isOffered(intent) ? "wait" : "renewPrice";
}

import { isDeepStrictEqual } from "node:util";
import { recordChange } from "./intent-event.js";
import { ComputedValue, OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { orderIdOf } from "../database/id.js";
import { bookOrder, bookVoid } from "./book.js";
import type { OnboardingOrder } from "../providers/protocol.js";
import type { Price } from "../providers/quotes.js";
import type { Refusal } from "../providers/refusal-reasons.js";
import { type Intent, type IntentStatus, needsAttention, type Transaction } from "./intent.js";
import type { Requirement } from "./requirement.js";

/**
 * State changes. Each writes the row and its event and returns the changed intent. The intent in an event is the one after the change, with
 * the status that follows from it.
 */

/** A status of an intent that follows from a change of its transaction. */
export interface IntentMove {
  readonly status: IntentStatus;
  readonly failureReason: string | null;
}

export function moveIntent(
  tx: ProjectTransaction,
  intent: Intent,
  status: IntentStatus,
  failureReason: string | null = null,
): Intent {
  const moved = writeStatus(tx, intent, { status, failureReason });
  recordStatus(tx, moved, intent.status);
  return moved;
}

/** Without its event. */
export function writeStatus(tx: ProjectTransaction, intent: Intent, move: IntentMove): Intent {
  const { status, failureReason } = move;
  // An offer ends with the status that it was made in.
  const offer = intent.newPrice === null ? {} : { newPrice: null };
  tx.update("intents", intent.id, { status, failureReason, ...offer });
  return { ...intent, status, failureReason, ...offer, updatedAt: tx.now };
}

/** Tells of an intent's status; `previousStatus` is null for a new intent. */
export function recordStatus(
  tx: ProjectTransaction,
  intent: Intent,
  previousStatus: IntentStatus | null,
): void {
  const { type, status, failureReason } = intent;
  recordChange(tx, "intent.status_changed", intent, { type, status, previousStatus, failureReason });
}

/** Without its event. */
export function addRequirement(tx: ProjectTransaction, intent: Intent, requirement: Requirement): Intent {
  const { length: position } = intent.requirements;
  tx.insert("requirements", { intentId: intent.id, position, ...requirement });
  return { ...intent, requirements: [...intent.requirements, requirement], updatedAt: tx.now };
}

const NOW = new ComputedValue(() => "now()");

/** Without its event. */
export function changeRequirement(tx: ProjectTransaction, intent: Intent, requirement: Requirement): Intent {
  const { code, ...columns } = requirement;
  tx.update("requirements", { intentId: intent.id, code }, { ...columns, updatedAt: NOW });
  const requirements = intent.requirements.map((item) => (item.code === code ? requirement : item));
  return { ...intent, requirements, updatedAt: tx.now };
}

/** Tells of a status of a requirement. */
export function recordRequirement(
  tx: ProjectTransaction,
  intent: Intent,
  { code, status, reason }: Pick<Requirement, "code" | "status" | "reason">,
): void {
  recordChange(tx, "compliance.updated", intent, {
    requirementCode: code,
    status,
    ...(reason !== null && { reason }),
  });
}

/** Records that the provider has refused the order before the payment; the same refusal again tells nothing new. */
export function recordIntentRefusal(tx: ProjectTransaction, intent: Intent, refusal: Refusal): Intent {
  const refusedBy = [...new Set([...intent.refusedBy, intent.connectionId])];
  const { reason, message } = intent.refusal ?? {};
  const isKnown =
    isDeepStrictEqual({ reason, message }, refusal) && refusedBy.length === intent.refusedBy.length;
  const noted = { ...refusal, attempt: intent.onboardingAttempt };
  if (!isDeepStrictEqual(intent.refusal, noted))
    tx.update("intents", intent.id, { refusal: noted, refusedBy });
  const refused = { ...intent, refusal: noted, refusedBy };
  if (isKnown) return refused;
  recordChange(tx, "intent.refused", refused, { ...refusal });
  return refused;
}

/** The provider has taken the order. */
export function clearRefusal(tx: ProjectTransaction, intent: Intent): Intent {
  if (intent.refusal === null) return intent;
  tx.update("intents", intent.id, { refusal: null });
  return { ...intent, refusal: null };
}

/** Where an onboarding goes next, and at what price. */
export interface NextOrder extends Pick<
  Intent,
  "connectionId" | "connectionVersion" | "provider" | "providerCode" | "sandbox" | "rail" | "price"
> {
  readonly callbackUrl: string;
}

/** Replaces a refused onboarding order by another one, before any payment. */
export function replaceOrder(tx: ProjectTransaction, intent: Intent, next: NextOrder): Intent {
  const { callbackUrl, provider, providerCode, connectionId, connectionVersion, sandbox, rail, price } = next;
  const order = JSON.parse(intent.onboardingOrder ?? "null") as OnboardingOrder | null;
  if (order === null) return intent;
  const { providerQuoteId } = price ?? {};
  const onboardingOrder = JSON.stringify({
    ...order,
    // Written as JSON without it where the price is not held.
    movement: { ...order.movement, rail, quoteId: providerQuoteId },
    callbackUrl,
  });
  const onboardingAttempt = intent.onboardingAttempt + 1;
  const changed = {
    connectionId,
    connectionVersion,
    sandbox,
    rail,
    price,
    onboardingOrder,
    onboardingAttempt,
  };
  tx.update("intents", intent.id, changed);
  return { ...intent, ...changed, provider, providerCode, updatedAt: tx.now };
}

export function recordPrice(tx: ProjectTransaction, intent: Intent, price: Price): Intent {
  tx.update("intents", intent.id, { price });
  return { ...intent, price };
}

/** Longest time that a payment is awaited: as long as an ended order is looked up. */
const LONGEST_PAYMENT_MS = 60 * 24 * 60 * 60_000;

/** While its payment is awaited an intent does not expire before the payment is due. */
export function extendExpiry(tx: ProjectTransaction, intent: Intent, dueAt: Date): Intent {
  const latest = (intent.transaction ?? intent).createdAt.getTime() + LONGEST_PAYMENT_MS;
  const expiresAt = new Date(Math.min(dueAt.getTime(), latest));
  if (expiresAt <= intent.expiresAt) return intent;
  tx.update("intents", intent.id, { expiresAt });
  return { ...intent, expiresAt };
}

/** Creates the only transaction of an intent, at its price. Fails in the database when it has one. */
export function createPayment(tx: ProjectTransaction, intent: Intent, price: Price): Intent {
  const { now } = tx;
  const id = orderIdOf(intent.id);
  const transaction: Transaction = {
    id,
    status: "PENDING",
    providerReference: null,
    instructions: [],
    failureReason: null,
    paymentDueAt: null,
    receipt: null,
    refunds: [],
    orderAttempt: 1,
    orderBody: executionOrderOf(intent, id),
    refusalReason: null,
    createdAt: now,
    updatedAt: now,
  };
  const { status, orderBody, createdAt, updatedAt } = transaction;
  tx.insert("transactions", { id, intentId: intent.id, status, orderBody, createdAt, updatedAt });
  const ordered = { ...intent, transaction, updatedAt: now };
  recordTransaction(tx, ordered);
  return bookOrder(tx, ordered, price);
}

/** The parts of a transaction that a provider's answer changes. */
export type TransactionChange = Partial<
  Pick<
    Transaction,
    "status" | "providerReference" | "instructions" | "failureReason" | "paymentDueAt" | "receipt" | "refunds"
  >
>;

/** Records that the provider refused the order, before anything is done about it: a crash must not lose the reason. */
export function recordRefusal(tx: ProjectTransaction, intent: Intent, reason: string): Intent {
  const { transaction } = intent;
  if (transaction === null) throw new Error("The intent has no transaction.");
  tx.update("transactions", transaction.id, { refusalReason: reason });
  return { ...intent, transaction: { ...transaction, refusalReason: reason } };
}

/** @param follows the status of the intent that follows from the change */
export function updateTransaction(
  tx: ProjectTransaction,
  intent: Intent,
  before: Transaction,
  change: TransactionChange,
  follows: IntentMove | null = null,
): Intent {
  const transaction: Transaction = { ...before, ...change, refusalReason: null, updatedAt: tx.now };
  const { id, status, providerReference, failureReason, receipt, refusalReason, updatedAt } = transaction;
  const { paymentDueAt } = transaction;
  // The driver would write lists as arrays of PostgreSQL.
  const instructions = JSON.stringify(transaction.instructions);
  const refunds = JSON.stringify(transaction.refunds);
  const texts = { providerReference, failureReason, refusalReason };
  tx.update("transactions", id, {
    status,
    ...texts,
    paymentDueAt,
    receipt,
    instructions,
    refunds,
    updatedAt,
  });
  const updated = {
    ...(follows === null ? intent : writeStatus(tx, intent, follows)),
    transaction,
    updatedAt,
  };
  recordTransaction(tx, updated);
  if (follows !== null) recordStatus(tx, updated, intent.status);
  const isEndedUnpaid = status !== before.status && (status === "FAILED" || status === "CANCELLED");
  return isEndedUnpaid ? bookVoid(tx, updated) : updated;
}

function recordTransaction(
  tx: ProjectTransaction,
  intent: Intent & { readonly transaction: Transaction },
): void {
  const { id: transactionId, status, failureReason, refunds } = intent.transaction;
  const change = { transactionId, status, failureReason, ...(refunds.length > 0 && { refunds }) };
  recordChange(tx, "transaction.updated", intent, change);
}

/** Writes why the intent needs the operator's attention, and what the operator has acknowledged. */
export function recordAttention(tx: ProjectTransaction, intent: Intent): void {
  const { id, attention, acknowledged } = intent;
  tx.write(
    `UPDATE ramp.intents SET attention = $2, acknowledged = $3,
       attention_since = CASE WHEN $4 THEN COALESCE(attention_since, now()) END WHERE ${OF_PROJECT} AND id = $1`,
    [id, JSON.stringify(attention), JSON.stringify(acknowledged), needsAttention(attention)],
  );
  recordChange(tx, "intent.attention", intent, { reasons: Object.keys(attention) });
}

/** The order of an intent's transaction: for the movement that was onboarded, at the price of the intent. */
export function executionOrderOf({ id: onboardingId, onboardingOrder, price }: Intent, id: string): string {
  const order = JSON.parse(onboardingOrder ?? "null") as OnboardingOrder | null;
  if (order === null) throw new Error("The customer's data is deleted: nothing more can be ordered.");
  const { customerReference, callbackUrl } = order;
  // Written as JSON without it where the price is not held.
  const movement = { ...order.movement, quoteId: price?.providerQuoteId };
  const made = { id, onboardingId, customerReference, movement, callbackUrl };
  return JSON.stringify(made);
}

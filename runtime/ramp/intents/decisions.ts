import { Amount, type AmountText } from "../accounts/amount.js";
import { readAmount, readCurrencies } from "../accounts/currency.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import { refundIdOf } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { REPORTED_OPEN, REPORTED_PAID } from "./attention.js";
import { bookResolution, isSentUnknown, leftToRefund } from "./book.js";
import { type Attention, type Intent, isErased, isTerminal, needsAttention } from "./intent.js";
import { changeRefund, closeRefunds, recordRefund } from "./apply-refunds.js";
import { type IntentRefund, isOpenRefund, isOverdue, isRefundable } from "./refund.js";
import { total } from "./journal.js";
import { requestCancel } from "./intent-rows.js";
import { moveIntent, recordAttention, updateTransaction } from "./transitions.js";

/** What the operator, or the project, decides about a locked intent; a running server then does it at the provider. */

/** Cancels as the customer would: an order at the provider is cancelled there first. */
export function decideCancel(tx: ProjectTransaction, intent: Intent): Intent | RampError {
  return isTerminal(intent.status) || intent.status === "AMOUNT_MISMATCH"
    ? rampError("INTENT_CLOSED", { message: `The intent is ${intent.status}: it cannot be cancelled.` })
    : requestCancel(tx, intent);
}

export interface Resolution {
  readonly as: "completed" | "failed";
  /** Why. */
  readonly note: string;
}

/**
 * Records how an intent ended that the provider left unclear. What is known now needs no attention again; what the provider reports
 * later does. Only the operator's transactions may make the moves.
 */
export function decideEnd(
  tx: ProjectTransaction,
  intent: Intent,
  { as, note }: Resolution,
): Intent | RampError {
  if (!needsAttention(intent.attention)) return rampError("NOT_RESOLVABLE");
  if (as === "completed" && intent.transaction === null)
    return rampError("NOT_RESOLVABLE", { message: "The intent has no transaction: resolve it as failed." });
  const decided = closeRefunds(tx, intent, decidedRefunds(intent, as), `Resolved as ${as}.`, "silence");
  const ended = as === "completed" ? completed(tx, decided) : endedWithoutPayment(tx, decided, note);
  const resolved = bookResolution(tx, ended, as);
  const acknowledged = { ...intent.acknowledged, ...stillReported(intent), ...intent.attention };
  recordAttention(tx, { ...resolved, attention: {}, acknowledged });
  return { ...resolved, attention: {}, acknowledged };
}

/** Reasons why nothing is heard of a refund that was sent. */
const UNANSWERED = ["PROVIDER_FAILS", "UNKNOWN_ORDER", "INVALID_ANSWER"] as const;

/** The refunds that end with a resolution: all open ones of a payment that failed; else those that the provider left unclear. */
function decidedRefunds(
  { refunds, attention, readAt }: Intent,
  as: Resolution["as"],
): readonly IntentRefund[] {
  if (as === "failed") return refunds;
  const isUnanswered = UNANSWERED.some((reason) => attention[reason] !== undefined);
  return refunds.filter(
    (refund) => isOverdue(refund, readAt) || (isUnanswered && refund.status === "REQUESTED" && refund.isSent),
  );
}

/** What the provider keeps reporting is known: an order that had not ended as open, a payment as paid. */
function stillReported({ transaction, balances }: Intent): Attention {
  const isOpen = transaction?.status === "PENDING" || transaction?.status === "IN_PROGRESS";
  if (isOpen) return { CONTRADICTION: REPORTED_OPEN };
  return total(balances, { account: "provider", about: "payment" }).isZero()
    ? {}
    : { CONTRADICTION: REPORTED_PAID };
}

function completed(tx: ProjectTransaction, intent: Intent): Intent {
  const { transaction, status } = intent;
  const isPaid = transaction?.status === "SUCCESS" || transaction?.status === "REFUNDED";
  if (transaction === null || isPaid)
    return status === "COMPLETED" ? intent : moveIntent(tx, intent, "COMPLETED");
  const follows = status === "COMPLETED" ? null : ({ status: "COMPLETED", failureReason: null } as const);
  return updateTransaction(tx, intent, transaction, { status: "SUCCESS", failureReason: null }, follows);
}

/** What an operator writes about an intent; nothing about that of an erased customer, whom it can name. */
function wordsAbout(intent: Intent, note: string, erased = ""): string {
  return isErased(intent) ? erased : note;
}

function endedWithoutPayment(tx: ProjectTransaction, intent: Intent, note: string): Intent {
  const { transaction, status } = intent;
  const failureReason = wordsAbout(intent, note, "Erased.");
  const hasEnded = isTerminal(status) && (status !== "COMPLETED" || transaction === null);
  const isUnpaid =
    transaction === null || transaction.status === "FAILED" || transaction.status === "CANCELLED";
  if (isUnpaid) return hasEnded ? intent : moveIntent(tx, intent, "TRANSACTION_FAILED", failureReason);
  const follows = hasEnded ? null : ({ status: "TRANSACTION_FAILED", failureReason } as const);
  return updateTransaction(tx, intent, transaction, { status: "FAILED", failureReason }, follows);
}

export interface RefundWish {
  /** Null: what is left of the payment. */
  readonly amount: AmountText | null;
  /** Names the refund: a repeated wish with the same reason is the same refund. */
  readonly reason: string;
}

const DECIMAL = /^\d{1,40}(\.\d{1,18})?$/;

/**
 * Records a refund of a payment, or of a part of it. It is stored under the lock and checked against what is left, so that neither a
 * repeated wish nor two of them refund more than was paid.
 */
export async function decideRefund(
  tx: ProjectTransaction,
  intent: Intent,
  wish: RefundWish,
): Promise<{ readonly intent: Intent; readonly refund: IntentRefund } | RampError> {
  const id = refundIdOf(intent.id, wish.reason);
  const known = intent.refunds.find((refund) => refund.id === id || refund.providerId === id);
  if (known && isSameAmount(wish, known)) return { intent, refund: known };
  if (known)
    return rampError("REFUND_CONFLICT", {
      message: `A refund of ${known.amount} has this reason. Give another refund a reason of its own.`,
    });
  const amount = await refundableAmount(tx, intent, wish.amount);
  if (typeof amount !== "string") return amount;
  const reason = wordsAbout(intent, wish.reason);
  tx.insert("refund_requests", {
    intentId: intent.id,
    id,
    amount,
    reason,
    createdAt: tx.now,
    updatedAt: tx.now,
  });
  const refund: IntentRefund = { ...NEW_REFUND, id, amount, reason, createdAt: tx.now, updatedAt: tx.now };
  const recorded = recordRefund(tx, { ...intent, refunds: [...intent.refunds, refund] }, refund);
  return { intent: recorded, refund };
}

const NEW_REFUND = {
  providerId: null,
  listedAmount: null,
  status: "REQUESTED",
  origin: "REQUEST",
  failureReason: null,
  isSent: false,
  isCancelRequested: false,
  isMatchedByAmount: false,
} as const satisfies Partial<IntentRefund>;

/** Cancels a refund: at once where it was not sent, else at the provider, which decides. */
export async function decideRefundCancel(
  tx: ProjectTransaction,
  intent: Intent,
  refundId: string,
): Promise<{ readonly intent: Intent; readonly refund: IntentRefund } | RampError> {
  const refused = (message: string): RampError => rampError("REFUND_NOT_CANCELLABLE", { message });
  const refund = intent.refunds.find(({ id }) => id === refundId.toLowerCase());
  if (refund === undefined) return rampError("NOT_FOUND");
  if (!isOpenRefund(refund)) return refused(`The refund is ${refund.status}: it cannot be cancelled.`);
  if (refund.isCancelRequested) return { intent, refund };
  const isUnsent = refund.status === "REQUESTED" && !refund.isSent;
  if (!isUnsent && !(await offers(tx, intent, "refundCancels")))
    return refused(`${intent.provider} has the refund, and cancels none.`);
  const wish = isUnsent ? ({ status: "CANCELLED" } as const) : { isCancelRequested: true };
  const changed = changeRefund(tx, intent, { ...refund, ...wish });
  return { intent: changed, refund: changed.refunds.find(({ id }) => id === refund.id) ?? refund };
}

function isSameAmount({ amount }: RefundWish, known: IntentRefund): boolean {
  return amount === null || (DECIMAL.test(amount) && Amount.of(amount).equals(known.amount));
}

/** The amount that a new refund has, or why there can be none. */
async function refundableAmount(
  tx: ProjectTransaction,
  intent: Intent,
  wanted: string | null,
): Promise<string | RampError> {
  const refused = (message: string): RampError => rampError("NOT_REFUNDABLE", { message });
  const invalid = (message: string): RampError => rampError("INVALID_AMOUNT", { message });
  if (!isRefundable(intent)) return refused("Only a payment that is SUCCESS can be refunded.");
  if (!(await offers(tx, intent, "refunds"))) return refused(`${intent.provider} offers no refunds.`);
  if (isSentUnknown(intent))
    return refused(
      `${intent.provider} does not say what the source sent. Refund once its receipt does, or once you have resolved the intent.`,
    );
  const left = leftToRefund(intent);
  if (!left.isPositive()) return refused("Nothing is left to refund.");
  const currency = (await readCurrencies(tx)).get(intent.src.currencyCode);
  if (wanted !== null && !DECIMAL.test(wanted)) return invalid(`${wanted} is not an amount such as 10.00.`);
  const read = readAmount(wanted ?? left.text(), currency);
  if (!read.ok) return invalid(read.problems.join(" "));
  return left.isLess(read.value)
    ? refused(`Only ${left.text(currency.decimals)} ${currency.code} are left to refund.`)
    : read.value;
}

async function offers(
  tx: ProjectTransaction,
  { connectionId }: Intent,
  capability: "refunds" | "refundCancels",
): Promise<boolean> {
  const row = await tx.row<{ offered: boolean | null }>(
    `SELECT (capabilities -> $2)::boolean AS offered FROM ramp.provider_connections WHERE ${OF_PROJECT} AND id = $1`,
    [connectionId, capability],
  );
  return row?.offered === true;
}

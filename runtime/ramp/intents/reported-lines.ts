import { Amount } from "../accounts/amount.js";
import type { CheckedExecution } from "../providers/check-reply.js";
import type { Intent } from "./intent.js";
import { type About, type PostingKind, type SuspenseReason, total } from "./journal.js";
import { refundAmount } from "./refund.js";

/** What the provider's account is to hold because of one thing, as it reports. */
export interface Reported {
  readonly about: About;
  readonly currency: string;
  readonly held: Amount;
  readonly kind: PostingKind;
  /** Null: as it should be. */
  readonly reason: SuspenseReason | null;
  readonly providerDate: string | null;
}

/** What a report says about the payment of an intent; nothing where it says nothing about money. */
export function reportedLines(intent: Intent, reported: CheckedExecution): readonly Reported[] {
  const paid = paymentOf(intent, reported);
  if (paid === null) return [];
  return [
    paid,
    ...deliveryOf(intent, reported),
    ...feesOf(intent, reported),
    ...refundsOf(intent, reported, paid.held),
  ];
}

/** Statuses in which the provider has received the payment. */
export function isPaid({ status }: Pick<CheckedExecution, "status">): boolean {
  return status === "SUCCESS" || status === "REFUNDED";
}

/** Whether a report says anything about a payment, and so about its refunds. */
export function saysPayment(intent: Intent, reported: CheckedExecution): boolean {
  return paymentOf(intent, reported) !== null;
}

/** Whether nothing is left of a payment that was made: returned, or taken back. */
export function isPaymentGone({ status }: Pick<CheckedExecution, "status">): boolean {
  return status === "REFUNDED" || RETURNED.has(status);
}

/** Whether an order was placed, and not voided. */
export function isOpen({ balances }: Intent): boolean {
  return balances.some(({ about }) => about === "order");
}

const RETURNED: ReadonlySet<string> = new Set(["FAILED", "CANCELLED"]);

/** What the source sent; without a word about it, what was ordered. Null: the report says nothing about money. */
function paymentOf(intent: Intent, reported: CheckedExecution): Reported | null {
  const { balances, src, srcAmount } = intent;
  const posted = total(balances, { account: "provider", about: "payment" });
  const { receipt, refunds = [] } = reported;
  const wasPaid = posted.isPositive() || receipt?.amountReceived !== undefined || refunds.length > 0;
  if (!isPaid(reported) && !(RETURNED.has(reported.status) && wasPaid)) return null;
  // What cannot be read is not taken for what was ordered.
  const isUnclear = reported.isSentWrong || reported.receiptProblem !== null;
  const reason = receiptReason(intent, "payment") ?? (isUnclear ? "AMOUNT_MISMATCH" : null);
  const held = receipt?.amountSent ?? srcAmount;
  return {
    about: "payment",
    currency: src.currencyCode,
    held: Amount.of(held),
    kind: "receipt",
    reason,
    ...dateOf(reported),
  };
}

function deliveryOf(intent: Intent, reported: CheckedExecution): readonly Reported[] {
  const { amountReceived } = reported.receipt ?? {};
  if (amountReceived === undefined) return [];
  const reason = receiptReason(intent, "delivery") ?? (reported.isAmountWrong ? "AMOUNT_MISMATCH" : null);
  const held = Amount.of(amountReceived).negated();
  const { currencyCode: currency } = intent.dest;
  return [{ about: "delivery", currency, held, kind: "delivery", reason, ...dateOf(reported) }];
}

/** A fee can be named in another currency than before. */
function feesOf(intent: Intent, reported: CheckedExecution): readonly Reported[] {
  const { fees } = reported.receipt ?? {};
  if (fees === undefined) return [];
  const reason = receiptReason(intent, "fee") ?? (reported.isFeeWrong ? "FEE_MISMATCH" : null);
  return [intent.src.currencyCode, intent.dest.currencyCode].map((currency) => ({
    about: "fee",
    currency,
    held: currency === fees.currencyCode ? Amount.of(fees.totalFee).negated() : Amount.ZERO,
    kind: "fee",
    reason,
    ...dateOf(reported),
  }));
}

/** A payment that was accepted is not changed in silence. */
function receiptReason(intent: Intent, about: About): SuspenseReason | null {
  // Nothing was ordered with a payment that goes back.
  if (!isOpen(intent)) return intent.returnReason === null ? "LATE_PAYMENT" : null;
  const isAccepted =
    intent.status === "COMPLETED" && !total(intent.balances, { account: "provider", about }).isZero();
  return isAccepted ? "RECEIPT_CHANGED" : null;
}

/** What a refund without an id is about; one with an id: `refund <id>`. */
export const REFUND = "refund";
/** The part of a REFUNDED payment that no listed refund covers: of no id. */
const UNLISTED = REFUND;
const refundAbout = (id: string): About => `${REFUND} ${id}`;

/** What has gone back: the refunds that have succeeded (apply-refunds.ts), by the provider's ids. */
function refundsOf(intent: Intent, reported: CheckedExecution, paid: Amount): readonly Reported[] {
  const currency = intent.src.currencyCode;
  const ofRefunds = intent.balances.filter(
    ({ account, about }) => account === "provider" && about.startsWith(REFUND),
  );
  const held = new Map(ofRefunds.map(({ about, amount }) => [about, Amount.of(amount)]));
  const before = Amount.sum(held.values());
  if (reported.refunds !== undefined) {
    for (const about of held.keys()) if (about !== UNLISTED) held.set(about, Amount.ZERO);
    for (const refund of intent.refunds)
      if (refund.status === "SUCCEEDED")
        held.set(refundAbout(refund.providerId ?? refund.id), refundAmount(refund).negated());
  }
  held.delete(UNLISTED);
  const listed = Amount.sum(held.values());
  const unlisted =
    reported.status === "REFUNDED" && paid.plus(listed).isPositive()
      ? paid.plus(listed).negated()
      : Amount.ZERO;
  held.set(UNLISTED, unlisted);
  const after = listed.plus(unlisted);
  const isExcess = paid.plus(after).isLess(Amount.ZERO);
  const isLowered = after.isMore(before) && !paid.plus(before).isLess(Amount.ZERO);
  const reason = isExcess || isLowered || !unlisted.isZero() ? "REFUND_MISMATCH" : null;
  const kind = isExcess ? "goodwill" : "refund";
  const dates = new Map(reported.refunds?.map(({ id, occurredAt }) => [refundAbout(id), occurredAt]));
  return [...held].map(([about, amount]) => ({
    about,
    currency,
    held: amount,
    kind,
    reason,
    providerDate: dates.get(about) ?? null,
  }));
}

/** A payment that the provider reports as failed after it was made: what is left of it is taken back. */
export function chargebackOf({ balances, src }: Intent, { status }: CheckedExecution): Reported {
  const left = total(balances, { account: "provider", about: "payment" }).plus(
    total(balances, { account: "provider", aboutStartsWith: REFUND }),
  );
  const held = RETURNED.has(status) && left.isPositive() ? left.negated() : Amount.ZERO;
  return {
    about: "chargeback",
    currency: src.currencyCode,
    held,
    kind: "chargeback",
    reason: "CHARGEBACK",
    providerDate: null,
  };
}

function dateOf({ receipt }: CheckedExecution): Pick<Reported, "providerDate"> {
  return { providerDate: receipt?.occurredAt ?? null };
}
